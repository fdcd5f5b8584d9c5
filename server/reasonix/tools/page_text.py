"""What the model reads of a fetched page. Loaded by the first fetch."""

from collections.abc import Mapping

from reasonix.core.ports import Fetched
from reasonix.tools.html_page import to_markdown
from reasonix.tools.page import Page, read_page, short_type


async def told(asked: str, answer: Fetched, env: Mapping[str, str]) -> str:
    """One line about the answer, a blank one, the text.

    env: of the process that turns HTML into Markdown.
    """
    page = read_page(answer)
    text, remark = await _text(page, answer, env)
    status = f"{answer.status} {answer.reason}".strip()
    kind = short_type(answer.content_type) or "no type"
    first = f"{status} · {kind} · {len(answer.body)} bytes"
    notes = [note for note in (answer.cut, page.remark, remark) if note]
    if notes:
        first += f" ({'; '.join(notes)})"
    lines = [first] if answer.url == asked else [first, f"redirected to {answer.url}"]
    return "\n".join((*lines, "", text))


async def _text(page: Page, answer: Fetched, env: Mapping[str, str]) -> tuple[str, str]:
    """What the model reads of the body, and a remark on it."""
    if not answer.body:
        return f"(no body came with status {answer.status})", ""
    if page.text is None:
        return "(not text, so it is not shown; download it with bash if you need it)", ""
    if not page.is_html:
        return page.text, ""
    made = await to_markdown(page.text, env)
    if made.text is None:
        return page.text, f"not turned into Markdown: {made.remark}; this is the source"
    text = made.text
    if page.title and not text.startswith(f"# {page.title}"):
        text = f"# {page.title}\n\n{text}".rstrip()
    return text or "(the page holds no text; it may be made by scripts)", made.remark
