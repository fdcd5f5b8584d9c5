"""Where the process begins: Ctrl-C is taken in hand before the slow imports.

Nothing is imported here that the interpreter hasn't loaded by itself, `signal` excepted.
"""

import importlib

from reasonix.cli.interrupt import hold, ignore, release

_INTERRUPTED = 130


def start() -> int:
    """Run the command line of this process; returns its exit code and never raises."""
    try:
        hold()
        code: int = importlib.import_module("reasonix.cli.main").main()
        release()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    ignore()
    return code
