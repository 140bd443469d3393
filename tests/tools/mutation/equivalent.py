"""Generated mutants that nobody can notice, each with the reason; a test checks that each row still fits the code.

A row names the file, a line as it stands there, and what it is changed to, wherever it stands in the file. What nobody ever evaluates is left out by
``operators`` instead.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .model import Mutant

__all__ = ["EQUIVALENT", "Equivalent", "reason_of"]


class Equivalent(NamedTuple):
    """Changes of one line that make no difference, each of them for the same reason."""

    file: str
    line: str
    becomes: tuple[str, ...]
    reason: str


WAITING: Final = "miniredis/engine/clients/waiting.py"
LIFECYCLE: Final = "pressure/protocol/lifecycle.py"
ROLE: Final = "pressure/protocol/role.py"
SCRIPTS: Final = "pressure/protocol/scripts.py"
RECEIVING: Final = "pressure/protocol/receiving.py"
REPAIR: Final = "pressure/protocol/repair.py"
DOCTOR: Final = "pressure/protocol/doctor.py"
QUERIES: Final = "pressure/protocol/queries.py"
OPERATION: Final = "pressure/protocol/operation.py"
WAITS: Final = "pressure/protocol/waits.py"
REAPING: Final = "pressure/kinds/backup/lua.py"
BACKUP: Final = "pressure/kinds/backup/operations.py"
RING: Final = "pressure/kinds/ring/__init__.py"
RING_LOCKS: Final = "pressure/kinds/ring/lua.py"
RING_STEPS: Final = "pressure/kinds/ring/operations.py"
STREAM: Final = "pressure/kinds/reliable/stream.py"
KINDS: Final = "pressure/kinds/commands.py"
KIND: Final = "pressure/kinds/kind.py"
KIND_CHECK: Final = "pressure/kinds/kind_check.py"
RELIABLE_LUA: Final = "pressure/kinds/reliable/lua.py"
COUNTERS: Final = "pressure/protocol/counters.py"
GET: Final = "pressure/protocol/get.py"
MODULE: Final = "pressure/kinds/reliable/module.py"
RELIABLE: Final = "pressure/kinds/reliable/operations.py"
PUT: Final = "pressure/protocol/put.py"
HEALING: Final = "pressure/protocol/healing.py"
WORKER: Final = "pressure/kinds/reliable/worker.py"
SIZES: Final = "pressure/protocol/sizes.py"
FREE: Final = "pressure/protocol/lua.py"
POPPING: Final = "pressure/kinds/reliable/popping.py"
RELIABLE_QUEUE: Final = "pressure/kinds/reliable/__init__.py"
BACKUP_QUEUE: Final = "pressure/kinds/backup/__init__.py"
CLIENTS: Final = "miniredis/engine/commands/connections/clients.py"
ROLES: Final = "pressure/protocol/roles.py"
CONSUMING: Final = "pressure/kinds/reliable/consuming.py"
BITMAPS: Final = "miniredis/engine/commands/strings/bitmaps.py"
MEMORY: Final = "miniredis/engine/commands/server/memory.py"
PENDING: Final = "miniredis/engine/commands/streams/pending.py"
SEARCH: Final = "miniredis/engine/commands/geo/search.py"
SORTING: Final = "miniredis/engine/commands/keys/sorting.py"
REQUESTS: Final = "miniredis/engine/protocol/requests.py"
RQUEUES: Final = "miniredis/engine/commands/rqueues/rqueues.py"

_TIES: Final = "the number only breaks ties between equal deadlines, and any number that grows does"
_SPARES: Final = (
    "the count only spares a lookup of keys that no client waits for; if it is too high, it spares less"
)
_EDGE: Final = "the time left is never exactly that"
_ONE: Final = "one value is asked for"
_NONE: Final = "the message is not shown when the number is 0"
_TIMES: Final = "messages go back so many times, and a number below 0 is no times, too"
_STALE: Final = "it only says how often entries are removed that belong to no client any more"
_REST: Final = "any number below 0 stands for all items"
_ANY: Final = "any token will do that no other client has"
_REPLY: Final = "there is one reply, so that the first is the last"
_BATCH: Final = "it only says how much is read at a time"
_ORDER: Final = "what is read is put into a dictionary, or all of it is gone through"
_TRUE: Final = "any number but 0 stands for yes"
_AGAIN: Final = "it only has a script run once more, which finds nothing left to do"
_OFTEN: Final = "it only says how often, or how long at a time, something is tried"
_MOMENT: Final = "it is off by less than a millisecond, and nobody can tell when within one a command runs"
_ROOM: Final = "it only leaves some room beside the longest value"
_ZERO: Final = "it makes a difference for 0 only, which is added, or is nothing to multiply"
_NOW: Final = "no moment is exactly that one"
_NEARER: Final = "the items are the same from either end"
_ROOM_OF_SCRIPTS: Final = "a value of exactly this length may be put by a script or by plain commands"
_EITHER: Final = (
    "the reply is only asked whether it is 0, or bytes, and of an empty or missing list both say 0"
)
_PARTS: Final = "it only says how much is sent at a time, and a byte more or less is no difference"
_TOKENS: Final = "a token has no value, and the list no order"
_IDS: Final = "no message has an id that small"
_READERS: Final = (
    "a request that one of the readers leaves is read by another, and a part that was read is kept or not"
)
_SOONER: Final = "it only takes its first look sooner, and the second one the same time after that"
_LIMIT: Final = "the comparison is only reached where there is a limit"

EQUIVALENT: Final = (
    Equivalent(WAITING, "self._blocked_by_type[waiter.waits_for] += 1", ("self._blocked_by_type[waiter.waits_for] += 2",), _SPARES),
    Equivalent(WAITING, "self._blocked_by_type[waiter.waits_for] -= 1", ("self._blocked_by_type[waiter.waits_for] -= 0", "pass"), _SPARES),
    Equivalent(WAITING, "self._blocked_ever += 1", ("self._blocked_ever += 2",), _TIES),
    Equivalent(WAITING, "self._blocked_ever = 0", ("self._blocked_ever = 1", "self._blocked_ever = -1"), _TIES),
    Equivalent(WAITING, "while value is not None and stream is None:", ("while value is not None or stream is None:",), "no client waits for no type; and a reader of a stream that is asked twice has nothing the second time"),
    Equivalent(DOCTOR, "full = bool(seen.limit) and seen.length >= (seen.limit or 0)", ("full = bool(seen.limit) and seen.length >= (seen.limit or 1)", "full = bool(seen.limit) and seen.length >= (seen.limit or -1)"), _LIMIT),
    Equivalent(LIFECYCLE, "if not replies[-1]:", ("if not replies[1]:",), "there are two replies"),
    Equivalent(OPERATION, "return self.at is not None and self.at - self.context.clock() > SHORTEST_WAIT", ("return self.at is not None and self.at - self.context.clock() >= SHORTEST_WAIT",), _EDGE),
    Equivalent(OPERATION, "while (left := self.at - clock()) > SHORTEST_WAIT:", ("while (left := self.at - clock()) >= SHORTEST_WAIT:",), _EDGE),
    Equivalent(QUERIES, "return values[0]", ("return values[-1]",), _ONE),
    Equivalent(RECEIVING, "hold.unacked = 0", ("hold.unacked = -1",), _TIMES),
    Equivalent(RECEIVING, "return values[0] if values else (yield from _wait(ctx, hold, deadline))", ("return values[-1] if values else (yield from _wait(ctx, hold, deadline))",), _ONE),
    Equivalent(REPAIR, 'how = "taken" if missing > 0 else "put"', ('how = "taken" if missing >= 0 else "put"', 'how = "taken" if missing > -1 else "put"'), _NONE),
    Equivalent(ROLE, "unacked: int = 0", ("unacked: int = -1",), _TIMES),
    Equivalent(SCRIPTS, "break", ("continue",), "the size only grows, so that nothing is added any more"),
    Equivalent(WAITING, "STALE_DEADLINES: Final = 1000", ("STALE_DEADLINES: Final = 1001", "STALE_DEADLINES: Final = 999"), _STALE),
    Equivalent(WAITING, "if len(self.deadlines) > 2 * len(self._blocked) + STALE_DEADLINES:", ("if len(self.deadlines) >= 2 * len(self._blocked) + STALE_DEADLINES:", "if len(self.deadlines) > 1 * len(self._blocked) + STALE_DEADLINES:", "if len(self.deadlines) > 3 * len(self._blocked) + STALE_DEADLINES:", "if len(self.deadlines) > 2 * len(self._blocked) - STALE_DEADLINES:"), _STALE),
    Equivalent(LIFECYCLE, 'return tuple((b"LPUSH", key, 0) for key in (keys.producer_free, keys.consumer_free, keys.not_full))', ('return tuple((b"RPUSH", key, 0) for key in (keys.producer_free, keys.consumer_free, keys.not_full))',), "the lists are empty"),
    Equivalent(REAPING, "MOST_ITEMS: Final = 10_000", ("MOST_ITEMS: Final = 10001", "MOST_ITEMS: Final = 9999"), "it only divides the work into runs of a script"),
    Equivalent(REAPING, "if #some == 0 then return {back, -1} end", ("if #some == 0 then return {back, -2} end",), _REST),
    Equivalent(BACKUP, "left = -1", ("left = -2",), _REST),
    Equivalent(REAPING, "local whole = left < 0", ("local whole = left <= 0", "local whole = left < 1"), "no run begins with nothing left to look at"),
    Equivalent(REAPING, "local some = redis.call('ZRANGE', claims, at, at + 63)", ("local some = redis.call('ZREVRANGE', claims, at, at + 63)",), _ORDER),
    Equivalent(REAPING, "local some = redis.call('ZRANGE', claims, at, at + 63)", ("local some = redis.call('ZRANGE', claims, at, at + 62)", "local some = redis.call('ZRANGE', claims, at, at + 64)"), _BATCH),
    Equivalent(REAPING, "local bytes, looked_at = 0, 0", ("local bytes, looked_at = 1, 0", "local bytes, looked_at = 0, 1"), _BATCH),
    Equivalent(REAPING, "while left > 0 and bytes <= most_bytes and looked_at < most_items do", ("while left > 0 and bytes < most_bytes and looked_at < most_items do", "while left > 0 and bytes <= most_bytes and looked_at <= most_items do"), _BATCH),
    Equivalent(REAPING, "left, bytes, looked_at = left - 1, bytes + #item, looked_at + 1", ("left, bytes, looked_at = left - 1, bytes + #item, looked_at + 2",), _BATCH),
    Equivalent(REAPING, "if #some == 0 then return {back, -1} end", ("if #some == 0 then return {back, -0} end",), _AGAIN),
    Equivalent(REAPING, "if #first == 0 or tonumber(first[2]) ~= 0 then return {back, -1} end", ("if #first == 0 or tonumber(first[2]) ~= 0 then return {back, -0} end",), _AGAIN),
    Equivalent(REAPING, "if #first == 0 or tonumber(first[2]) ~= 0 then return {back, -1} end", ("if #first == 0 or tonumber(first[2]) ~= 0 then return {back, -2} end",), _REST),
    Equivalent(REAPING, "local first = redis.call('ZRANGE', claims, 0, 0, 'WITHSCORES')", ("local first = redis.call('ZRANGE', claims, 0, 1, 'WITHSCORES')",), "only the first of them is looked at"),
    Equivalent(REAPING, "if left > 0 then return {back, left} end", ("if left >= 0 then return {back, left} end",), _AGAIN),
    Equivalent(REAPING, "return 1", ("return 2",), _TRUE),
    Equivalent(BACKUP, "if left < 0:", ("if left <= 0:", "if left < 1:"), "a script has nothing left to look at, or more than that"),
    Equivalent(BACKUP, '(b"ZRANGE", keys.claims, 0, -1, b"WITHSCORES"),', ('(b"ZREVRANGE", keys.claims, 0, -1, b"WITHSCORES"),',), _ORDER),
    Equivalent(RING_LOCKS, "return {ours and 1 or 0, removed}", ("return {ours and 2 or 0, removed}",), _TRUE),
    Equivalent(RING_LOCKS, "if ARGV[4] == '0' then return redis.call('DEL', lock) end", ("if ARGV[3] == '0' then return redis.call('DEL', lock) end", "if ARGV[5] == '0' then return redis.call('DEL', lock) end"), "to let a lock expire at once frees it, too"),
    Equivalent(RING, "return operations.extend(self._context, self._locks, *_lock_of(item), 0)", ("return operations.extend(self._context, self._locks, *_lock_of(item), -1)",), "to let a lock expire at once frees it, too"),
    Equivalent(RING_STEPS, "tries = left if walk else 1", ("tries = left if walk else 0",), "one item is tried in any case"),
    Equivalent(RING_STEPS, "return []", ("pass",), "of no items nothing is asked, and nothing told"),
    Equivalent(REAPING, "local now = time[1] * 1000 + math.floor(time[2] / 1000)", ("local now = time[1] * 1000 + math.floor(time[2] / 1001)", "local now = time[1] * 1000 + math.floor(time[2] / 999)"), _MOMENT),
    Equivalent(RELIABLE_LUA, "local now = time[1] * 1000 + math.floor(time[2] / 1000)", ("local now = time[1] * 1000 + math.floor(time[2] / 1001)", "local now = time[1] * 1000 + math.floor(time[2] / 999)"), _MOMENT),
    Equivalent(KINDS, "return int(seconds) * 1000 + int(microseconds) // 1000", ("return int(seconds) * 1000 + int(microseconds) // 1001", "return int(seconds) * 1000 + int(microseconds) // 999"), _MOMENT),
    Equivalent(KINDS, "ATTEMPTS: Final = 100", ("ATTEMPTS: Final = 101", "ATTEMPTS: Final = 99"), _OFTEN),
    Equivalent(KINDS, "return max(1, int(seconds * 1000))", ("return max(1, int(seconds * 1001))", "return max(1, int(seconds * 999))", "return max(2, int(seconds * 1000))", "return max(1, int(seconds // 1000))"), _OFTEN),
    Equivalent(KINDS, "return result, []", ("pass",), "a transaction of no commands has no replies, too"),
    Equivalent(KINDS, "yield Pause(random.uniform(0, LONGEST_PAUSE))  # noqa: S311, to spread competing clients", ("yield Pause(random.uniform(1, LONGEST_PAUSE))  # noqa: S311, to spread competing clients",), _OFTEN),
    Equivalent(KIND, "_BESIDE: Final = 256", ("_BESIDE: Final = 257", "_BESIDE: Final = 255"), _ROOM),
    Equivalent(KIND_CHECK, "kind_check.is_known = True", ("kind_check.is_known = False", "pass"), "it is only asked again what is known"),
    Equivalent(RELIABLE_LUA, "if string.sub(member, 1, #ARGV[3]) == ARGV[3] then return redis.call('ZREM', delayed, member) end", ("if string.sub(member, 0, #ARGV[3]) == ARGV[3] then return redis.call('ZREM', delayed, member) end",), "a string begins at 1, and so does what begins before it"),
    Equivalent(STREAM, 'if keys.is_due or not (yield from execute((b"EXISTS", keys.queue)))[0]:', ('if keys.is_due or not (yield from execute((b"EXISTS", keys.queue)))[-1]:',), _REPLY),
    Equivalent(COUNTERS, "_MANY: Final = 1000", ("_MANY: Final = 1001", "_MANY: Final = 999"), _BATCH),
    Equivalent(COUNTERS, "right[missing > 0] += abs(missing)", ("right[missing >= 0] += abs(missing)", "right[missing > -1] += abs(missing)"), _ZERO),
    Equivalent(COUNTERS, "ctx.server.sizes.note(values)", ("pass",), _BATCH),
    Equivalent(RING, "token = secrets.token_hex(16).encode()", ("token = secrets.token_hex(15).encode()", "token = secrets.token_hex(17).encode()"), _ANY),
    Equivalent(RING_STEPS, "ours = seen[0] == token", ("ours = seen[-1] == token",), _REPLY),
    Equivalent(STREAM, 'return found[0] if found else b"0-0"', ('return found[-1] if found else b"0-0"',), "no two groups of a stream have the same name"),
    Equivalent(STREAM, "if most > start:", ("if most >= start:",), "it asks for messages of which none is left over"),
    Equivalent(STREAM, "found: list[Reply] = [] if is_missing(reply) else check([reply])[0]", ("found: list[Reply] = [] if is_missing(reply) else check([reply])[-1]",), _REPLY),
    Equivalent(RELIABLE_LUA, "for at = 1, #found, 2 do known[found[at]] = found[at + 1] end", ("for at = 1, #found, 1 do known[found[at]] = found[at + 1] end", "for at = 1, #found, 3 do known[found[at]] = found[at + 1] end"), "values become names, too, and no group is named as a field"),
    Equivalent(KINDS, "return (now(time) - float(pairs(first)[0][1])) / 1000 if first else None", ("return (now(time) - float(pairs(first)[0][1])) / 1001 if first else None", "return (now(time) - float(pairs(first)[0][1])) / 999 if first else None"), _OFTEN),
    Equivalent(KINDS, "yield Pause(random.uniform(0, LONGEST_PAUSE))  # noqa: S311, to spread competing clients", ("pass  # noqa: S311, to spread competing clients",), _OFTEN),
    Equivalent(MODULE, "return []", ("pass",), "a queue of the module has no other groups to look at"),
    Equivalent(KIND_CHECK, "return", ("pass",), "it is only asked again what is known"),
    Equivalent(KIND_CHECK, "if kind_check is None or kind_check.is_known:", ("if kind_check is None and kind_check.is_known:",), "a queue of a kind has a check; it is only asked again what is known"),
    Equivalent(RING, "scripts: bool = True,", ("scripts: bool = False,",), "with scripts or without, the same is done"),
    Equivalent(LIFECYCLE, '''return QueueAlreadyExistsError(
            f"queue {keys} already exists; with exist_ok, create accepts it if its bound is the same"
        )''', ("pass",), "the error is the same, with another text"),
    Equivalent(RING_LOCKS, "redis.call('RPOP', ring, 0)", ("redis.call('LPOP', ring, 0)",), "it removes nothing, and fails for what is no list"),
    Equivalent(RELIABLE, "self.due_first = True", ("self.due_first = False",), "either lane may begin"),
    Equivalent(OPERATION, "body.close()", ("pass",), "who drops the last reference to an operation closes it"),
    Equivalent(WAITING, "if len(self.deadlines) > 2 * len(self._blocked) + STALE_DEADLINES:", ("if len(self.deadlines) <= 2 * len(self._blocked) + STALE_DEADLINES:",), _STALE),
    Equivalent(RQUEUES, "if not 0 <= begin < size:", ("if not 0 <= begin <= size:",), "behind the last message there is nothing, too"),
    Equivalent(RQUEUES, "if begin <= size - end:", ("if begin < size - end:", "if begin > size - end:", "if begin <= size + end:"), _NEARER),
    Equivalent(SCRIPTS, "if chunk and len(chunk[0]) > MOST_BYTES:  # of several, each is shorter", ("if chunk and len(chunk[0]) >= MOST_BYTES:  # of several, each is shorter",), _ROOM_OF_SCRIPTS),
    Equivalent(ROLES, "if is_full(replies) and ctx.server.scripts:", ("if is_full(replies) or ctx.server.scripts:",), "the script finds that the role is free, and does nothing"),
    Equivalent(QUERIES, 'return (b"LLEN", role.free(ctx.keys)), (b"GET", role.holder(ctx.keys))', ('return (b"EXISTS", role.free(ctx.keys)), (b"GET", role.holder(ctx.keys))',), "it is asked whether there is an element, and not how many there are"),
    Equivalent(RECEIVING, "check([claimed])  # a hold that could not write its id cannot settle; the value goes back", ("pass  # a hold that could not write its id cannot settle; the value goes back",), "no server refuses to write the id alone of a transaction that it carries out"),
    Equivalent(RELIABLE, "TOGETHER: Final = 100", ("TOGETHER: Final = 101", "TOGETHER: Final = 99"), _BATCH),
    Equivalent(RELIABLE_LUA, "for _ = 1, 2 do", ("for _ = 0, 2 do", "for _ = 1, 3 do"), "the second try has the group that the first was without"),
    Equivalent(CONSUMING, "for each in queues[1:]:", ("for each in queues[0:]:",), "it is only asked again what is known"),
    Equivalent(WAITING, "while (deadline := self.next_deadline()) is not None and deadline <= monotonic:", ("while (deadline := self.next_deadline()) is not None and deadline < monotonic:",), _NOW),
    Equivalent(WAITING, "if seconds >= statistics.slow:", ("if seconds > statistics.slow:",), _NOW),
    Equivalent(CLIENTS, "if milliseconds <= MAX - engine.now.milliseconds:  # a larger sum wraps into the past in Redis", ("if milliseconds < MAX - engine.now.milliseconds:  # a larger sum wraps into the past in Redis",), _NOW),
    Equivalent(BACKUP_QUEUE, "scripts: bool = True,", ("scripts: bool = False,",), "with scripts or without, the same is done"),
    Equivalent(SIZES, "def bounded(self, most: int, taken: int = 0) -> int:", ("def bounded(self, most: int, taken: int = -1) -> int:", "def bounded(self, most: int, taken: int = 1) -> int:"), _BATCH),
    Equivalent(QUERIES, "rejected: int = 0", ("rejected: int = -1", "rejected: int = 1"), "it is always given"),
    Equivalent(FREE, "redis.call('LPUSH', free, 0)", ("redis.call('RPUSH', free, 0)",), "the list is empty"),
    Equivalent(WAITS, 'replies = yield Batch(((b"LPUSH", keys.closed, mark), (b"RPOP", keys.queue), *look_at_size(ctx)))', ('replies = yield Batch(((b"RPUSH", keys.closed, mark), (b"RPOP", keys.queue), *look_at_size(ctx)))',), "marks have no order"),
    Equivalent(RELIABLE_QUEUE, "return found[0]", ("return found[-1]",), "one message is popped"),
    Equivalent(POPPING, "yield from _deliver_plain(ctx, state, most, 0 if more or not state.due_first else max(share, 1))", ("yield from _deliver_plain(ctx, state, most, 0 if more or not state.due_first else max(share, 0))",), "where due messages come first, their share of one message is one"),
    Equivalent(POPPING, "if found or left is None or left > 0:", ("if found or left is None or left > 1:", "if found or left is None or left >= 0:"), "what is due is asked again by whoever moves it"),
    Equivalent(RECEIVING, '(b"EXISTS", keys.closed),', ('(b"LLEN", keys.closed),',), _EITHER),
    Equivalent(PUT, 'pop: Command = (b"LLEN" if hold.token else b"RPOP", ctx.keys.not_full)', ('pop: Command = (b"EXISTS" if hold.token else b"RPOP", ctx.keys.not_full)',), _EITHER),
    Equivalent(PUT, 'pop: Command = (b"LLEN" if hold.token else b"RPOP", ctx.keys.not_full)', ('pop: Command = (b"LLEN" if hold.token else b"LPOP", ctx.keys.not_full)',), _TOKENS),
    Equivalent(SCRIPTS, "if sum(map(len, some)) <= _MOST_PUT_BYTES:", ("if sum(map(len, some)) < _MOST_PUT_BYTES:",), "the loop below adds values up to this number of bytes, too"),
    Equivalent(SCRIPTS, "size, last = 0, self.stored", ("size, last = 1, self.stored", "size, last = -1, self.stored"), _PARTS),
    Equivalent(SCRIPTS, "if chunk and len(chunk[0]) > MOST_BYTES:  # of several, each is shorter", ("if chunk and len(chunk[-1]) > MOST_BYTES:  # of several, each is shorter",), "several values are each shorter, and of one the first is the last"),
    Equivalent(FREE, "if not held and call('LLEN', free) == 0 then return 'busy', call('GET', holder) end", ("if not held and call('EXISTS', free) == 0 then return 'busy', call('GET', holder) end",), _EITHER),
    Equivalent(RELIABLE_LUA, "if #ms ~= #last_ms then return #ms > #last_ms end", ("if #ms ~= #last_ms then return #ms >= #last_ms end",), "they are not equal there"),
    Equivalent(HEALING, "return now - last.since >= first or (not deadline.waits and now - ctx.server.last_probe >= first)", ("return now - last.since > first or (not deadline.waits and now - ctx.server.last_probe >= first)", "return now - last.since >= first or (not deadline.waits and now - ctx.server.last_probe > first)"), _NOW),
    Equivalent(HEALING, "return now - last.since >= liveness.PROBE_INTERVAL", ("return now - last.since > liveness.PROBE_INTERVAL",), _NOW),
    Equivalent(HEALING, "return 0 <= left_ms <= _SUSPECT_FOR_MS - liveness.PROBE_INTERVAL * 1000", ("return 0 < left_ms <= _SUSPECT_FOR_MS - liveness.PROBE_INTERVAL * 1000", "return 0 <= left_ms < _SUSPECT_FOR_MS - liveness.PROBE_INTERVAL * 1000"), _NOW),
    Equivalent(WORKER, "return lambda deliveries: min(first * 2 ** min(max(deliveries, 1) - 1, 62), most)", ("return lambda deliveries: min(first * 2 ** min(max(deliveries, 1) - 1, 61), most)", "return lambda deliveries: min(first * 2 ** min(max(deliveries, 1) - 1, 63), most)"), "no server keeps a delay of so many seconds"),
    Equivalent(MODULE, 'def push_command(self, key: bytes, data: bytes, deliveries: int = 0, note: bytes = b"") -> Command:', ('def push_command(self, key: bytes, data: bytes, deliveries: int = -1, note: bytes = b"") -> Command:', 'def push_command(self, key: bytes, data: bytes, deliveries: int = 1, note: bytes = b"") -> Command:'), "the command has no deliveries"),
    Equivalent(STREAM, 'return ((b"XGROUP", b"CREATE", keys.queue, keys.group, 0, b"MKSTREAM"),)', ('return ((b"XGROUP", b"CREATE", keys.queue, keys.group, 1, b"MKSTREAM"),)',), _IDS),
    Equivalent(STREAM, '(reply,) = yield Batch(((b"XGROUP", b"CREATE", keys.queue, keys.group, 0),))', ('(reply,) = yield Batch(((b"XGROUP", b"CREATE", keys.queue, keys.group, 1),))',), _IDS),
    Equivalent(RELIABLE_LUA, "redis.call('XGROUP', 'CREATE', key, group, 0)", ("redis.call('XGROUP', 'CREATE', key, group, 1)",), _IDS),
    Equivalent(RELIABLE_LUA, "return {now, redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2] or false, due, rest}", ("return {now, redis.call('ZRANGE', delayed, 0, 1, 'WITHSCORES')[2] or false, due, rest}",), "only the first of them is looked at"),
    Equivalent(REAPING, "if #first == 0 or tonumber(first[2]) ~= 0 then return {back, -1} end", ("if #first == 1 or tonumber(first[2]) ~= 0 then return {back, -1} end",), "where there is none, it has no number either, which is not 0") ,
    Equivalent(RELIABLE, "state.due_first = True", ("state.due_first = False", "pass"), "a message that is due and one that waits take turns, whichever comes first"),
    Equivalent(BITMAPS, "for start in range(first >> 3, end if first <= last else 0, CHUNK):", ("for start in range(first >> 3, end if first <= last else 1, CHUNK):", "for start in range(first >> 3, end if first <= last else -1, CHUNK):"), "of an empty range no bit is left in the byte"),
    Equivalent(PENDING, "told.append([id_text(number), delivery.consumer.name, max(idle, 0), delivery.count])", ("told.append([id_text(number), delivery.consumer.name, max(idle, 1), delivery.count])", "told.append([id_text(number), delivery.consumer.name, max(idle, -1), delivery.count])"), _MOMENT),
    Equivalent("miniredis/engine/commands/keys/objects.py", "return max(now - session.db.used.get(key, now), 0) // 1000", ("return max(now - session.db.used.get(key, now), 1) // 1000", "return max(now - session.db.used.get(key, now), -1) // 1000"), _MOMENT),
    Equivalent("miniredis/engine/commands/sorted_sets/pops.py", "return list(popped[0]) if count is None else Pairs(popped)", ("return list(popped[-1]) if count is None else Pairs(popped)",), "one member is popped"),
    Equivalent("miniredis/engine/commands/strings/lcs.py", "shortest: int = 0", ("shortest: int = -1", "shortest: int = 1"), "what is common has a length of 1 at least"),
    Equivalent("miniredis/engine/commands/keys/expiring.py", "return when if when < 0 else max(when - session.engine.now.milliseconds, 0)", ("return when if when <= 0 else max(when - session.engine.now.milliseconds, 0)", "return when if when < 1 else max(when - session.engine.now.milliseconds, 0)"), "a key that expired in 1970 is gone"),
    Equivalent("miniredis/engine/commands/server/latency.py", 'found = session.engine.commands.look_up(name.split(b"|", 1))', ('found = session.engine.commands.look_up(name.split(b"|", 2))',), "no subcommand has one of its own"),
    Equivalent(PENDING, "if not window.idle or idle >= window.idle:", ("if not window.idle or idle > window.idle:",), _MOMENT),
    Equivalent("miniredis/engine/commands/lists/elements.py", "from_tail = search.rank < 0", ("from_tail = search.rank <= 0", "from_tail = search.rank < 1"), "a rank of 0 is refused"),
    Equivalent(SORTING, "start: int = 0", ("start: int = -1",), "a start below 0 is the first element"),
    Equivalent(SORTING, "count: int = -1", ("count: int = -2",), _REST),
    Equivalent(SORTING, 'b"GET": (1, lambda options, operands: options.get.append(operands[0])),', ('b"GET": (1, lambda options, operands: options.get.append(operands[-1])),',), "there is one operand"),
    Equivalent(SORTING, 'b"STORE": (1, lambda options, operands: setattr(options, "store", operands[0])),', ('b"STORE": (1, lambda options, operands: setattr(options, "store", operands[-1])),',), "there is one operand"),
    Equivalent(SORTING, 'options.by = operands[0]', ('options.by = operands[-1]',), "there is one operand"),
    Equivalent(SEARCH, "ranks = partly_sorted([order * each.distance for each in found], 0, count - 1)", ("ranks = partly_sorted([order * each.distance for each in found], -1, count - 1)", "ranks = partly_sorted([order * each.distance for each in found], 0, count + 1)", "ranks = partly_sorted([order * each.distance for each in found], 0, count - 0)"), "more are sorted than are taken"),
    Equivalent(SEARCH, "ranks = partly_sorted([order * each.distance for each in found], 0, count - 1)", ("ranks = partly_sorted([order * each.distance for each in found], 1, count - 1)",), "a part of one item needs no sorting"),
    Equivalent(MEMORY, "data = max(used - overhead, 0)", ("data = max(used - overhead, 1)", "data = max(used - overhead, -1)"), "a process has more memory than its tables"),
    Equivalent(POPPING, "if len(state) == 1:", ("if len(state) == 0:",), "one queue may be popped as several are"),
    Equivalent(LIFECYCLE, 'return tuple((b"LPUSH", key, 0) for key in (keys.producer_free, keys.consumer_free, keys.not_full))', ('return tuple((b"LPUSH", key, -1) for key in (keys.producer_free, keys.consumer_free, keys.not_full))', 'return tuple((b"LPUSH", key, 1) for key in (keys.producer_free, keys.consumer_free, keys.not_full))'), _TOKENS),
    Equivalent(LIFECYCLE, "return False", ("return True",), "the last of the attempts has returned before"),
    Equivalent(LIFECYCLE, '(b"LPUSH", keys.not_full, 0),', ('(b"RPUSH", keys.not_full, 0),', '(b"LPUSH", keys.not_full, 1),', '(b"LPUSH", keys.not_full, -1),'), _TOKENS),
    Equivalent(FREE, "local taken = held and try('LPUSH', free, 0)", ("local taken = held and try('LPUSH', free, 1)", "local taken = held and try('RPUSH', free, 0)"), _TOKENS),
    Equivalent(HEALING, "lapsed = last is not None and holder is None  # a holder key expires when its lease runs out", ("lapsed = last is not None or holder is None  # a holder key expires when its lease runs out",), _SOONER),
    Equivalent(HEALING, "_SUSPECT_FOR_MS: Final = 3_600_000", ("_SUSPECT_FOR_MS: Final = 3600001", "_SUSPECT_FOR_MS: Final = 3599999"), _MOMENT),
    Equivalent(SCRIPTS, "_MOST_VALUES: Final = 1000", ("_MOST_VALUES: Final = 1001", "_MOST_VALUES: Final = 999"), _PARTS),
    Equivalent(PUT, "ctx: Context, values: Sequence[bytes], deadline: Deadline, *, overfill: bool = False", ("ctx: Context, values: Sequence[bytes], deadline: Deadline, *, overfill: bool = True",), "each caller says which"),
    Equivalent(PUT, "def put(ctx: Context, value: bytes, deadline: Deadline, *, overfill: bool = False) -> Operation[None]:", ("def put(ctx: Context, value: bytes, deadline: Deadline, *, overfill: bool = True) -> Operation[None]:",), "each caller says which"),
    Equivalent(ROLE, "watched: bool = False", ("watched: bool = True",), "it is set before it is read, but where keys move in a cluster"),
    Equivalent(ROLES, "release = (*token_commands(ctx, hold), *(free if hold.claimed else free[-1:]))", ("release = (*token_commands(ctx, hold), *(free if hold.claimed else free[1:]))",), "there are two commands"),
    Equivalent(COUNTERS, "last = first + ctx.server.sizes.bounded(_MANY) - 1", ("last = first + ctx.server.sizes.bounded(_MANY) + 1",), _BATCH),
    Equivalent(BACKUP, "break  # no last try without waiting: a wait also finds items that arrived before it", ("continue  # no last try without waiting: a wait also finds items that arrived before it",), "it is the last of the attempts"),
    Equivalent(RELIABLE_LUA, "if #due + #rest > 0 then return {now, false, due, rest} end", ("if #due - #rest > 0 then return {now, false, due, rest} end",), "when the next is due nobody asks where something was delivered"),
    Equivalent(RELIABLE_QUEUE, 'raise TypeError(f"a message is what pop or recover returned, or its id, not {type(message).__name__}")', ("pass",), "no id is a TypeError, too, a step later"),
    Equivalent(WAITING, "is_news = waiter.session.flags & LISTENS or database.keyspace.observes_all", ("is_news = waiter.session.flags | LISTENS or database.keyspace.observes_all",), "who asked for no news is sent none"),
    Equivalent(WAITING, "self.deadlines = [entry for entry in self.deadlines if entry[2] in self._blocked]", ("pass",), _STALE),
    Equivalent("miniredis/engine/commands/lists/elements.py", "if first <= length - end:", ("if first <= length + end:",), _NEARER),
    Equivalent("miniredis/engine/commands/lists/elements.py", "if 2 * (end - first) <= length:  # copying few elements is faster than popping many", ("if 1 * (end - first) <= length:  # copying few elements is faster than popping many", "if 3 * (end - first) <= length:  # copying few elements is faster than popping many"), "either way the others go"),
    Equivalent("miniredis/engine/commands/geo/options.py", "self.count = read_integer(operands[0])", ("self.count = read_integer(operands[-1])",), "there is one operand"),
    Equivalent(RQUEUES, 'T_co = TypeVar("T_co", covariant=True)', ('T_co = TypeVar("T_co", covariant=False)',), "only a type checker reads it"),
    Equivalent("miniredis/engine/commands/sorted_sets/samples.py", "if count > FEW:", ("if count >= FEW:",), "either way the members are drawn at random"),
    Equivalent("miniredis/engine/commands/server/documentation.py", "wanted = [named(table, name) for name in args[2:]] if len(args) > 2 else commands(table.lookup)", ("wanted = [named(table, name) for name in args[1:]] if len(args) > 2 else commands(table.lookup)",), "no command is called docs"),
    Equivalent("miniredis/engine/commands/server/config.py", "for pattern in args[2:]:", ("for pattern in args[1:]:",), "no directive is called get"),
    Equivalent(BITMAPS, "last = min(max(end + total, 0) if end < 0 else end, total - 1)", ("last = min(max(end + total, 0) if end < 0 else end, total - 0)",), "there is no bit beyond the last"),
    Equivalent("miniredis/engine/commands/streams/reading.py", "if (reading.timeout or 0) > MAX - session.engine.now.milliseconds:", ("if (reading.timeout or 1) > MAX - session.engine.now.milliseconds:", "if (reading.timeout or -1) > MAX - session.engine.now.milliseconds:"), _NOW),
    Equivalent("miniredis/engine/commands/server/server.py", 'if not options <= {b"NOSAVE", b"SAVE", b"NOW", b"FORCE", b"ABORT"} or options >= {b"SAVE", b"NOSAVE"}:', ('if not options < {b"NOSAVE", b"SAVE", b"NOW", b"FORCE", b"ABORT"} or options >= {b"SAVE", b"NOSAVE"}:',), "all of them at once are refused in any case"),
    Equivalent("miniredis/engine/commands/keys/scanning.py", "if match is None or (match[1] and not match[2]):", ("if match is None or (match[0] and not match[2]):",), "a text without digits is a sign, or empty"),
    Equivalent("miniredis/engine/commands/keys/scanning.py", "return luck.choice(live) if live else None", ("pass",), "another key is drawn until one has not expired"),
    Equivalent(REQUESTS, 'LINES: Final = {b"*%d" % count: 2 * count + 1 for count in range(1, 9)}', ('LINES: Final = {b"*%d" * count: 2 * count + 1 for count in range(1, 9)}',), _READERS),
    Equivalent(REQUESTS, 'FEW_LINES: Final = 16', ('FEW_LINES: Final = 17', 'FEW_LINES: Final = 15',), _READERS),
    Equivalent(REQUESTS, 'SHORT_LENGTH: Final = {b"$%d\\r\\n" % length: length for length in range(10)}.get', ('SHORT_LENGTH: Final = {b"$%d\\r\\n" % length: length for length in range(11)}.get', 'SHORT_LENGTH: Final = {b"$%d\\r\\n" % length: length for length in range(9)}.get',), _READERS),
    Equivalent(REQUESTS, 'return b"$%d" % length', ('return b"$%d" * length',), _READERS),
    Equivalent(REQUESTS, 'lines[-1] = lines[-1][:-2]', ('pass',), _READERS),
    Equivalent(REQUESTS, 'if len(data) > LITTLE and data.count(b"\\r", 0, SAMPLE) < FEW_LINES:', ('if len(data) >= LITTLE and data.count(b"\\r", 0, SAMPLE) < FEW_LINES:',), _READERS),
    Equivalent(REQUESTS, 'reader.feed(data + END)', ('pass',), _READERS),
    Equivalent(REQUESTS, 'if announces and not all(requests):', ('if announces or not all(requests):',), _READERS),
    Equivalent(REQUESTS, 'if not typed or strings.translate(None, ORDINARY) == typed:', ('if not typed and strings.translate(None, ORDINARY) == typed:',), _READERS),
    Equivalent(REQUESTS, 'at = used + 4', ('at = used + 3',), _READERS),
    Equivalent(REQUESTS, 'if self._bulk is None or self._bulk < LARGE_BULK:', ('if self._bulk is None or self._bulk >= LARGE_BULK:',), _READERS),
    Equivalent(REQUESTS, 'self._forget_read()', ('pass',), _READERS),
    Equivalent(REQUESTS, 'self._singly = max(self._singly - 1, 0)', ('self._singly = max(self._singly + 1, 0)',), _READERS),
    Equivalent("miniredis/engine/commands/keys/expiring.py", "return when if when < 0 else (when + 500) // 1000", ("return when if when <= 0 else (when + 500) // 1000",), "0 milliseconds are 0 seconds"),
    Equivalent(SCRIPTS, "answer = yield from _begin(ctx, hold, deadline, 1, reliable=True)", ("answer = yield from _begin(ctx, hold, deadline, 2, reliable=True)",), "a reliable get moves one message, whatever the number"),
    Equivalent("miniredis/engine/commands/geo/search.py", "reply.append(int(found.score) if MIN <= found.score <= MAX else MIN)", ("reply.append(int(found.score) if MIN < found.score <= MAX else MIN)",), "the least score is the least number, too"),
    Equivalent("miniredis/engine/commands/geo/options.py", "count: int = 0", ("count: int = -1",), "a slice that ends before it begins is as empty as one that ends where it begins"),
    Equivalent("miniredis/engine/commands/geo/options.py", "score = self.values.scores.get(operands[0])", ("score = self.values.scores.get(operands[-1])",), "there is one operand"),
    Equivalent("miniredis/engine/commands/sets/sets.py", "if stay * FEW_STAY <= count:", ("if stay * FEW_STAY < count:",), "either way the members are drawn at random"),
    Equivalent(POPPING, "backend = state[0].backend", ("backend = state[-1].backend",), "those of all of them are the same, or it is refused"),
    Equivalent(HEALING, "is_lost = now - observations.setdefault(_ROOM, Observation(None, now)).since >= liveness.PROBE_INTERVAL", ("is_lost = now - observations.setdefault(_ROOM, Observation(None, now)).since > liveness.PROBE_INTERVAL",), _NOW),
    Equivalent(HEALING, "if is_lost or (not deadline.waits and (yield from _was_suspect(ctx.keys.suspect_token, b\"\"))):", ("if is_lost or ( deadline.waits and (yield from _was_suspect(ctx.keys.suspect_token, b\"\"))):",), _SOONER),
    Equivalent(FREE, "if redis.call('LLEN', free) > 0 or (redis.call('GET', holder) or '') ~= ARGV[2] then return false end", ("if redis.call('EXISTS', free) > 0 or (redis.call('GET', holder) or '') ~= ARGV[2] then return false end",), "a list that is there is not empty"),
    Equivalent("miniredis/engine/commands/sets/sets.py", "FEW_STAY: Final = 5", ("FEW_STAY: Final = 4", "FEW_STAY: Final = 6"), "either way the members are drawn at random"),
    Equivalent("miniredis/engine/commands/sorted_sets/samples.py", "if count >= 0:", ("if count > 0:",), "no members are drawn either way"),
    Equivalent(FREE, "if bytes > most_bytes and popped > 0 then return return_all_but(at - 1, some) end", ("if bytes >= most_bytes and popped > 0 then return return_all_but(at - 1, some) end",), _BATCH),
    Equivalent(RELIABLE_LUA, "local moved, bytes, count = 0, 0, 1", ("local moved, bytes, count = 0, 1, 1", "local moved, bytes, count = 0, 0, 2"), _BATCH),
    Equivalent(STREAM, 'rest = ((b"XPENDING", keys.queue, name, each, each, 1) for each in ids for name, _ in others)', ('rest = ((b"XPENDING", keys.queue, name, each, each, 2) for each in ids for name, _ in others)',), "a range from an id to itself has one message"),
    Equivalent("miniredis/engine/commands/connections/tracking.py", "for at, prefix in enumerate(given[: first + 1]):", ("for at, prefix in enumerate(given[: first + 2]):",), "the first ends the loop by an error"),
    Equivalent("miniredis/engine/commands/strings/lcs.py", "width = (1 << len(other)) - 1", ("width = (2 << len(other)) - 1",), "nobody looks at the bit beyond the last"),
    Equivalent("miniredis/engine/commands/lists/elements.py", "return list(islice(values, first, end))", ("pass",), _NEARER),
    Equivalent(POPPING, "if left is not None and left <= 0:", ("if left is not None and left < 0:",), _EDGE),
    Equivalent(MODULE, "young = {each for each, beat in zip(ids, beats, strict=True) if beat is not None and float(beat) > since}", ("young = {each for each, beat in zip(ids, beats, strict=True) if beat is not None and float(beat) >= since}",), _NOW),
    Equivalent(BITMAPS, "start = read_integer(words[0]) if words else 0", ("start = read_integer(words[0]) if words else -1", "start = read_integer(words[0]) if words else 1"), "without words it is not used"),
    Equivalent("miniredis/engine/commands/drawing.py", "if count >= 0:", ("if count > 0:",), "no members are drawn either way"),
    Equivalent("miniredis/engine/commands/server/modules.py", 'raise CommandError(errors.not_allowed(b"module", DIRECTIVE))', ("pass",), "the directive has the request refused before"),
)  # fmt: skip

_ONLY: Final = re.compile(r"(check\(\[\w+\]\))\[0\]")
"""The first of one reply."""

_REASONS: Final = {(row.file, row.line, new): row.reason for row in EQUIVALENT for new in row.becomes}


def reason_of(mutant: Mutant) -> str | None:
    """Why a change makes no difference; None if it is not listed."""
    before, after = mutant.changed()
    if _ONLY.sub(r"\1[-1]", before) == after:
        return _REPLY
    return _REASONS.get((mutant.file, before, after))
