"""Small faults of scripts and of libraries of functions."""

from __future__ import annotations

from typing import Final

from .fault import fault

__all__ = ["SCRIPTS"]

SCRIPTS: Final = (
    fault(
        "scripts may call what is not for them",
        "scripts.py",
        'elif "noscript" in command.flags:',
        'elif "noscript" in command.flags and "blocking" not in command.flags:',
    ),
    fault(
        "scripts that only read may write",
        "scripts.py",
        "elif run.is_read_only and (",
        "elif run.is_read_only and run.is_function and (",
    ),
    fault(
        "a database that a script selects is its client's",
        "scripts.py",
        "        self.running = None\n        self._engine.conditions.be_busy(False)",
        "        run.client.db = run.session.db\n"
        "        self.running = None\n"
        "        self._engine.conditions.be_busy(False)",
    ),
    fault(
        "a library replaces another without being told to",
        "libraries.py",
        "if name in shelf.libraries and not replace:",
        "if name in shelf.libraries and name in self._shelf.libraries and not code:",
    ),
)
