"""What may be called where. A new entry in a list here is a review, not a convenience."""

import ast
import re
from pathlib import Path

import pytest

from architecture.source import functions, mentions, package_files, scoped, short, tree

# Blanket handlers: the file and function of each, and nothing else in the package. One that
# cleans up and raises again is none.
BLANKET = {
    ("agent/dispatch.py", "_outcome"): "a tool's bug is a result, not the end of the turn",
    ("host/controller.py", "_ending"): "a turn's bug ends that turn, not its siblings",
    ("host/jobs.py", "_carry"): "a job's bug ends that job, not the session",
    ("lsp/protocol.py", "*"): "a request's bug is answered as internal",
    ("cli/main.py", "*"): "a command's bug ends with a sentence and exit code 1",
}

# Modules brought in by name: each is slow to load and not on the way to the first request.
IMPORT_BY_NAME = {
    "cli/entry.py": "Ctrl-C is held before the command line itself is loaded",
    "cli/table.py": "one command's module per run: `run` must not pay for the others",
    "config/source.py": "the TOML grammar finds a line number, on a config fault only",
    "agent/fault.py": "jsonschema lists further faults of the model's arguments",
    "tools/rename.py": "ctypes, for the first file that is moved",
    "tools/directory.py": "ctypes, for the first file that is written",
    "tools/code_index.py": "the parser, for the first question about symbols",
    "tools/delete_symbol.py": "the parser, for the first symbol that is deleted",
    "tools/syntax.py": "one grammar per language, for the first file of it",
    "tools/guess.py": "chardet, for the first file that is not UTF-8",
    "providers/registry.py": "one kind's module per model: `run` must not pay for the others",
    "lsp/server.py": "the host loads behind the answer to initialize",
}

# Roads: who may call what reaches outside the process.
ROADS: dict[str, tuple[str, ...]] = {
    # search.py runs ripgrep or our own scanner, reads records as they come and stops early.
    r"asyncio\.create_subprocess_(exec|shell)": (
        "sandbox/process.py",
        "sandbox/channel.py",
        "sandbox/guard.py",
        "tools/search.py",
    ),
    # Both probe before there is a loop: what the machine has, whether a sandbox starts.
    r"subprocess\.\w+": ("host/environment.py", "sandbox/bubblewrap.py"),
    r"os\.(fork|forkpty|posix_spawnp?|spawn\w+|exec[lv]\w*|system|popen)": (),
    r"os\.(kill|killpg)": ("sandbox/tree.py", "host/environment.py"),
    r"os\.(replace|rename|renames|link|symlink)": (
        "config/atomic.py",
        "tools/directory.py",
        "tools/rename.py",
    ),
    r"os\.(fsync|fdatasync)": (
        "config/atomic.py",
        "log/journal.py",
        "log/results.py",
        "tools/directory.py",
        "tools/folder.py",
        "tools/place.py",
        "tools/rename.py",
        "tools/swap.py",
        "tools/temporary.py",
    ),
    # record.py: the file that --record names.
    r"os\.(write|truncate|ftruncate)": (
        "log/journal.py",
        "log/load.py",
        "log/lock.py",
        "lsp/transport.py",
        "providers/record.py",
        "tools/place.py",
        "tools/rename.py",
        "tools/temporary.py",
    ),
    # run.py: the file that --metrics names. demo.py: its own temporary project.
    r"\.(write_text|write_bytes|touch)": ("cli/run.py", "cli/demo.py", "log/copy.py"),
    r"shutil\.(rmtree|copy\w*|move)": (
        "app/engine.py",
        "cli/demo.py",
        "log/copy.py",
        "log/store.py",
    ),
    r"(tempfile\.(mk\w+|\w*Temporary\w*)|os\.fdopen)": (
        "config/atomic.py",
        "cli/demo.py",
        "sandbox/bubblewrap.py",
    ),
    r"os\.(environ|environb|getenv|putenv)": ("config/environ.py",),
    r"(os\.getcwd|pathlib\.Path\.cwd)": ("config/environ.py",),
    r"(pathlib\.Path\.home|os\.path\.expanduser|\.expanduser)": (),
    r"time\.(time|time_ns|sleep)": ("host/clock.py",),
    r"datetime\.datetime\.(now|utcnow|today)": (),
    # The jitter of retries; ids.
    r"(random|secrets|uuid)\.\w+": ("providers/retry.py", "host/clock.py"),
    # registry.py names the type in its table of kinds.
    r"httpx\.(AsyncClient|Client|get|post|stream|request)": (
        "net/client.py",
        "providers/registry.py",
    ),
    r"socket\.\w+": (),
    r"asyncio\.(open_connection|start_server)": (),
    r"(threading\.(Thread|Timer)|concurrent\.futures\.\w+)": ("lsp/transport.py",),
    r"asyncio\.(create_task|ensure_future|gather|wait_for)": (),
    # A waiting client and a write to disk outlive the cancellation of who waits for them.
    r"asyncio\.(wait|shield)": ("host/controller.py", "tools/settled.py"),
    r"(signal\.signal|\.add_signal_handler)": ("cli/",),
    r"(print|input)": ("cli/",),
    # scan.py is also the scanner's own process.
    r"(exit|quit|sys\.exit|os\._exit|SystemExit)": ("cli/", "__main__.py", "tools/scan.py"),
    r"sys\.(stdin|stdout|__stdout__|__stdin__)": ("cli/", "tools/scan.py"),
    r"(eval|exec|compile)": (),
    r"(pickle|marshal|shelve)\.\w+": (),
    r"(pygls|lsprotocol)(\.\w+)*": ("lsp/",),
    r"(mcp|anyio|rank_bm25)(\.\w+)*": (),
}


