"""Small faults of the engine, one line each, that a comparison with a real Redis must find."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from ..guilty.model import Guilty
from ..guilty.trial import changed_copy

__all__ = ["MUTANTS", "seconds_to_find"]

LIMIT: Final = 60.0
"""Seconds in which each has to be found."""

RUN: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from conformance.differential.__main__ import main; sys.exit(main())"
)


def fault(name: str, file: str, text: str, becomes: str) -> Guilty:
    """One line of the engine, changed."""
    return Guilty(name, f"miniredis/engine/{file}", text, becomes, ())


MUTANTS: Final = (
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
        "    receiver = db.find_list(target)\n    element = POP[take](values)\n",
        "    element = POP[take](values)\n    receiver = db.find_list(target)\n",
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
        "    values = session.db.find_list(args[1])\n"
        "    if values is None:\n"
        "        raise CommandError(errors.NO_SUCH_KEY)\n"
        "    index = read_integer(args[2])\n",
        "    index = read_integer(args[2])\n"
        "    values = session.db.find_list(args[1])\n"
        "    if values is None:\n"
        "        raise CommandError(errors.NO_SUCH_KEY)\n",
    ),
    fault(
        "LREM of a negative count goes on from the head",
        "commands/list_elements.py",
        "from_tail=count < 0",
        "from_tail=count < -1",
    ),
    fault(
        "SET with GET forgets the type of the old value",
        "commands/strings.py",
        "    old = db.find_string(key) if options.get else None\n",
        "    old = db.find(key) if options.get else None\n",
    ),
    fault(
        "SET keeps the time to live",
        "keyspace.py",
        "        if not keep_ttl:\n            self.deadlines",
        "        if keep_ttl:\n            self.deadlines",
    ),
    fault(
        "GETEX with PERSIST keeps the time to live",
        "commands/strings.py",
        "        db.remove_deadline(key)\n",
        "        db.find(key)\n",
    ),
    fault(
        "SETRANGE of nothing creates a key",
        "commands/strings.py",
        "    if not part:\n",
        "    if not part and text is not None:\n",
    ),
    fault(
        "GETRANGE ends one too early",
        "commands/strings.py",
        "    return text[first : last + 1]\n",
        "    return text[first : last + (last < 100)]\n",
    ),
    fault(
        "MSETNX looks at its first key only",
        "commands/strings.py",
        "for key in args[1::2]):\n        return 0",
        "for key in args[1:2]):\n        return 0",
    ),
    fault(
        "INCR passes 64 bits",
        "commands/strings.py",
        "    if not MIN <= value <= MAX:\n",
        "    if not MIN <= value <= MAX + 1:\n",
    ),
    fault(
        "an integer may have leading zeros",
        "numbers.py",
        'b"%d" % value == text and MIN',
        'b"%d" % value == (text.lstrip(b"0") or b"0") and MIN',
    ),
    fault(
        "a timeout may be rounded down",
        "longdouble.py",
        "return -(-product.mantissa >> -product.exponent)",
        "return product.mantissa >> -product.exponent",
    ),
    fault(
        "EXPIRE with GT takes a key that never expires",
        "commands/expiring.py",
        'b"GT": current is not None and when > current',
        'b"GT": current is None or when > current',
    ),
    fault(
        "EXPIRE in the past only sets the time",
        "commands/expiring.py",
        "    if when <= session.engine.now.milliseconds:\n",
        "    if when <= 0:\n",
    ),
    fault(
        "EXPIRETIME rounds down",
        "commands/expiring.py",
        '(when + 500) // 1000\n\n\n@command("PEXPIRETIME"',
        '(when + 0) // 1000\n\n\n@command("PEXPIRETIME"',
    ),
    fault(
        "RENAME forgets the time to live",
        "commands/generic.py",
        '"rename_to", deadline=db.deadlines.get(old))',
        '"rename_to")',
    ),
    fault(
        "COPY shares what it copies",
        "keyspace.py",
        "value if isinstance(value, bytes) else value.copy()",
        "value",
    ),
    fault(
        "MOVE looks for the key before the database",
        "commands/generic.py",
        "    if to is db:\n"
        "        raise CommandError(errors.SAME_OBJECT)\n"
        "    value = db.find(key)\n"
        "    if value is None or",
        "    value = db.find(key)\n"
        "    if to is db and value is not None:\n"
        "        raise CommandError(errors.SAME_OBJECT)\n"
        "    if value is None or",
    ),
    fault(
        "an overwritten key wakes who waits for it",
        "keyspace.py",
        "        self.values[key] = value\n        if not keep_ttl:",
        "        self.values[key] = value\n"
        "        self.keyspace.on_create(self.index, key, type(value))\n"
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
        "commands/server.py",
        "        session.engine.waiting.signal_all(one)\n        session.engine.waiting.signal_all(other)\n",
        "",
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
        "        self.keyspace.on_create(self.index, key, type(value))\n        self.touched(key, event)\n",
        "        self.keyspace.on_create(self.index, key, type(value))\n",
    ),
    fault(
        "XDEL does not note the highest id it took",
        "streams.py",
        "        self.max_deleted = max(self.max_deleted, number)\n",
        "",
    ),
    fault(
        "approximate trimming keeps one entry less",
        "streams.py",
        "self.length - more < length or",
        "self.length - more < length - 1 or",
    ),
    fault(
        "a range of a stream includes an end that is open",
        "commands/streams.py",
        "    return low, high - ends_open\n",
        "    return low, high\n",
    ),
    fault(
        "a reader of a stream is woken by what it has seen",
        "commands/stream_reading.py",
        "stream.walk(after[key] + 1)",
        "stream.walk(after[key])",
    ),
    fault(
        "a consumer keeps what it acknowledged",
        "groups.py",
        "            return False\n        delivery.consumer.pending.pop(number)\n",
        "            return False\n",
    ),
    fault(
        "NOACK makes entries pending",
        "commands/stream_reading.py",
        "        if reading.keeps:\n",
        "        if reading.keeps or reading.count == 1:\n",
    ),
    fault(
        "XCLAIM takes what is not pending",
        "commands/stream_pending.py",
        "(delivery is None and not claim.force)",
        "(delivery is None and not claim.force and claim.just_ids)",
    ),
    fault(
        "a group does not count what it gives out",
        "stream_progress.py",
        "wrapped(group.entries_read + 1)",
        "group.entries_read",
    ),
    fault(
        "who reads for a group waits for a stream that is gone",
        "waiting.py",
        "            if waiter.when_gone is not None:\n",
        "            if waiter.when_gone is not None and len(waiter.keys) > 1:\n",
    ),
    fault(
        "an error in EXEC's queue aborts nothing",
        "dispatch.py",
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
        "self.skipping, self.skip_next = self.skip_next, False",
        "self.skipping, self.skip_next = False, False",
    ),
    fault(
        "CLIENT PAUSE holds up nothing that is queued",
        "dispatch.py",
        "    elif engine.pause is not None and is_held_up",
        "    elif engine.pause is not None and session.transaction is None and is_held_up",
    ),
    fault(
        "a line end in an error stays one",
        "errors.py",
        '.replace(b"\\r", b" ")',
        "",
    ),
)


def seconds_to_find(mutant: Guilty, seed: int) -> float | None:
    """How long it took to find one, in a process of its own; None if it was not found in time.

    Raises:
        ValueError: the mutant is not one line of the engine any more, or the comparison did not run.
    """
    options = ["--as-found", "--minutes", str(LIMIT / 60), "--seed", str(seed)]
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        changed_copy(mutant, Path(folder))
        began = time.monotonic()
        done = subprocess.run(  # noqa: S603  (our own program)
            [sys.executable, "-c", RUN, folder, *options], capture_output=True, text=True, check=False
        )
    if done.returncode not in {0, 1}:
        raise ValueError(f"{mutant.name}: the comparison did not run\n{done.stdout}{done.stderr}")
    return time.monotonic() - began if done.returncode == 1 else None
