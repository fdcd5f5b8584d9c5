"""Pure functions on text that several layers share."""

import difflib


def scrub(text: str) -> str:
    """Replace each lone surrogate, which no UTF-8 encoder takes, by one U+FFFD."""
    if not _odd(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _odd(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def nearest(word: str, known: list[str], most: int = 3) -> list[str]:
    """The known names most like `word`, best first."""
    return difflib.get_close_matches(word, known, n=most, cutoff=0.5)


def one_line(text: str, limit_chars: int) -> str:
    """The first line that holds something, cut with an ellipsis."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "")
    return line if len(line) <= limit_chars else line[: limit_chars - 1] + "…"


def cut_middle(text: str, limit_bytes: int) -> str:
    """Keep whole lines of head and tail within `limit_bytes` of UTF-8; name what was left out."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit_bytes:
        return text
    room = limit_bytes - 120
    head = raw[: room * 2 // 3]
    tail = raw[-(room // 3) :]
    head = head[: head.rfind(b"\n") + 1] or head
    tail = tail[tail.find(b"\n") + 1 :] or tail
    left_out = len(raw) - len(head) - len(tail)
    marker = f"\n[... {left_out} bytes left out ...]\n"
    return head.decode("utf-8", "ignore") + marker.lstrip("\n") + tail.decode("utf-8", "ignore")
