"""Clients that are wrong in one clause of the pressure protocol: ``pressure`` with one small change each."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["PROTOCOL"]

ARGUMENTS: Final = "pressure/connections/arguments.py"
KEYS: Final = "pressure/keys.py"
IDENTITY: Final = "pressure/connections/identity.py"
LIFECYCLE: Final = "pressure/protocol/lifecycle.py"
PUT: Final = "pressure/protocol/put.py"
GET: Final = "pressure/protocol/get.py"
ROLES: Final = "pressure/protocol/roles.py"
WAITS: Final = "pressure/protocol/waits.py"
LUA: Final = "pressure/protocol/lua.py"

PROTOCOL: Final = (
    # Brokers, clients and keys
    Mutant("takes another port", ARGUMENTS, '_or_environ(_port, port, env_port, "REDIS_PORT", 6379)', '_or_environ(_port, port and 1, env_port, "REDIS_PORT", 6379)', ("broker.host-and-port",)),
    Mutant("takes no database", ARGUMENTS, '_or_environ(_database, db, environ.get("REDIS_DB"), "REDIS_DB", 0)', '_or_environ(_database, None, environ.get("REDIS_DB"), "REDIS_DB", 0)', ("broker.database",)),
    Mutant("has a host of its own where none is given", ARGUMENTS, 'env_host, "127.0.0.1")', 'env_host, "127.0.0.2")', ("broker.default-host-and-database",)),
    Mutant("has a port of its own where none is given", ARGUMENTS, '"REDIS_PORT", 6379)', '"REDIS_PORT", 6380)', ("broker.default-port",)),
    Mutant("writes a dot between prefix and name", KEYS, '        root = prefix + b":" + name\n', '        root = prefix + b"." + name\n', ("broker.prefix",)),
    Mutant("has a prefix of its own where none is given", KEYS, 'b"__pressure__"', 'b"pressure"', ("broker.default-prefix",)),
    Mutant("reads no prefix from the environment", ARGUMENTS, '    env_prefix = os.fsencode(environ.get("PRESSURE_PREFIX", "")) or None\n', "    env_prefix = None\n", ("broker.environment",)),
    Mutant("reads no port of Kubernetes", ARGUMENTS, '    if port.startswith("tcp://"):\n', '    if port.startswith("udp://"):\n', ("decided.kubernetes-port",)),
    Mutant("lets the environment win over the arguments", ARGUMENTS, "_first(prefix, env_prefix, DEFAULT_PREFIX)", "_first(env_prefix, prefix, DEFAULT_PREFIX)", ("decided.arguments-win",)),
    Mutant("fails without a server by an error of another kind", "pressure/errors.py", "class ConnectionFailedError(PressureError, ConnectionError)", "class ConnectionFailedError(ConnectionError)", ("broker.down",)),
    Mutant("takes a full queue for no error that it knows", "pressure/errors.py", "class QueueFullError(PressureError, queue.Full)", "class QueueFullError(PressureError)", ("decided.standard-errors",)),
    Mutant("changes its identifier from hold to hold", IDENTITY, "    return hold_id + _RELEASED\n", '    return hold_id.rpartition(b"/")[2] + b"/" + hold_id + _RELEASED\n', ("client.identifier",), "plain"),
    Mutant("shares its identifier with all others", IDENTITY, "    return hold_id + _RELEASED\n", '    return b"me/1" + _RELEASED\n', ("client.identifiers-differ",), "plain"),
    Mutant("has an identifier that nobody can read", IDENTITY, '_RELEASED: Final = b"/released"', '_RELEASED: Final = b"/\\x01released"', ("client.identifier-readable",), "plain"),
    Mutant("leaves a key of its own", PUT, '        (b"LPUSH", keys.queue, *values),\n', '        (b"LPUSH", keys.queue, *values),\n        (b"SET", keys.queue + b":last", 1),\n', ("keys.twelve",), "plain"),
    Mutant("leaves out letters that are not ASCII", KEYS, 'text.encode("utf-8", "surrogateescape")', 'text.encode("ascii", "ignore")', ("keys.any-name",)),
    Mutant("leaves out white space around a name", KEYS, "    if isinstance(text, bytes):\n        return text\n", "    if isinstance(text, bytes):\n        return text.strip()\n", ("decided.name-bytes",)),
    # Create, and the looks
    Mutant("creates what is there", LIFECYCLE, "        if taken := [key for key, count in zip(present, counts, strict=True) if count]:\n", "        if taken := [key for key, count in zip(present, counts, strict=True) if count < 0]:\n", ("create.refuses-existing", "decided.create-reserved")),
    Mutant("creates a queue whose keys are another's", LIFECYCLE, "    present = (*keys.twelve, *keys.neighbours())\n", "    present = keys.twelve\n", ("decided.create-reserved",)),
    Mutant("saves no large bound", LIFECYCLE, '(b"SET", keys.bound, bound)', '(b"SET", keys.bound, min(bound, 9999))', ("create.saves-bound",)),
    Mutant("has a bound of its own where none is given", "pressure/methods/lifecycle.py", "def create(self, bound: int = 0,", "def create(self, bound: int = 7,", ("create.default-bound",)),
    Mutant("takes a bound that is no number", "pressure/methods/lifecycle.py", "        if not isinstance(bound, int) or isinstance(bound, bool) or not 0 <= bound < 1 << 63:\n", "        if not isinstance(bound, int) or not 0 <= bound < 1 << 63:\n", ("decided.bound-is-a-number",)),
    Mutant("begins with two consumers' elements", LIFECYCLE, "for key in (keys.producer_free, keys.consumer_free, keys.not_full))", "for key in (keys.producer_free, *[keys.consumer_free] * 2, keys.not_full))", ("create.fills-roles",)),
    Mutant("begins with a queue that looks full", LIFECYCLE, "for key in (keys.producer_free, keys.consumer_free, keys.not_full))", "for key in (keys.producer_free, keys.consumer_free))", ("create.fills-not-full",)),
    Mutant("begins with a message counted", LIFECYCLE, '(b"SET", keys.bound, bound), *_fresh(ctx))', '(b"SET", keys.bound, bound), *_fresh(ctx), (b"SET", keys.produced_messages, 1))', ("create.starts-open",)),
    Mutant("takes a queue for one that exists as it has values", LIFECYCLE, '((b"EXISTS", ctx.keys.bound),)', '((b"EXISTS", ctx.keys.bound, ctx.keys.queue),)', ("exists.by-bound",)),
    Mutant("counts what does not exist", LIFECYCLE, "    count, _ = yield from length_and_bound(ctx)\n", '    (count,) = check((yield Batch(((b"LLEN", ctx.keys.queue),))))\n', ("length.needs-queue",)),
    Mutant("counts to two", LIFECYCLE, "    count, _ = yield from length_and_bound(ctx)\n    return count\n", "    count, _ = yield from length_and_bound(ctx)\n    return min(count, 2)\n", ("length.counts",)),
    Mutant("takes what does not exist for open", LIFECYCLE, "    if not found:\n        raise does_not_exist(ctx)\n    return bool(marked)\n", "    return bool(marked)\n", ("closed.needs-queue",)),
    Mutant("needs two marks to see a close", LIFECYCLE, '    return bool(marked)\n\n\ndef _open(ctx: Context) -> tuple[Command, Command]:\n    return (b"EXISTS", ctx.keys.bound), (b"EXISTS", ctx.keys.closed)\n', '    return marked > 1\n\n\ndef _open(ctx: Context) -> tuple[Command, Command]:\n    return (b"EXISTS", ctx.keys.bound), (b"LLEN", ctx.keys.closed)\n', ("closed.by-marks",)),
    Mutant("frees a role when it counts", LIFECYCLE, '    bound, count = check((yield Batch(((b"GET", ctx.keys.bound), (b"LLEN", ctx.keys.queue)))))\n', '    work = ((b"GET", ctx.keys.bound), (b"LLEN", ctx.keys.queue), (b"LPUSH", ctx.keys.consumer_free, 0))\n    bound, count, _ = check((yield Batch(work)))\n', ("looks.take-no-role",)),
    # Put
    Mutant("calls a queue that does not exist one in use", ROLES, "        if not exists:\n            raise does_not_exist(ctx)\n", "        if not exists:\n            raise in_use(ctx, role, before)\n", ("use.needs-create", "put.needs-queue", "get.needs-queue", "close.needs-queue", "put-nowait.needs-queue", "get-nowait.needs-queue"), "plain"),
    Mutant("goes on without its role", ROLES, "        hold.held = popped is not None and not isinstance(popped, ServerReplyError)\n", "        hold.held = not isinstance(popped, ServerReplyError)\n", ("put.waits-for-role", "get.waits-for-role", "close.waits-for-role", "put-nowait.role-taken", "get-nowait.role-taken"), "plain"),
    Mutant("tries once where it has a timeout", ROLES, "        seconds = 0.0 if healed else next(attempts, None)\n", '        seconds = 0.0 if healed else next(attempts, None) if deadline.at in (None, float("inf")) else None\n', ("put.keeps-trying", "get.keeps-trying"), "plain"),
    Mutant("leaves its role where it is while it waits", LUA, "  if not held then call('RPOP', free) end\n", "  if not held then call('LLEN', free) end\n", ("put.takes-role", "get.takes-role")),
    Mutant("has a script that names no producer", LUA, "  say(call, keep and me or mark)\n", "", ("put.names-producer", "put-nowait.names-producer", "decided.producer-is-producer")),
    Mutant("gives up at once where there is no room", WAITS, '        (b"EXISTS", keys.closing),\n    )\n    for seconds in deadline.attempts():\n', '        (b"EXISTS", keys.closing),\n    )\n    for seconds in (0.0,):\n', ("put.waits-for-room", "get.wakes-producer"), "plain"),
    Mutant("puts no token back below the bound", PUT, "(*store, *refill(ctx))", "(*store, *(() if bound else refill(ctx)))", ("put.refills-below-bound", "put-nowait.refills", "decided.one-token"), "plain"),
    Mutant("puts no token back where there is no bound", PUT, "(*store, *refill(ctx))", "(*store, *(refill(ctx) if bound else ()))", ("put.refills-without-bound", "put-nowait.refills"), "plain"),
    Mutant("keeps its role when it has put", PUT, "finish(ctx, hold, (*store, *refill(ctx)))", "keep_role(ctx, hold, (*store, *refill(ctx)))", ("put.gives-role-back",), "plain"),
    Mutant("waits for room where it is to over-fill", PUT, "    if not hold.token and not overfill:\n", "    if not hold.token:\n", ("put.overfills",), "plain"),
    Mutant("does not fill a queue where it does not wait", LUA, "  if room == 0 and not keep then return 'full' end\n", "  if (room == 0 or not wait and limit == length + 1) and not keep then return 'full' end\n", ("put-nowait.puts",)),
    # Get
    Mutant("has a script that names no consumer", LUA, "  uncounted = say(try, mark) or uncounted\n  return 'ok'\n", "  return 'ok'\n", ("get.names-consumer", "get-nowait.names-consumer")),
    Mutant("gives up at once where there is no value", WAITS, "    for seconds in deadline.attempts():\n        replies = yield attempt((keys.queue", "    for seconds in (0.0,):\n        replies = yield attempt((keys.queue", ("get.waits-for-value", "get.wakes-at-close"), "plain"),
    Mutant("hears of no close while it waits", WAITS, "attempts():\n        replies = yield attempt((keys.queue, keys.closed),", "attempts():\n        replies = yield attempt((keys.queue,),", ("get.wakes-at-close",), "plain"),
    Mutant("puts a token back where there is no bound only", GET, "        room = limit == 0 or length < limit\n", "        room = limit == 0\n", ("get.refills", "get-nowait.refills", "get.wakes-producer"), "plain"),
    Mutant("counts messages for bytes", GET, '(b"INCRBY", keys.consumed_bytes, size)', '(b"INCRBY", keys.consumed_bytes, number)', ("get.counts-bytes", "get-nowait.counts-bytes"), "plain"),
    Mutant("frees its role twice when it has got", GET, "finish_or_refusal(ctx, hold, effects(ctx, *seen))", 'finish_or_refusal(ctx, hold, (*effects(ctx, *seen), (b"LPUSH", ctx.keys.consumer_free, 0)))', ("get.gives-role-back",), "plain"),
    Mutant("loses what is left in a closed queue", GET, "    if isinstance(value, bytes):\n", "    if not closed and isinstance(value, bytes):\n", ("get.drains-closed",), "plain"),
    Mutant("does not get the last value where it does not wait", LUA, "  elseif bound and most > 0 then\n", "  elseif bound and most > 0 and (wait or length > 1) then\n", ("get-nowait.gets",)),
    Mutant("calls a closed queue empty where it does not wait", LUA, "    if is_closed then return 'closed' end\n    if wait", "    if is_closed and wait then return 'closed' end\n    if wait", ("get-nowait.closed",)),
    Mutant("calls an empty queue closed", WAITS, '    raise QueueEmptyError(f"queue {keys} is empty")\n', "    raise is_closed(ctx, CONSUMER)\n", ("decided.empty-is-an-error", "get.gives-up"), "plain"),
    Mutant("puts a token back where it read nothing", GET, "    popped = yield from wait_for_value(ctx, hold, deadline)\n", '    yield Batch(((b"LPUSH", keys.not_full, 0),))\n    popped = yield from wait_for_value(ctx, hold, deadline)\n', ("decided.nothing-read",), "plain"),
    Mutant("takes a mark along when it finds a queue closed", GET, "    if closed:\n        raise is_closed(ctx, CONSUMER)\n", '    if closed:\n        yield Batch(((b"RPOP", keys.closed),))\n        raise is_closed(ctx, CONSUMER)\n', ("close.is-for-ever",), "plain"),
    # Close
    Mutant("has a script that closes and names nobody", LUA, "  say(call, mark)\n  if is_closed", "  if is_closed", ("close.names-producer",)),
    Mutant("closes again what is closed", PUT, "    if closed:\n        raise is_closed_already(ctx)\n", "", ("close.once", "decided.close-twice"), "plain"),
    Mutant("keeps its role when it cannot close", PUT, "    if closed:\n        raise is_closed_already(ctx)\n", "    if closed:\n        hold.held = False\n        raise is_closed_already(ctx)\n", ("decided.close-twice",), "plain"),
    Mutant("keeps its role when it has closed", PUT, 'finish(ctx, hold, ((b"LPUSH", keys.closed, 0, 0),))', 'keep_role(ctx, hold, ((b"LPUSH", keys.closed, 0, 0),))', ("close.gives-role-back",), "plain"),
    Mutant("takes the marks along when it waits for a close", LIFECYCLE, 'blocking(b"BRPOPLPUSH", marks, marks, ', 'blocking(b"BRPOP", marks, ', ("decided.wait-closed",)),
    Mutant("says that a queue was closed when its time is over", LIFECYCLE, "        if not seconds:\n            return (yield from closed(ctx))\n", "        if not seconds:\n            return True\n", ("decided.wait-closed-times-out",)),
    # Delete
    Mutant("deletes what does not exist", LIFECYCLE, "        if not replies[-1]:\n", "        if replies[-1] < 0:\n", ("delete.needs-queue",)),
    Mutant("deletes nothing that is closed", LIFECYCLE, "        if not replies[-1]:\n", '        if not replies[-1] or check((yield Batch(((b"EXISTS", keys.closed),))))[0]:\n', ("queue.paradigm", "delete.leaves-nothing", "delete.then-create")),
    Mutant("deletes the bound last", LIFECYCLE, '        (b"DEL", keys.bound),\n', '        (b"EXISTS", keys.bound),\n', ("delete.hides-first",)),
    Mutant("deletes the consumer's keys before the producer's", LIFECYCLE, "        for role in ROLES:\n", "        for role in reversed(ROLES):\n", ("delete.in-order",)),
    Mutant("does not wait for the roles of what it deletes", LIFECYCLE, "    while popped is None and not exists and absent < ctx.slice:\n", "    while popped is None and not exists and absent < 0:\n", ("delete.waits-for-roles",)),
    Mutant("calls a deleted queue closed where it waits for room", WAITS, "        limit = bound_of(ctx, bound)\n        if hold.token:\n", "        if bound is None:\n            raise is_closed(ctx, hold.role)\n        limit = bound_of(ctx, bound)\n        if hold.token:\n", ("delete.wakes-producer",), "plain"),
    Mutant("calls a deleted queue closed where it waits for a value", WAITS, "    if bound is None:  # Delete pushed the mark to wake this client; it removes ``:closed`` itself\n        raise does_not_exist(ctx)\n", "    if bound is None:\n        raise is_closed(ctx, CONSUMER)\n", ("delete.wakes-consumer",), "plain"),
    Mutant("leaves a counter when it deletes", LIFECYCLE, 'unless_created(ctx, ((b"DEL", *ctx.keys.deleted),))', 'unless_created(ctx, ((b"DEL", *(each for each in ctx.keys.deleted if each != ctx.keys.produced_messages)),))', ("delete.then-create", "delete.leaves-nothing")),
    Mutant("does not say who holds the role", LIFECYCLE, "raise in_use(ctx, role, held_by)", "raise in_use(ctx, role, None)", ("decided.delete-interrupted",)),
    # Repair, and reliable get
    Mutant("frees no role that nobody is named for", "pressure/protocol/repair.py", "    if why is not None:\n        found.left.append(f\"did not free", "    if why is not None or holder is None:\n        found.left.append(f\"did not free", ("decided.repair-forced",)),
    Mutant("hears of no close while it waits to receive", "pressure/protocol/receiving.py", "        if closed:\n            return (yield from _last_look(ctx, hold))\n", "", ("decided.reliable-close",)),
    Mutant("has a script free the role of what it receives", LUA, "  if reliable then\n    keep = true\n", "  if reliable then\n    keep = false\n", ("decided.reliable-unseen",)),
    Mutant("leaves the messages of reliable gets when it deletes the queue", LIFECYCLE, 'unless_created(ctx, ((b"DEL", *ctx.keys.deleted),))', 'unless_created(ctx, ((b"DEL", *ctx.keys.twelve),))', ("decided.reliable-unseen",)),
)  # fmt: skip
