"""Clients that are wrong whether they run scripts or not: ``pressure`` with one small change each."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["CLIENTS"]

CLIENTS: Final = (
    Mutant(
        "does not tell what it could not count",
        "pressure/protocol/scripts.py",
        "    refused = answer.stuck or answer.uncounted\n",
        "    refused = answer.stuck\n",
        ("decided.refused",),
    ),
    Mutant(
        "keeps rejected messages in the wrong order",
        "pressure/protocol/lua.py",
        "call('LMOVE', KEYS[9], KEYS[10], 'RIGHT', 'LEFT')",
        "call('LMOVE', KEYS[9], KEYS[10], 'RIGHT', 'RIGHT')",
        ("decided.rejected",),
    ),
    Mutant(
        "frees no role that a dead client holds",
        "pressure/protocol/healing.py",
        "    if not ctx.heal:\n",
        "    if ctx.heal:\n",
        ("decided.heals",),
    ),
    Mutant(
        "holds a role for ever in spite of its lease",
        "pressure/protocol/lua.py",
        "if what == mark or lease == '0' then",
        "if true then",
        ("decided.lease",),
    ),
    Mutant(
        "shows the values that wait in the wrong order",
        "pressure/protocol/queries.py",
        "return values[::-1]",
        "return values",
        ("decided.looks",),
    ),
    Mutant(
        "takes a counter that is no number for one of 0",
        "pressure/protocol/numbers.py",
        "number >= 0 else None",
        "number >= 0 else 0",
        ("decided.malformed", "decided.repair-corrects"),
    ),
    Mutant(
        "repairs one message where a dead consumer left several",
        "pressure/protocol/repair.py",
        "keys.unacked, lambda count: (put_back(ctx),) * count)",
        "keys.unacked, lambda count: (put_back(ctx),) * min(count, 1))",
        ("decided.repair-corrects",),
    ),
    Mutant(
        "eats the mark that woke it",
        "pressure/protocol/waits.py",
        '(b"LPUSH", keys.closed, mark)',
        '(b"EXISTS", keys.closed)',
        ("decided.mark-goes-back",),
    ),
    Mutant(
        "loses a value to a close",
        "pressure/protocol/waits.py",
        "pushed, value, *size = replies\n",
        "pushed, _, *size = replies\n    value = None\n",
        ("decided.item-before-close",),
    ),
    Mutant(
        "waits where it must not",
        "pressure/protocol/operation.py",
        'float("inf") if block else None',
        'float("inf")',
        ("get-nowait.empty",),
    ),
    Mutant(
        "waits for ever for a role that Delete removed",
        "pressure/protocol/roles.py",
        "        if not exists:\n",
        "        if not exists and popped is not None:\n",
        ("decided.role-wait-ends",),
    ),
    Mutant(
        "forgets a key when it deletes",
        "pressure/protocol/lifecycle.py",
        'unless_created(ctx, ((b"DEL", *ctx.keys.deleted),))',
        'unless_created(ctx, ((b"DEL", *ctx.keys.deleted[:-7]),))',
        ("delete.leaves-nothing",),
    ),
    Mutant(
        "wakes nobody who waits for a close when it deletes",
        "pressure/protocol/lifecycle.py",
        '        (b"LPUSH", keys.closed, 0, 0),\n',
        '        (b"EXISTS", keys.closed),\n',
        ("delete.marks-twice",),
    ),
    Mutant(
        "wakes nobody who waits for room when it deletes",
        "pressure/protocol/lifecycle.py",
        '        (b"LPUSH", keys.not_full, 0),\n',
        '        (b"EXISTS", keys.not_full),\n',
        ("delete.fills-not-full", "decided.textbook-first"),
    ),
    Mutant(
        "wakes nobody at all when it deletes",
        "pressure/protocol/lifecycle.py",
        '        (b"LPUSH", keys.not_full, 0),\n        (b"LPUSH", keys.closed, 0, 0),\n',
        "",
        ("decided.textbook",),
    ),
    Mutant(
        "has a deadline for each of its waits",
        "pressure/protocol/operation.py",
        "        while (left := self.at - clock()) > SHORTEST_WAIT:\n",
        '        own = self.at if self.at == float("inf") else clock() + 0.6\n'
        "        while (left := own - clock()) > SHORTEST_WAIT:\n",
        ("decided.one-deadline",),
    ),
    Mutant(
        "takes the wrong end after a wait",
        "pressure/protocol/commands.py",
        'return blocking(b"BRPOP"',
        'return blocking(b"BLPOP"',
        ("get.pops-right", "decided.item-before-close"),
    ),
    Mutant(
        "does not notice who else creates the queue",
        "pressure/protocol/lifecycle.py",
        '(b"WATCH", *present)',
        '(b"EXISTS", *present)',
        ("decided.create-atomic",),
    ),
    Mutant(
        "tries again when the connection is lost",
        "pressure/sync/driver.py",
        "            except NotDoneError:\n                if not self.accept_end():\n                    raise\n",
        "            except LOST:\n                pass\n",
        ("decided.lost-connection",),
    ),
    Mutant(
        "frees a role that somebody may hold",
        "pressure/protocol/repair.py",
        "why = None if force else sign_of_life(role, first, last, ctx.holds)",
        "why = None",
        ("decided.repair-spares",),
    ),
    Mutant(
        "acknowledges what was not done with",
        "pressure/methods/receiving.py",
        "outcome = Settlement.ACKNOWLEDGED if error is None else Settlement.REQUEUED",
        "outcome = Settlement.ACKNOWLEDGED",
        ("decided.reliable-put-back", "history.no-loss"),
    ),
    Mutant(
        "takes nothing for a token but its own",
        "pressure/protocol/waits.py",
        "hold.token = token is not None and not",
        'hold.token = token is not None and token[-1] == b"0" and not',
        ("decided.textbook-moves",),
    ),
)
