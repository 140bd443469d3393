"""Mutants written from the documents alone, without a look at the suite, and generated ones that went free once.

Which clause convicts each was seen later; two of them, and the order of waiters for several keys, needed a sharper one.
"""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["UNSEEN"]

LISTS: Final = "miniredis/engine/commands/lists/lists.py"
WAITING: Final = "miniredis/engine/clients/waiting.py"
RQUEUES: Final = "miniredis/engine/values/rqueues.py"
MQ: Final = "miniredis/engine/commands/rqueues/rqueues.py"
LUA: Final = "pressure/protocol/lua.py"
PUT: Final = "pressure/protocol/put.py"
LIFECYCLE: Final = "pressure/protocol/lifecycle.py"

UNSEEN: Final = (
    Mutant("LPUSHX pushes one element of several", LISTS, "None else push(db, key, elements, end)",
           "None else push(db, key, elements[:1], end)",
           ("list.pushx.existing",)),
    Mutant("a pop with a count of a missing key is an empty array", LISTS,
           "return NULL_ARRAY if values is None else pop_many(", "return [] if values is None else pop_many(",
           ("list.pop.count-missing",)),
    Mutant("looks at its keys in alphabetical order", LISTS,
           "    for key in keys:\n        values = session.db.lookup_write(key, LIST)\n",
           "    for key in sorted(keys):\n        values = session.db.lookup_write(key, LIST)\n",
           ("list.matrix.key-order",)),
    Mutant("BRPOPLPUSH pushes at the tail", LISTS,
           "blocking_move(session, args[1], args[2], RIGHT, LEFT, read_timeout(args[3]))",
           "blocking_move(session, args[1], args[2], RIGHT, RIGHT, read_timeout(args[3]))",
           ("list.brpoplpush",)),
    Mutant("BLPOP passes over a key of another type", LISTS,
           "        values = session.db.lookup_write(key, LIST)\n        if values is not None:\n            return serve(",
           "        values = session.db.lookup_write(key)\n        if isinstance(values, deque):\n            return serve(",
           ("list.matrix.types",)),
    Mutant("who waits for several keys goes before the others", WAITING,
           "            queues.setdefault(waiter.waits_for, OrderedDict())[waiter] = None\n",
           "            queues.setdefault(waiter.waits_for, OrderedDict())[waiter] = None\n"
           "            if len(waiter.keys) > 1:\n"
           "                queues[waiter.waits_for].move_to_end(waiter, last=False)\n",
           ("list.block.fifo",)),
    Mutant("a client that is served stays in the line of its other keys", WAITING,
           "        for key in waiter.keys:\n            self._leave(waiter, key)\n",
           "        for key in waiter.keys[:1]:\n            self._leave(waiter, key)\n",
           ("list.block.disconnect",)),
    Mutant("a recovered message keeps the time of its last delivery", RQUEUES,
           "delivered[oldest] = payload, now, deliveries + 1", "delivered[oldest] = payload, time, deliveries + 1",
           ("mq.recover.timestamp",)),
    Mutant("a recovered message stays at the head", RQUEUES,
           "            delivered.move_to_end(oldest)\n            recovered.append((oldest, payload))\n        return recovered",
           "            delivered.move_to_end(oldest)\n            recovered.append((oldest, payload))\n"
           "        for name, _ in reversed(recovered):\n            delivered.move_to_end(name, last=False)\n"
           "        return recovered",
           ("mq.recover.moves",)),
    Mutant("MQ.ACK answers every id that it was given", MQ,
           "    return acknowledged\n", "    return args[2:]\n",
           ("mq.ack.reply",)),
    Mutant("MQ.INSPECT counts a negative start from the head", MQ,
           "begin = start + size if start < 0 else start", "begin = abs(start)",
           ("mq.inspect.negative",)),
    Mutant("MQ.ACK acknowledges what nobody was given", RQUEUES,
           "        drop = self.delivered.pop\n",
           "        ids = list(ids)\n"
           "        self.delivered.update((each, (value, 0, 1)) for each, value in self.undelivered if each in ids)\n"
           "        self.undelivered = deque(each for each in self.undelivered if each[0] not in ids)\n"
           "        drop = self.delivered.pop\n",
           ("mq.ack.nothing",)),
    Mutant("puts several values and counts one message", PUT,
           "(b\"INCRBY\", keys.produced_messages, len(values))", "(b\"INCRBY\", keys.produced_messages, 1)", ("decided.many",), "plain"),
    Mutant("a get at the bound says that there is room", LUA,
           "  local limit = bound and limit_of(bound)\n  if not limit then return end\n"
           "  uncounted = set_token(limit == 0 or length < limit)",
           "  local limit = bound and limit_of(bound)\n  if not limit then return end\n"
           "  uncounted = set_token(limit == 0 or length <= limit)",
           ("get.over-full",)),
    Mutant("an over-fill takes the room of the next put", LUA,
           "    uncounted = set_token(limit == 0 or length < limit) or uncounted\n  end\n  return room",
           "    uncounted = set_token(not overfill and (limit == 0 or length < limit)) or uncounted\n  end\n  return room",
           ("put.overfills",)),
    Mutant("Close pushes one mark", PUT, "((b\"LPUSH\", keys.closed, 0, 0),)", "((b\"LPUSH\", keys.closed, 0),)", ("close.marks-twice",), "plain"),
    Mutant("Close leaves the name of the producer before it", LUA,
           "  say(call, mark)\n  if is_closed then return 'closed' end\n", "  if is_closed then return 'closed' end\n",
           ("close.names-producer",)),
    Mutant("Delete waits for the producer alone", LIFECYCLE, "        for role in ROLES:\n", "        for role in ROLES[:1]:\n",
           ("delete.hides-first",)),
    Mutant("Delete wakes nobody who waits for room", LIFECYCLE, "        (b\"LPUSH\", keys.not_full, 0),\n", "",
           ("delete.fills-not-full",)),
    Mutant("a closed queue has no more values to get", LUA,
           "  if bound and reliable then\n", "  if is_closed then return 'closed' end\n  if bound and reliable then\n",
           ("keys.twelve",)),
    Mutant("a full put keeps the role that it waited for", LUA,
           "  if room == 0 and not keep then return 'full' end\n",
           "  if room == 0 and not keep then\n    call('RPOP', free)\n    return 'full'\n  end\n",
           ("put-nowait.full",)),
    Mutant("a lock never expires", "pressure/kinds/ring/lua.py",
           "redis.call('SET', locks .. item, token, 'NX', 'PX', ttl)", "redis.call('SET', locks .. item, token, 'NX')",
           ("ring.claim",)),
    Mutant("completes an item and leaves it locked", "pressure/kinds/ring/lua.py",
           "if ours then redis.call('DEL', lock) end\n", "",
           ("ring.complete",)),
    Mutant("completes all equal items in progress", "pressure/kinds/backup/operations.py",
           "together((b\"LREM\", keys.processing, 1, item),", "together((b\"LREM\", keys.processing, 0, item),",
           ("backup.complete",)),
    Mutant("waits with an error for an item", "pressure/kinds/backup/operations.py",
           "        check([item])\n        if item is not None:\n            yield _timed(",
           "        if item is not None:\n            yield _timed(",
           ("backup.waits",)),
    Mutant("notes a lost token where there is no room", "pressure/protocol/healing.py",
           "        observations.pop(_ROOM, None)\n        return\n    now", "        observations.pop(_ROOM, None)\n    now",
           ("decided.heals",)),
    Mutant("a repair waits for roles that are free", "pressure/protocol/repair.py",
           "    if seen.free[role]:\n        return False\n    return not", "    return not",
           ("decided.heals",)),
    Mutant("a block takes two messages and gives one", "pressure/kinds/reliable/__init__.py",
           "self._pop(1, deadline)\n        if not found:\n            raise QueueEmptyError",
           "self._pop(2, deadline)\n        if not found:\n            raise QueueEmptyError",
           ("reliable.kept",)),
    Mutant("recovers again what it has just recovered", "pressure/kinds/reliable/module.py",
           "    young |= set(ids).intersection(before)\n", "",
           ("reliable.dead",)),
    Mutant("leaves commands that waited out of the histogram", WAITING, "                calls.add(seconds)\n", "",
           ("wire.server",)),
    Mutant("makes the same password each time", "miniredis/engine/commands/server/acl.py",
           "session.engine.random.getrandbits(4 * digits)", "0", ("wire.server",)),
    Mutant("logs who was the user before AUTH", "miniredis/engine/acl/users.py",
           'self._note(session, b"auth", asked_by, name)', 'self._note(session, b"auth", asked_by, session.user.name)',
           ("wire.server",)),
    Mutant("tells a monitor of EVAL and of no EVALSHA", "miniredis/engine/conditions.py",
           "        if self.monitors:\n            line", '        if self.monitors and args[0].upper() != b"EVALSHA":\n            line',
           ("wire.server",)),
    Mutant("counts no bytes of a request that is not whole", "miniredis/engine/clients/client_list.py",
           'b"qbuf": lambda session: b"%d" % len(session.parser)', 'b"qbuf": lambda _: b"0"',
           ("wire.server",)),
    Mutant("MQ.INSPECT PENDING tells seconds in place of milliseconds", MQ, "max(now - time, 0), deliveries]",
           "max(now - time, 0) // 1000, deliveries]", ("mq.inspect.pending",)),
    Mutant("counts characters as bytes", PUT, "sum(map(len, values))),\n    )",
           "sum(len(each.decode(errors=\"replace\")) for each in values)),\n    )",
           ("put.counts-bytes", "put-nowait.counts-bytes"), "plain"),
    Mutant("a put that does not wait tells of the other producer before the close", LUA,
           "  if call('EXISTS', closed) == 1 then return 'closed' end\n"
           "  if not held and call('LLEN', free) == 0 then return 'busy', call('GET', holder) end\n  local tokens",
           "  if not held and call('LLEN', free) == 0 then return 'busy', call('GET', holder) end\n"
           "  if call('EXISTS', closed) == 1 then return 'closed' end\n  local tokens",
           ("decided.closed-first",)),
    Mutant("reads no REDIS_DB", "pressure/connections/arguments.py", 'environ.get("REDIS_DB")', "None",
           ("broker.environment",)),
    Mutant("a finished delete goes on watching", LIFECYCLE,
           "        if exists:\n            yield Batch(((b\"UNWATCH\",),))\n            return False",
           "        if exists:\n            return False", ("decided.repair-corrects",)),
    Mutant("touches a queue of which it pops nothing", "miniredis/engine/commands/rqueues/pops.py",
           "len(popped) < wanted.count:", "len(popped) <= wanted.count:", ("mq.pop.keys",)),
    Mutant("takes an end for a key, too", LISTS, "args[at + 1 : at + 1 + number], args", "args[at + 1 : at + 2 + number], args",
           ("recorded.list-elements",)),
    Mutant("makes passwords that begin with zeros", "miniredis/engine/commands/server/acl.py",
           "getrandbits(4 * digits)", "getrandbits(3 * digits)", ("wire.server",)),
    Mutant("counts no library that is deleted", "miniredis/engine/commands/scripting/functions.py",
           "    session.engine.libraries.delete(args[2])\n    session.engine.keyspace.changes += 1\n",
           "    session.engine.libraries.delete(args[2])\n", ("recorded.changes",)),
    Mutant("MIGRATE reads no reply to AUTH", "miniredis/engine/commands/keys/migration.py",
           "range(2 if options.credentials else 1)", "range(1)", ("wire.keys",)),
    Mutant("MIGRATE tells the slow log a password", "miniredis/engine/commands/keys/migration.py",
           "            args[at + 1 : at + 1 + operands] = [REDACTED] * operands\n", "", ("wire.keys",)),
)  # fmt: skip
"""Some dozens, of servers and of clients."""
