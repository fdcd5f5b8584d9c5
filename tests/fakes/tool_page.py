"""docs/tools.md, made from the registry: `python -m fakes.tool_page` writes it.

From the root of the repository, with `server` and `tests` on the path.
"""

import asyncio
import tempfile
from pathlib import Path

from fakes.registry import registry
from reasonix.agent.toolbox import Toolbox
from reasonix.core.tool import ToolSpec

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tools.md"

HEAD = """\
# Tools

What a model can call. This page is made from the registry, which a test compares with it and with
a request on the wire. *Visible* tools are sent with every request; the others are called through
`use_capability` by their ids. *Effect* decides what may run side by side and what asks: `read` and
`session` never ask, `write`, `execute` and `external` run alone and pass the permission rules.
Names, arguments, flags and the codes at the start of an error are the contract; descriptions are
not. Each schema is as it is sent.
"""


def page(toolbox: Toolbox) -> str:
    rows = [(spec.name, "visible", spec) for spec in toolbox.specs]
    rows += [(tool.spec.name, f"`{key}`", tool.spec) for key, tool in toolbox.catalog.items()]
    table = ["| tool | call it as | read-only | effect |", "| --- | --- | --- | --- |"]
    table += [f"| `{name}` | {place} | {_facts(spec)} |" for name, place, spec in rows]
    parts = [_section(name, place, spec) for name, place, spec in rows]
    return "\n".join((HEAD, *table, "", *parts))


def _facts(spec: ToolSpec) -> str:
    return f"{'yes' if spec.read_only else 'no'} | {spec.effect}"


def _section(name: str, place: str, spec: ToolSpec) -> str:
    kind = "read-only" if spec.read_only else "not read-only"
    schema = bytes(spec.parameters).decode()
    lines = (f"## `{name}`", "", f"{place}, {kind}, {spec.effect}", "", spec.description, "")
    return "\n".join((*lines, "```json", schema, "```", ""))


def _write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        env = {"HOME": folder, "PATH": "/usr/bin:/bin", "REASONIX_HOME": str(base / "reasonix")}
        PAGE.write_text(page(asyncio.run(registry(base, env))), encoding="utf-8")


if __name__ == "__main__":
    _write()
