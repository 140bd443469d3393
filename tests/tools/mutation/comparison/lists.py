"""Small faults of lists."""

from __future__ import annotations

from typing import Final

from .fault import fault

__all__ = ["LISTS"]

LISTS: Final = (
    fault(
        "a push answers one too many",
        "commands/lists.py",
        "    return len(values)\n\n\n# Popping",
        "    return len(values) + 1\n\n\n# Popping",
    ),
    fault(
        "a push with X creates a list",
        "commands/lists.py",
        "        if not create:\n",
        "        if not create and len(elements) > 1:\n",
    ),
    fault(
        "a pop of several takes one more",
        "commands/lists.py",
        "range(min(count, len(values)))",
        "range(min(count + (count > 1), len(values)))",
    ),
    fault(
        "a move checks its target too late",
        "commands/lists.py",
        "    receiver = db.lookup_write(target, LIST)\n    element = POP[take](values)\n",
        "    element = POP[take](values)\n    receiver = db.lookup_write(target, LIST)\n",
    ),
    fault(
        "BLMPOP reads its timeout first",
        "commands/lists.py",
        "    wanted = read_any(args, 2)\n    timeout = read_timeout(args[1])\n",
        "    timeout = read_timeout(args[1])\n    wanted = read_any(args, 2)\n",
    ),
    fault(
        "LMPOP takes a COUNT twice",
        "commands/lists.py",
        "    if len(options) > 2:\n",
        "    if len(options) > 4:\n",
    ),
    fault(
        "LRANGE clamps one off",
        "commands/list_elements.py",
        "length - 1) + 1\n",
        "length - 1) + (stop != -2)\n",
    ),
    fault(
        "LPOS counts its rank from 0",
        "commands/list_elements.py",
        "abs(search.rank) - 1",
        "abs(search.rank)",
    ),
    fault(
        "LINSERT answers 0 for a missing pivot",
        "commands/list_elements.py",
        "        return -1\n",
        "        return 0\n",
    ),
    fault(
        "LSET reads its index before it looks for the key",
        "commands/list_elements.py",
        "    values = session.db.lookup_write(args[1], LIST)\n"
        "    if values is None:\n"
        "        raise CommandError(errors.NO_SUCH_KEY)\n"
        "    index = read_integer(args[2])\n",
        "    index = read_integer(args[2])\n"
        "    values = session.db.lookup_write(args[1], LIST)\n"
        "    if values is None:\n"
        "        raise CommandError(errors.NO_SUCH_KEY)\n",
    ),
    fault(
        "LREM of a negative count goes on from the head",
        "commands/list_elements.py",
        "from_tail=count < 0",
        "from_tail=count < -1",
    ),
)
