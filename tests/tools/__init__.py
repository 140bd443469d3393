"""Programs that hold this project to its promises. Each is a package with a ``--help``: ``python -m tests.tools.NAME``."""
