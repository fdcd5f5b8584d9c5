"""The task of a run: the argument where there is one, else what stands on stdin."""

from collections.abc import Sequence

from reasonix.cli.exit_code import Misuse
from reasonix.cli.io import CliIo
from reasonix.core.limits import TASK_BYTES

_STDIN = "-"


def read_task(words: Sequence[str], io: CliIo) -> str:
    """The task as text. With an argument stdin is left alone.

    Raises:
        Misuse: There is no task, or it isn't text, or it is longer than TASK_BYTES.
    """
    if len(words) > 1:
        raise Misuse('the task is one argument: put it in quotes, as in `reasonix run "fix it"`.')
    if words and words[0] != _STDIN:
        return _checked(words[0].encode("utf-8", "surrogateescape"), "the task")
    if io.stdin_is_tty and not words:
        raise Misuse('no task. Say what to do: `reasonix run "fix the failing test"`.')
    try:
        raw = io.stdin.buffer.read(TASK_BYTES + 1)
    except (OSError, ValueError) as error:
        raise Misuse(f"the task could not be read from stdin: {error}.") from error
    return _checked(raw, "the task on stdin")


def _checked(raw: bytes, name: str) -> str:
    if len(raw) > TASK_BYTES:
        limit = f"{TASK_BYTES // 1024} KiB"
        raise Misuse(f"{name} is longer than {limit}. Put the material in a file and name it.")
    if b"\0" in raw:
        raise Misuse(f"{name} is binary, not text. Save it in a file and name the file instead.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Misuse(
            f"{name} is not UTF-8 text (byte {error.start + 1} is {raw[error.start]:#04x}). "
            "Convert it, or save it in a file and name the file instead."
        ) from error
    if not text.strip():
        raise Misuse(f"{name} is empty. Say what to do, as an argument or on stdin.")
    return text
