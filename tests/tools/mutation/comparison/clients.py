"""Small faults of how clients are answered: when they wait, in transactions, and beyond."""

from __future__ import annotations

from typing import Final

from .fault import fault

__all__ = ["CLIENTS"]

CLIENTS: Final = (
    fault(
        "a timeout may be rounded down",
        "longdouble.py",
        "return -(-product.mantissa >> -product.exponent)",
        "return product.mantissa >> -product.exponent",
    ),
    fault(
        "an overwritten key wakes who waits for it",
        "keyspace.py",
        "        self.values[key] = value\n        if not keep_ttl:",
        "        self.values[key] = value\n"
        "        if key in self.observed_keys:\n"
        '            self._tell(key, "new", modifies=False, is_ready=True)\n'
        "        if not keep_ttl:",
    ),
    fault(
        "waiters are served youngest first",
        "waiting.py",
        "next(iter(queue))",
        "next(reversed(queue))",
    ),
    fault(
        "a waiter that fails takes an element with it",
        "waiting.py",
        "            reply = error\n",
        "            reply = error\n            value.popleft()\n",
    ),
    fault(
        "keys are served in the order of their names",
        "waiting.py",
        "for database, key in ready:",
        "for database, key in sorted(ready):",
    ),
    fault(
        "SWAPDB wakes nobody",
        "waiting.py",
        "            self._signal(database, key, None if there is None else type(there))\n",
        "            pass\n",
    ),
    fault(
        "a waiter is served though its key came with another type",
        "waiting.py",
        ".get(type(value))\n            if not queue",
        ".get(type(value), self._queues.get((database.index, key), {}).get(deque))\n            if not queue",
    ),
    fault(
        "WATCH does not see a key created",
        "keyspace.py",
        '            self._tell(key, "new", modifies=False, is_ready=True)\n        if event is not None:\n',
        '            self._tell(key, "new", modifies=False, is_ready=True)\n        if not event:\n',
    ),
    fault(
        "an error in EXEC's queue aborts nothing",
        "gate.py",
        "        session.transaction.aborted = True\n",
        "        pass\n",
    ),
    fault(
        "DISCARD goes on watching",
        "commands/transactions.py",
        "        raise CommandError(errors.DISCARD_WITHOUT_MULTI)\n    session.leave_transaction()\n",
        "        raise CommandError(errors.DISCARD_WITHOUT_MULTI)\n    session.transaction = None\n",
    ),
    fault(
        "a null of RESP3 stays one of RESP2",
        "replies.py",
        '        NullArray: lambda _: b"_\\r\\n",',
        '        NullArray: lambda _: b"*-1\\r\\n",',
    ),
    fault(
        "RESET leaves the database selected",
        "session.py",
        "        self.db = self.engine.keyspace.databases[0]\n        self.resp = 2\n",
        "        self.resp = 2\n",
    ),
    fault(
        "CLIENT REPLY SKIP skips itself only",
        "session.py",
        "skips = SKIPS_REPLY if self.flags & SKIPS_NEXT else 0",
        "skips = 0",
    ),
    fault(
        "CLIENT PAUSE holds up nothing that is queued",
        "input.py",
        "    elif engine.conditions.pause is not None and is_held_up",
        "    elif engine.conditions.pause is not None and session.transaction is None and is_held_up",
    ),
    fault(
        "a line end in an error stays one",
        "errors.py",
        '.replace(b"\\r", b" ")',
        "",
    ),
)
