"""Clients that are wrong: ``pressure`` with one small change each."""

from __future__ import annotations

from typing import Final

from .model import Guilty

__all__ = ["CLIENTS"]

CLIENTS: Final = (
    Guilty(
        "keeps its role when it fails",
        "pressure/protocol/roles.py",
        '(b"LPUSH", hold.role.free(ctx.keys), 0))',
        '(b"EXISTS", hold.role.free(ctx.keys)))',
        ("put.gives-up", "get.gives-up", "put-nowait.full", "decided.role-back-on-error"),
    ),
    Guilty(
        "leaves two tokens, as the first document's pseudocode does",
        "pressure/protocol/roles.py",
        '(b"LTRIM", ctx.keys.not_full, 0, 0)',
        '(b"LTRIM", ctx.keys.not_full, 0, 1)',
        ("put.trims-not-full", "decided.foreign-tokens"),
    ),
    Guilty(
        "passes the bound by one",
        "pressure/protocol/put.py",
        "room = done[0] < bound",
        "room = done[0] <= bound",
        ("put.leaves-full", "queue.synchronized"),
    ),
    Guilty(
        "does not count messages",
        "pressure/protocol/put.py",
        '(b"INCRBY", keys.produced_messages, len(values))',
        '(b"EXISTS", keys.produced_messages)',
        ("put.counts-message", "queue.exclusive"),
    ),
    Guilty(
        "counts characters it did not send",
        "pressure/protocol/put.py",
        '(b"INCRBY", keys.produced_bytes, sum(map(len, values)))',
        '(b"INCRBY", keys.produced_bytes, sum(map(len, values)) + 1)',
        ("put.counts-bytes", "decided.stats-names"),
    ),
    Guilty(
        "pushes at the wrong end",
        "pressure/protocol/put.py",
        '(b"LPUSH", keys.queue, *values)',
        '(b"RPUSH", keys.queue, *values)',
        ("put.pushes-left", "keys.left-in-right-out", "queue.fifo"),
    ),
    Guilty(
        "skips the token when it over-fills",
        "pressure/protocol/put.py",
        "    if not hold.token and not overfill:\n",
        "    if overfill and hold.token:\n"
        "        yield Batch(refill(ctx))\n"
        "        hold.token = False\n"
        "    if not hold.token and not overfill:\n",
        ("decided.overfill-takes-token",),
    ),
    Guilty(
        "looks whether the queue is closed only when it has the role",
        "pressure/protocol/put.py",
        "take_role(ctx, PRODUCER, patience, refuse_closed=True)",
        "take_role(ctx, PRODUCER, patience)",
        ("decided.closed-first",),
    ),
    Guilty(
        "marks a close once",
        "pressure/protocol/put.py",
        '(b"LPUSH", keys.closed, 0, 0)',
        '(b"LPUSH", keys.closed, 0)',
        ("close.marks-twice",),
    ),
    Guilty(
        "refills though the queue is over-full",
        "pressure/protocol/get.py",
        "room = bound == 0 or popped.length < bound",
        "room = True",
        ("get.over-full", "decided.drains-to-bound"),
    ),
    Guilty(
        "eats the mark that woke it",
        "pressure/protocol/waits.py",
        '(b"LPUSH", keys.closed, mark)',
        '(b"EXISTS", keys.closed)',
        ("decided.mark-goes-back",),
    ),
    Guilty(
        "loses a value to a close",
        "pressure/protocol/waits.py",
        "pushed, value = replies[:2]\n",
        "pushed, value = replies[0], None\n",
        ("decided.item-before-close",),
    ),
    Guilty(
        "waits where it must not",
        "pressure/protocol/steps.py",
        "return cls(context, None)",
        'return cls(context, float("inf"))',
        ("get-nowait.empty",),
    ),
    Guilty(
        "waits for ever for a role that Delete removed",
        "pressure/protocol/roles.py",
        "        if not exists:\n",
        "        if not exists and popped is not None:\n",
        ("decided.role-wait-ends",),
    ),
    Guilty(
        "forgets a key when it deletes",
        "pressure/protocol/lifecycle.py",
        'check((yield Batch(((b"DEL", *ctx.keys.all),))))',
        'check((yield Batch(((b"DEL", *ctx.keys.all[:-2]),))))',
        ("delete.leaves-nothing",),
    ),
    Guilty(
        "wakes nobody who waits for a close when it deletes",
        "pressure/protocol/lifecycle.py",
        '        (b"LPUSH", keys.closed, 0, 0),\n',
        '        (b"EXISTS", keys.closed),\n',
        ("delete.marks-twice", "decided.textbook"),
    ),
    Guilty(
        "wakes nobody who waits for room when it deletes",
        "pressure/protocol/lifecycle.py",
        '        (b"LPUSH", keys.not_full, 0),\n',
        '        (b"EXISTS", keys.not_full),\n',
        ("delete.fills-not-full", "decided.textbook"),
    ),
    Guilty(
        "keeps the token when it fails",
        "pressure/protocol/roles.py",
        "return refill(ctx) if hold.token else ()",
        "return ()",
        ("decided.token-back-on-error",),
    ),
    Guilty(
        "has a deadline for each of its waits",
        "pressure/protocol/steps.py",
        "        while (left := self.deadline - self.context.clock()) > SHORTEST_WAIT:\n",
        '        end = self.deadline if self.deadline == float("inf") else self.context.clock() + 0.6\n'
        "        while (left := end - self.context.clock()) > SHORTEST_WAIT:\n",
        ("decided.one-deadline",),
    ),
    Guilty(
        "takes the wrong end after a wait",
        "pressure/protocol/roles.py",
        'return blocking(b"BRPOP"',
        'return blocking(b"BLPOP"',
        ("get.pops-right", "decided.item-before-close"),
    ),
    Guilty(
        "does not notice who else creates the queue",
        "pressure/protocol/lifecycle.py",
        '(b"WATCH", *present)',
        '(b"EXISTS", *present)',
        ("decided.create-atomic",),
    ),
    Guilty(
        "does not notice that the queue is deleted while it puts",
        "pressure/protocol/put.py",
        '*claim(ctx, PRODUCER, keys.bound),\n            (b"EXISTS", keys.closed),\n            (b"RPOP"',
        '*claim(ctx, PRODUCER),\n            (b"EXISTS", keys.closed),\n            (b"RPOP"',
        ("decided.deleted-meanwhile",),
    ),
    Guilty(
        "tries again when the connection is lost",
        "pressure/driver.py",
        "                    replies = _carry_out(connection, course, step, interrupt)\n"
        "                except BaseException as error:\n",
        "                    replies = _carry_out(connection, course, step, interrupt)\n"
        "                except redis.ConnectionError:\n"
        "                    connection.disconnect()\n"
        "                    connection = self.connections.take()\n"
        "                    replies = _carry_out(connection, course, step, interrupt)\n"
        "                except BaseException as error:\n",
        ("decided.lost-connection",),
    ),
    Guilty(
        "frees a role that somebody may hold",
        "pressure/protocol/repair.py",
        "doubt = None if force else doubt_about(role, first, last)",
        "doubt = None",
        ("decided.repair-spares",),
    ),
    Guilty(
        "acknowledges what was not done with",
        "pressure/receiving.py",
        "return settle(self._context, error is None)",
        "return settle(self._context, True)",
        ("decided.reliable-put-back",),
    ),
    Guilty(
        "makes room before a message is done with",
        "pressure/protocol/reliable.py",
        "(said, put_back(ctx), left, _take(ctx), *looks)",
        '(said, put_back(ctx), (b"LPUSH", keys.not_full, 0), _take(ctx), *looks)',
        ("decided.reliable-done",),
    ),
    Guilty(
        "puts messages back at the wrong end",
        "pressure/protocol/roles.py",
        'return (b"LMOVE", ctx.keys.unacked, ctx.keys.queue, b"LEFT", b"RIGHT")',
        'return (b"LMOVE", ctx.keys.unacked, ctx.keys.queue, b"LEFT", b"LEFT")',
        ("decided.reliable-put-back", "decided.reliable-orphans", "decided.reliable-repaired"),
    ),
    Guilty(
        "lets other producers in between its values",
        "pressure/protocol/put.py",
        "    last = run.stored + len(values) == len(run.values)\n",
        "    run.values = run.values[: run.stored + len(values)]\n    last = True\n",
        ("decided.many",),
    ),
)
