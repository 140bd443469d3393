"""Small faults of how clients are answered: when they wait, in transactions, and beyond."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["CLIENTS"]

CLIENTS: Final = (
    Mutant(
        "a timeout may be rounded down",
        "miniredis/engine/numbers/long_doubles.py",
        "return -(-product.mantissa >> -product.exponent)",
        "return product.mantissa >> -product.exponent",
    ),
    Mutant(
        "an overwritten key wakes who waits for it",
        "miniredis/engine/keyspace/keyspace.py",
        "        self.values[key] = value\n        if key in self.deadlines and",
        "        self.values[key] = value\n"
        "        if key in self.observed_keys:\n"
        '            self._tell(key, "new", modifies=False, is_ready=True)\n'
        "        if key in self.deadlines and",
    ),
    Mutant(
        "waiters are served youngest first",
        "miniredis/engine/clients/waiting.py",
        "next(iter(queue))",
        "next(reversed(queue))",
        ("wire.blocking",),
    ),
    Mutant(
        "a waiter that fails takes an element with it",
        "miniredis/engine/clients/waiting.py",
        "            reply = error\n",
        "            reply = error\n            value.popleft()\n",
    ),
    Mutant(
        "keys are served in the order of their names",
        "miniredis/engine/clients/waiting.py",
        "for database, key in ready:",
        "for database, key in sorted(ready):",
    ),
    Mutant(
        "SWAPDB wakes nobody",
        "miniredis/engine/clients/waiting.py",
        "            self._signal(database, key, None if there is None else type(there))\n",
        "            pass\n",
        ("recorded.blocking-by-keys",),
    ),
    Mutant(
        "a waiter is served though its key came with another type",
        "miniredis/engine/clients/waiting.py",
        ".get(type(value))\n            if not queue",
        ".get(type(value), self._queues.get((database.index, key), {}).get(deque))\n            if not queue",
    ),
    Mutant(
        "WATCH does not see a key created",
        "miniredis/engine/keyspace/keyspace.py",
        '            self._tell(key, "new", modifies=False, is_ready=True)\n        if event is not None:\n',
        '            self._tell(key, "new", modifies=False, is_ready=True)\n        if not event:\n',
    ),
    Mutant(
        "an error in EXEC's queue aborts nothing",
        "miniredis/engine/gate.py",
        "    transaction.aborted = True\n",
        "    pass\n",
        ("wire.transactions",),
    ),
    Mutant(
        "DISCARD goes on watching",
        "miniredis/engine/commands/connections/transactions.py",
        "        raise CommandError(errors.DISCARD_WITHOUT_MULTI)\n    session.leave_transaction()\n",
        "        raise CommandError(errors.DISCARD_WITHOUT_MULTI)\n    session.transaction = None\n",
        ("recorded.transactions",),
    ),
    Mutant(
        "a null of RESP3 stays one of RESP2",
        "miniredis/engine/protocol/replies.py",
        '        NullArray: lambda _: b"_\\r\\n",',
        '        NullArray: lambda _: b"*-1\\r\\n",',
    ),
    Mutant(
        "RESET leaves the database selected",
        "miniredis/engine/clients/session.py",
        "        self.db = self.engine.keyspace.databases[0]\n        self.resp = 2\n",
        "        self.resp = 2\n",
    ),
    Mutant(
        "CLIENT REPLY SKIP skips itself only",
        "miniredis/engine/clients/session.py",
        "skips = SKIPS_REPLY if self.flags & SKIPS_NEXT else 0",
        "skips = 0",
    ),
    Mutant(
        "CLIENT PAUSE holds up nothing that is queued",
        "miniredis/engine/input.py",
        "    elif engine.conditions.pause is not None and is_held_up",
        "    elif engine.conditions.pause is not None and session.transaction is None and is_held_up",
        ("recorded.clients",),
    ),
    Mutant(
        "a line end in an error stays one",
        "miniredis/engine/protocol/errors.py",
        '.replace(b"\\r", b" ")',
        "",
    ),
    Mutant(
        "ECHO answers upper case",
        "miniredis/engine/commands/connections/connection.py",
        'with the argument."""\n    return args[1]\n',
        'with the argument."""\n    return args[1].upper()\n',
        ("wire.server", "recorded.connection"),
    ),
    Mutant(
        "an inline word goes on behind its closing quote",
        "miniredis/engine/protocol/requests.py",
        "        if at < len(line) and line[at] not in SPACE:\n            return None\n",
        "",
        ("recorded.requests",),
    ),
    Mutant(
        "CONFIG GET returns a plain name as the table has it",
        "miniredis/engine/commands/server/config.py",
        "found.setdefault(pattern.lower(), pattern)",
        "found.setdefault(pattern.lower(), pattern.lower())",
        ("recorded.config",),
    ),
)
