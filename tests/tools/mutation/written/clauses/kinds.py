"""Queues of other kinds that are wrong: ``pressure.kinds`` with one small change each."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["KINDS"]

KINDS: Final = (
    Mutant(
        "completes without removing",
        "pressure/kinds/backup/operations.py",
        'together((b"LREM", keys.processing, 1, item), ',
        'together((b"LLEN", keys.processing), ',
        ("backup.complete", "backup.by-hand", "backup.envelope"),
    ),
    Mutant(
        "loses an item between two commands of a claim",
        "pressure/kinds/backup/operations.py",
        "    item = yield from eval_script(ctx.server, CLAIM, keys.all)\n",
        '    (item,) = yield from execute((b"RPOP", keys.pending))\n'
        "    if item is not None:\n"
        '        yield from execute((b"LPUSH", keys.processing, item))\n',
        ("backup.never-lost",),
    ),
    Mutant(
        "puts back what stays in progress, so that it goes back twice",
        "pressure/kinds/backup/lua.py",
        "    redis.call('LPOP', processing)\n",
        "    redis.call('LMOVE', processing, processing, 'LEFT', 'RIGHT')\n",
        ("backup.reaper", "backup.once", "backup.never-lost"),
    ),
    Mutant(
        "puts back behind all that waits",
        "pressure/kinds/backup/lua.py",
        "redis.call('RPUSH', pending, item)",
        "redis.call('LPUSH', pending, item)",
        ("backup.front",),
    ),
    Mutant(
        "forgets what has no time",
        "pressure/kinds/backup/lua.py",
        "if not since then redis.call('ZADD', claims, now, item) end",
        "since = since or now",
        ("backup.first-sight",),
    ),
    Mutant(
        "frees a lock without looking at its token",
        "pressure/kinds/ring/lua.py",
        "if ours then redis.call('DEL', lock) end",
        "redis.call('DEL', lock)",
        ("ring.token",),
    ),
    Mutant(
        "takes a lock that is taken",
        "pressure/kinds/ring/lua.py",
        "token, 'NX', 'PX', ttl",
        "token, 'PX', ttl",
        ("ring.locked", "ring.round"),
    ),
    Mutant(
        "locks for ever",
        "pressure/kinds/ring/lua.py",
        "token, 'NX', 'PX', ttl",
        "token, 'NX'",
        ("ring.claim", "ring.expires"),
    ),
    Mutant(
        "says nothing of a lock that expired",
        "pressure/kinds/ring/__init__.py",
        "        if not ours:\n",
        "        if not removed:\n",
        ("ring.late",),
    ),
    Mutant(
        "acknowledges before it is done",
        "pressure/kinds/reliable/worker.py",
        "    ids = [message.id]\n",
        "    ids = [message.id]\n    yield operations.ack(ids)\n",
        ("reliable.worker",),
    ),
    Mutant(
        "acknowledges what failed",
        "pressure/kinds/reliable/__init__.py",
        "lambda message, error: None if error else self._taken(message)",
        "lambda message, error: self._taken(message)",
        ("reliable.worker",),
    ),
    Mutant(
        "acknowledges all but the first",
        "pressure/kinds/reliable/lua.py",
        "for at = 2, #ARGV do",
        "for at = 3, #ARGV do",
        ("reliable.ack", "reliable.ack-tells"),
    ),
    Mutant(
        "asks the last of several queues first",
        "pressure/kinds/reliable/consuming.py",
        "queues = (self, *others)",
        "queues = (*others, self)",
        ("reliable.several",),
    ),
    Mutant(
        "forgets how often a message was delivered",
        "pressure/kinds/reliable/operations.py",
        "    rest = rest_of(message.data, message.deliveries, retried(message))\n",
        "    rest = rest_of(message.data, 0, retried(message))\n",
        ("reliable.retry",),
    ),
    Mutant(
        "lets what is due wait behind all others",
        "pressure/kinds/reliable/lua.py",
        "read_due(share)\n",
        "share = 0\n",
        ("reliable.due",),
    ),
    Mutant(
        "lets all others wait behind what is due",
        "pressure/kinds/reliable/lua.py",
        "read_due(share)\n",
        "read_due(most)\n",
        ("reliable.due-starves-none",),
    ),
    Mutant(
        "deletes what another group has not acknowledged",
        "pressure/kinds/reliable/lua.py",
        "if is_done(id) then redis.call('XDEL', queue, id) end",
        "redis.call('XDEL', queue, id)",
        ("reliable.groups",),
    ),
    Mutant(
        "does not look at what kind the keys are of",
        "pressure/kinds/kind_check.py",
        "    if found is None or found[0] == kind_check.kind:\n",
        "    if True:\n",
        ("kinds.apart",),
    ),
    Mutant(
        "pushes at the wrong end of a backup queue",
        "pressure/kinds/backup/operations.py",
        '(b"LPUSH", keys.pending, *items) if items',
        '(b"RPUSH", keys.pending, *items) if items',
        ("backup.push",),
    ),
    Mutant(
        "claims what it leaves where it is",
        "pressure/kinds/backup/lua.py",
        "redis.call('LMOVE', pending, processing, 'RIGHT', 'LEFT')",
        "redis.call('LMOVE', pending, pending, 'RIGHT', 'LEFT')",
        ("backup.claim",),
    ),
    Mutant(
        "completes what failed",
        "pressure/kinds/backup/__init__.py",
        "lambda item, error: None if error else self._complete(item)",
        "lambda item, error: self._complete(item)",
        ("backup.left",),
    ),
    Mutant(
        "keeps times of what is not in progress",
        "pressure/kinds/backup/lua.py",
        "if known[item] == false then at = at + 1 else redis.call('ZREM', claims, item) end",
        "at = at + 1",
        ("backup.raw", "backup.reaper"),
    ),
    Mutant(
        "records no time after a wait",
        "pressure/kinds/backup/operations.py",
        "            yield _timed(keys, item, time)\n            return item\n",
        "            return item\n",
        ("backup.waits",),
    ),
    Mutant(
        "completes what is not in progress",
        "pressure/kinds/backup/operations.py",
        '(b"ZREM", keys.claims, item))\n    return bool(removed)\n',
        '(b"ZREM", keys.claims, item))\n    return True or removed\n',
        ("backup.late", "backup.by-hand"),
    ),
    Mutant(
        "keeps one item more than it may",
        "pressure/kinds/backup/operations.py",
        '(b"LTRIM", keys.pending, 0, maxlen - 1)',
        '(b"LTRIM", keys.pending, 0, maxlen)',
        ("backup.caps",),
    ),
    Mutant(
        "pushes at the wrong end of a ring",
        "pressure/kinds/ring/operations.py",
        '(b"LPUSH", ctx.keys.main, *items)',
        '(b"RPUSH", ctx.keys.main, *items)',
        ("ring.push",),
    ),
    Mutant(
        "keeps the lock of what it completed",
        "pressure/kinds/ring/lua.py",
        "if ours then redis.call('DEL', lock) end\n",
        "",
        ("ring.complete",),
    ),
    Mutant(
        "loses an item between two commands of a turn",
        "pressure/kinds/ring/operations.py",
        "    item = yield from eval_script(ctx.server, CLAIM, (ctx.keys.main,), locks, token, ttl, 0 if walk else 1)\n",
        '    (item,) = yield from execute((b"RPOP", ctx.keys.main))\n'
        "    if item is not None:\n"
        '        yield from execute((b"LPUSH", ctx.keys.main, item), (b"SET", locks + item, token, b"PX", ttl))\n',
        ("ring.stays",),
    ),
)