def allowed(name: str, homes: tuple[str, ...]) -> bool:
    return any(name == home or (home.endswith("/") and name.startswith(home)) for home in homes)


@pytest.mark.parametrize("road", ROADS, ids=list(ROADS))
def test_each_road_out_of_the_process_has_its_callers(road: str) -> None:
    strangers = [
        f"{short(path)}:{line} {name}"
        for path in package_files()
        if not allowed(short(path), ROADS[road])
        for name, line in mentions(path)
        if re.fullmatch(road, name)
    ]
    assert strangers == []


def test_every_allowed_caller_is_still_there() -> None:
    names = {short(path) for path in package_files()}
    homes = {home for road in ROADS.values() for home in road}
    gone = [
        home
        for home in sorted(homes | set(IMPORT_BY_NAME) | {path for path, _ in BLANKET})
        if not any(allowed(name, (home,)) for name in names)
    ]
    assert gone == []


def catches_all(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    if isinstance(last, ast.Raise) and last.exc is None:
        return False
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException") for kind in kinds
    )


def test_blanket_handlers_stand_in_the_named_places_only() -> None:
    strangers: list[str] = []
    for path in package_files():
        for node, scope in scoped(tree(path)):
            if isinstance(node, ast.ExceptHandler) and catches_all(node):
                place = (short(path), scope[-1] if scope else "")
                if place not in BLANKET and (place[0], "*") not in BLANKET:
                    strangers.append(f"{place[0]}:{node.lineno} in {place[1] or 'the module'}")
    assert strangers == []


def test_every_named_place_has_its_blanket_handler() -> None:
    found = {
        short(path)
        for path in package_files()
        if any(
            isinstance(node, ast.ExceptHandler) and catches_all(node)
            for node in ast.walk(tree(path))
        )
    }
    assert {path for path, _ in BLANKET} == found


def test_a_file_has_at_most_one_blanket_handler() -> None:
    counts = {
        short(path): sum(
            isinstance(node, ast.ExceptHandler) and catches_all(node)
            for node in ast.walk(tree(path))
        )
        for path in package_files()
    }
    assert {name: count for name, count in counts.items() if count > 1} == {}


def test_nobody_catches_a_cancellation() -> None:
    caught: list[str] = []
    for path in package_files():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ExceptHandler) and node.type is not None:
                names = {
                    part.attr for part in ast.walk(node.type) if isinstance(part, ast.Attribute)
                }
                names |= {part.id for part in ast.walk(node.type) if isinstance(part, ast.Name)}
                if "CancelledError" in names:
                    caught.append(f"{short(path)}:{node.lineno}")
    assert caught == []


def test_only_the_composition_root_imports_inside_functions() -> None:
    late = [
        f"{short(path)}:{node.lineno} in {name}"
        for path in package_files()
        if not short(path).startswith("app/")
        for function, name in functions(path)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert late == []


def test_modules_are_brought_in_by_name_in_the_listed_files_only() -> None:
    strangers = [
        f"{short(path)}:{line}"
        for path in package_files()
        if short(path) not in IMPORT_BY_NAME
        for name, line in mentions(path)
        if name in ("importlib.import_module", "__import__", ".import_module")
    ]
    assert strangers == []


MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def module_values(path: Path) -> list[tuple[str, ast.expr]]:
    found: list[tuple[str, ast.expr]] = []
    for node in tree(path).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.append((node.targets[0].id, node.value))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found.append((node.target.id, node.value))
    return found


def test_no_module_keeps_state() -> None:
    """A capitalised table is a constant by convention; anything else mutable is state."""
    kept = [
        f"{short(path)} {name}"
        for path in package_files()
        for name, value in module_values(path)
        if isinstance(value, MUTABLE) and not name.lstrip("_").isupper() and name != "__all__"
    ]
    kept += [
        f"{short(path)}:{node.lineno} global"
        for path in package_files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Global)
    ]
    assert kept == []
