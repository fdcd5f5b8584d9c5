import sys

from reasonix.cli.entry import start

sys.exit(start())
