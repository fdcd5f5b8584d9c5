import sys

from reasonix.cli.main import main

sys.exit(main())
