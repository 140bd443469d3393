"""Small faults of scripts and of libraries of functions."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["SCRIPTS"]

SCRIPTS: Final = (
    Mutant(
        "scripts may call what is not for them",
        "miniredis/engine/scripts/scripts.py",
        'if "noscript" in flags:',
        'if "noscript" in flags and "blocking" not in flags:',
        ("wire.scripts", "recorded.scripting-and-others"),
    ),
    Mutant(
        "scripts that only read may write",
        "miniredis/engine/scripts/scripts.py",
        "if run.is_read_only and (",
        "if run.is_read_only and run.is_function and (",
        ("recorded.scripting",),
    ),
    Mutant(
        "a database that a script selects is its client's",
        "miniredis/engine/scripts/scripts.py",
        "        self.running = None\n        self._engine.notifier",
        "        if run := self.running:\n            run.client.db = run.session.db\n"
        "        self.running = None\n        self._engine.notifier",
    ),
    Mutant(
        "a library replaces another without being told to",
        "miniredis/engine/scripts/libraries.py",
        "if name in shelf.libraries and not replace:",
        "if name in shelf.libraries and name in self._shelf.libraries and not code:",
        ("recorded.functions",),
    ),
    Mutant(
        "an exclusive or of bits adds what both have",
        "miniredis/scripting/lua/bit.lua",
        "a + b - 2 * host_and(a, b)",
        "a + b - host_and(a, b)",
        ("recorded.scripting-libraries",),
    ),
)
