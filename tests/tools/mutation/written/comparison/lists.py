"""Small faults of lists."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["LISTS"]

LISTS: Final = (
    Mutant(
        "a push answers one too many",
        "miniredis/engine/commands/lists/lists.py",
        "    return len(values)\n\n\n# Popping",
        "    return len(values) + 1\n\n\n# Popping",
        ("wire.lists",),
    ),
    Mutant(
        "a push with X creates a list",
        "miniredis/engine/commands/lists/lists.py",
        "return 0 if db.lookup_write(key, LIST) is None else",
        "return 0 if db.lookup_write(key, LIST) is None and len(elements) > 1 else",
    ),
    Mutant(
        "a pop of several takes one more",
        "miniredis/engine/commands/lists/lists.py",
        "range(min(count, len(values)))",
        "range(min(count + (count > 1), len(values)))",
    ),
    Mutant(
        "a move checks its target too late",
        "miniredis/engine/commands/lists/lists.py",
        "    receiver = db.lookup_write(target, LIST)\n    element = POP[take](values)\n",
        "    element = POP[take](values)\n    receiver = db.lookup_write(target, LIST)\n",
        ("recorded.blocking",),
    ),
    Mutant(
        "BLMPOP reads its timeout first",
        "miniredis/engine/commands/lists/lists.py",
        "    wanted = read_any(args, 2)\n    timeout = read_timeout(args[1])\n",
        "    timeout = read_timeout(args[1])\n    wanted = read_any(args, 2)\n",
        ("recorded.list-elements",),
    ),
    Mutant(
        "LMPOP takes a COUNT twice",
        "miniredis/engine/commands/lists/lists.py",
        "    if len(options) > 2:\n",
        "    if len(options) > 4:\n",
    ),
    Mutant(
        "LRANGE clamps one off",
        "miniredis/engine/commands/lists/elements.py",
        "length - 1) + 1\n",
        "length - 1) + (stop != -2)\n",
        ("recorded.lists",),
    ),
    Mutant(
        "LPOS counts its rank from 0",
        "miniredis/engine/commands/lists/elements.py",
        "abs(search.rank) - 1",
        "abs(search.rank)",
    ),
    Mutant(
        "LINSERT answers 0 for a missing pivot",
        "miniredis/engine/commands/lists/elements.py",
        "        return -1\n",
        "        return 0\n",
        ("recorded.events-lists",),
    ),
    Mutant(
        "LSET reads its index before it looks for the key",
        "miniredis/engine/commands/lists/elements.py",
        "    values = session.db.lookup_write(args[1], LIST)\n"
        "    if values is None:\n"
        "        raise CommandError(errors.NO_SUCH_KEY)\n"
        "    index = read_integer(args[2])\n",
        "    index = read_integer(args[2])\n"
        "    values = session.db.lookup_write(args[1], LIST)\n"
        "    if values is None:\n"
        "        raise CommandError(errors.NO_SUCH_KEY)\n",
    ),
    Mutant(
        "LREM of a negative count goes on from the head",
        "miniredis/engine/commands/lists/elements.py",
        "from_tail=count < 0",
        "from_tail=count < -1",
    ),
)
