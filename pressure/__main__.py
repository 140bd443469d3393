"""``python -m pressure``: the command line."""

import sys

from pressure.cli import main

sys.exit(main())
