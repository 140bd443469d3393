"""Clients whose plain batches are wrong; where they may run scripts nobody would see it.

Those that have the same guilt in a script are in ``scripts``.
"""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["BATCHES"]

BATCHES: Final = (
    Mutant(
        "keeps its role when it fails",
        "pressure/protocol/roles.py",
        "*(free if hold.claimed else free[-1:])",
        "*free[:1]",
        (
            "put.gives-up",
            "get.gives-up",
            "put-nowait.full",
            "decided.role-back-on-error",
            "decided.closed-again",
        ),
        client="plain",
    ),
    Mutant(
        "leaves two tokens, as the first document's pseudocode does",
        "pressure/protocol/role.py",
        '(b"LTRIM", ctx.keys.not_full, 0, 0)',
        '(b"LTRIM", ctx.keys.not_full, 0, 1)',
        ("put.trims-not-full", "decided.foreign-tokens"),
        client="plain",
    ),
    Mutant(
        "passes the bound by one",
        "pressure/protocol/put.py",
        "room = bound == 0 or done[0] < bound",
        "room = bound == 0 or done[0] <= bound",
        ("put.leaves-full", "queue.synchronized", "queue.bounded", "decided.bound-and-one"),
        client="plain",
    ),
    Mutant(
        "does not count messages",
        "pressure/protocol/put.py",
        '(b"INCRBY", keys.produced_messages, len(values))',
        '(b"EXISTS", keys.produced_messages)',
        ("put.counts-message", "queue.exclusive"),
        client="plain",
    ),
    Mutant(
        "counts characters it did not send",
        "pressure/protocol/put.py",
        '(b"INCRBY", keys.produced_bytes, sum(map(len, values)))',
        '(b"INCRBY", keys.produced_bytes, sum(map(len, values)) + 1)',
        ("put.counts-bytes", "put-nowait.counts-bytes", "decided.stats-names"),
        client="plain",
    ),
    Mutant(
        "pushes at the wrong end",
        "pressure/protocol/put.py",
        '(b"LPUSH", keys.queue, *values)',
        '(b"RPUSH", keys.queue, *values)',
        ("put.pushes-left", "keys.left-in-right-out", "queue.fifo", "history.fifo", "history.killed-clients"),
        client="plain",
    ),
    Mutant(
        "skips the token when it over-fills",
        "pressure/protocol/put.py",
        "    if not hold.token and not overfill:\n",
        "    if overfill and hold.token:\n"
        "        yield Batch(refill(ctx))\n"
        "        hold.token = False\n"
        "    if not hold.token and not overfill:\n",
        ("decided.overfill-takes-token",),
        client="plain",
    ),
    Mutant(
        "looks whether the queue is closed only when it has the role",
        "pressure/protocol/put.py",
        "(pop,), checks, refuse_closed=True)",
        "(pop,), checks)",
        ("decided.closed-first",),
        client="plain",
    ),
    Mutant(
        "marks a close once",
        "pressure/protocol/put.py",
        '(b"LPUSH", keys.closed, 0, 0)',
        '(b"LPUSH", keys.closed, 0)',
        ("close.marks-twice",),
        client="plain",
    ),
    Mutant(
        "refills though the queue is over-full",
        "pressure/protocol/get.py",
        "room = limit == 0 or length < limit",
        "room = True",
        ("get.over-full", "decided.drains-to-bound"),
        client="plain",
    ),
    Mutant(
        "keeps the token when it fails",
        "pressure/protocol/role.py",
        "return refill(ctx) if hold.token else ()",
        "return ()",
        ("decided.token-back-on-error",),
        client="plain",
    ),
    Mutant(
        "does not notice that the queue is deleted while it puts",
        "pressure/protocol/put.py",
        "return (*is_ours(ctx, hold, keys.bound), *checks)",
        "return (*is_ours(ctx, hold), *checks)",
        ("decided.deleted-meanwhile",),
        client="plain",
    ),
    Mutant(
        "makes room before a message is done with",
        "pressure/protocol/receiving.py",
        '(b"LLEN", keys.unacked),\n        _take(ctx)',
        '(b"LPUSH", keys.not_full, 0),\n        _take(ctx)',
        ("decided.reliable-done",),
        client="plain",
    ),
    Mutant(
        "puts messages back at the wrong end",
        "pressure/protocol/role.py",
        'return (b"LMOVE", ctx.keys.unacked, ctx.keys.queue, b"LEFT", b"RIGHT")',
        'return (b"LMOVE", ctx.keys.unacked, ctx.keys.queue, b"LEFT", b"LEFT")',
        ("decided.reliable-put-back", "decided.reliable-orphans", "decided.reliable-repaired"),
        client="plain",
    ),
    Mutant(
        "lets other producers in between its values",
        "pressure/protocol/put.py",
        "    last = progress.stored + len(values) == len(progress.values)\n",
        "    progress.values = progress.values[: progress.stored + len(values)]\n    last = True\n",
        ("decided.many", "history.exclusive", "history.bound"),
        client="plain",
    ),
)
