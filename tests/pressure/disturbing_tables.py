"""The operations, situations and acts of other clients that ``disturbing`` plays; ``@`` is what the keys begin with."""

from __future__ import annotations

from typing import Any, Final

from pressure import protocol
from pressure.protocol import Context, Deadline, Settlement
from pressure.protocol.doctor import doctor, examine
from pressure.protocol.repair import repair

__all__ = [
    "ACKNOWLEDGES",
    "ACTS",
    "CHOSEN",
    "CONFINED",
    "MEANWHILE",
    "OPERATIONS",
    "PUTS",
    "ROLES",
    "SITUATIONS",
    "command",
]


ME: Final = b"me:1:00000000/1/1"


def patient(ctx: Context) -> Deadline:
    return Deadline.of(ctx, timeout=2.5)


def received(ctx: Context, outcome: Settlement) -> Any:
    got = yield from protocol.receive(ctx, patient(ctx))
    yield from protocol.settle(ctx, got.hold_id, outcome, len(got.value))


OPERATIONS: Final[dict[str, Any]] = {
    "put": lambda ctx: protocol.put(ctx, b"value", patient(ctx)),
    "put overfill": lambda ctx: protocol.put(ctx, b"value", patient(ctx), overfill=True),
    "put_many": lambda ctx: protocol.put_many(ctx, [b"1", b"22", b"333", b"4"], patient(ctx)),
    "put_many overfill": lambda ctx: protocol.put_many(
        ctx, [b"1", b"22", b"333"], patient(ctx), overfill=True
    ),
    "put_many at once": lambda ctx: protocol.put_many(
        ctx, [b"1", b"22", b"333"], Deadline.of(ctx, block=False)
    ),
    "get": lambda ctx: protocol.get(ctx, patient(ctx)),
    "get_many": lambda ctx: protocol.get_many(ctx, patient(ctx), 3),
    "close": lambda ctx: protocol.close(ctx, patient(ctx)),
    "delete": lambda ctx: protocol.delete(ctx, patient(ctx)),
    "create": lambda ctx: protocol.create(ctx, 3),
    "wait_closed": lambda ctx: protocol.wait_closed(ctx, patient(ctx)),
    "wait_closed at once": lambda ctx: protocol.wait_closed(ctx, Deadline.of(ctx, block=False)),
    "closed": lambda ctx: protocol.closed(ctx),
    "exists": lambda ctx: protocol.exists(ctx),
    "length": lambda ctx: protocol.length(ctx),
    "receive": lambda ctx: protocol.receive(ctx, patient(ctx)),
    "settle": lambda ctx: received(ctx, Settlement.ACKNOWLEDGED),
    "settle back": lambda ctx: received(ctx, Settlement.REQUEUED),
    "settle alone": lambda ctx: protocol.settle(ctx, ME, Settlement.REQUEUED, 5),
    "settle strict": lambda ctx: received(ctx, Settlement.ACKNOWLEDGED),
    "put strict": lambda ctx: protocol.put(ctx, b"value", patient(ctx)),
    "peek": lambda ctx: protocol.peek(ctx),
    "peek_many": lambda ctx: protocol.peek_many(ctx, 2),
    "holder": lambda ctx: protocol.holder(ctx, "consumer"),
    "stats": lambda ctx: protocol.stats(ctx),
    "renew": lambda ctx: protocol.renew(ctx, [ME]),
    "repair": lambda ctx: repair(ctx),
    "repair force": lambda ctx: repair(ctx, True),
    "repair consumer": lambda ctx: repair(ctx, only="consumer"),
    "examine": lambda ctx: examine([ctx, ctx]),
    "doctor": lambda ctx: doctor(ctx),
}

DEAD: Final = "dead:9:00000000/1/1"

SITUATIONS: Final[dict[str, tuple[str, ...]]] = {
    "gone": (),
    "empty": ("create 2",),
    "one": ("create 2", "put first"),
    "two": ("create 4", "put first 2nd"),
    "full": ("create 2", "put first 2nd"),
    "overfull": ("create 2", "put first 2nd third"),
    "unbounded": ("create 0", "put first"),
    "closed": ("create 2", "put first", "close"),
    "closed, empty": ("create 2", "close"),
    "leased": ("create 2", "put first"),
    "leased full": ("create 2", "put first 2nd"),
    "no number": ("create 2", "put first", "SET @:bound many"),
    "produced": ("create 2", "put first", "RPOP @:producer_free", f"SET @:producer {DEAD}"),
    "consumed": ("create 2", "put first", "RPOP @:consumer_free", f"SET @:consumer {DEAD}"),
    "watched": ("create 2", "put first", "RPOP @:consumer_free", "SET @:consumer watcher:1:00000000/1/9"),
    "taken": ("create 2", "put first", "RPOP @:consumer_free", "RPOP @:producer_free"),
    "unacked": ("create 3", "put first", "LPUSH @:unacked a bb", "RPOP @:consumer_free", f"SET @:consumer {DEAD}"),
    "orphans": ("create 3", "put first", "LPUSH @:unacked a"),
    "half deleted": ("create 2", "put first", "DEL @:bound", "LPUSH @:not_full 0", "RPOP @:consumer_free"),
    "fed": ("create 3",),
    "fed uncountable": ("create 3", "SET @:stats:consumed_messages x"),
    "uncountable": ("create 2", "put first", "SET @:stats:consumed_messages x", "SET @:stats:produced_bytes x"),
    "half created": ("SET @:bound 2",),
    "half created, producer": ("SET @:bound 2", "LPUSH @:producer_free 0"),
    "half created, both": ("SET @:bound 2", "LPUSH @:producer_free 0", "LPUSH @:consumer_free 0"),
    "mine": ("create 2", "put first", "RPOP @:consumer_free", "SET @:consumer me:1:00000000/1/1"),
    "no list": ("create 3", "put first", "DEL @:not_full", "SET @:not_full x"),
    "fed by a robber": ("create 3",),
    "fed by another robber": ("create 3",),
    "drained": ("create 2", "put first 2nd"),
    "shut": ("create 2",),
    "given up": ("create 2", "put first", "RPOP @:consumer_free", "RPOP @:producer_free"),
    "no token": ("create 2", "put first", "DEL @:not_full"),
    "litter": ("create 3", "put first", "close", "RPOP @:closed", "LPUSH @:not_full 0 0", "LPUSH @:producer_free 0 0"),
    "uncounted": ("create 3", "put first 22", "SET @:stats:produced_messages 1", "SET @:stats:consumed_bytes 9"),
    "miscounted": ("create 3", "put first 22", "INCRBY @:stats:produced_messages 3", "INCRBY @:stats:produced_bytes 40"),
    "deadlock": ("create 1", "RPOP @:not_full", "RPOP @:producer_free", "RPOP @:consumer_free", f"SET @:consumer {DEAD}"),
}  # fmt: skip


def command(words: str) -> tuple[str, ...]:
    return tuple(word.replace("@", "__pressure__:jobs") for word in words.split())


ROLES: Final = ("producer", "consumer")

ACTS: Final = {
    "deleted": (command("DEL @:bound"),),
    "robbed": (
        command("SET @:producer thief:1:00000000/1/1"),
        command("SET @:consumer thief:1:00000000/1/1"),
    ),
    "freed": (command("LPUSH @:producer_free 0"), command("LPUSH @:consumer_free 0")),
    "closes": (command("LPUSH @:closed 0 0"),),
    "fills": (command("LPUSH @ more"), command("LPUSH @:not_full 0")),
    "empties": (command("RPOP @"), command("LPUSH @:not_full 0")),
    "robbed of room": (
        *(command(f"SET @:{role} a:1:00000000/1/1") for role in ROLES),
        command("LPUSH @:not_full 0"),
    ),
    "and robbed": (
        *(command(f"SET @:{role} z:1:00000000/1/1") for role in ROLES),
        command("LPUSH @:not_full 0"),
    ),
}

MEANWHILE: Final = {
    "fed": (command("LPUSH @ late later latest last"),),
    "fed uncountable": (command("LPUSH @ late"),),
    "fed by a robber": (command("LPUSH @ late later"), command("SET @:consumer a:1:00000000/1/1")),
    "fed by another robber": (command("LPUSH @ late later"), command("SET @:consumer z:1:00000000/1/1")),
    "drained": (command("RPOP @"), command("LPUSH @:not_full 0")),
    "shut": (command("LPUSH @:closed 0 0"),),
    "given up": (command("LPUSH @:producer_free 0"), command("LPUSH @:consumer_free 0")),
}
"""What happens in a situation when the operation waits for the first time."""

CHOSEN: Final[dict[str, str]] = {
    "put": "uncountable; no list; empty; one; full; unbounded; closed; leased; no number; produced; taken; drained; given up",
    "put overfill": "one; full",
    "put_many": "one; two; full; unbounded; leased full; drained",
    "put_many overfill": "one; full",
    "put_many at once": "one; full; produced",
    "get": "uncountable; no list; fed uncountable; one; empty; overfull; unbounded; closed; closed, empty; leased; no number; consumed; taken; fed; fed by a robber; fed by another robber; shut; given up",
    "get_many": "one; empty; overfull; two; closed; fed",
    "close": "one; closed; leased; produced; gone; given up",
    "delete": "one; full; gone; produced; half deleted; taken; given up",
    "create": "gone; one; half deleted",
    "wait_closed": "one; closed; gone; shut",
    "wait_closed at once": "one; closed",
    "closed": "one; closed",
    "exists": "one",
    "length": "one; no number",
    "receive": "one; empty; closed; unacked; leased; fed; shut; given up",
    "settle": "full; overfull; leased; unbounded",
    "settle back": "one; leased",
    "settle alone": "mine",
    "settle strict": "full",
    "put strict": "one; empty",
    "peek": "one; empty",
    "peek_many": "two",
    "holder": "consumed; one",
    "stats": "one; consumed",
    "renew": "leased",
    "repair": "half created; half created, producer; half created, both; one; consumed; watched; produced; taken; unacked; half deleted; litter; deadlock; leased",
    "repair force": "unacked; produced; no token; litter; uncounted; miscounted; half deleted; orphans; deadlock",
    "repair consumer": "taken",
    "examine": "one; gone; closed",
    "doctor": "half created; half created, producer; half created, both; one; consumed; watched; taken; unacked; half deleted; litter; miscounted; deadlock; closed; leased",
}
"""Of each operation the situations it is played in."""

PUTS: Final[dict[str, tuple[bytes, ...]]] = {
    "put": (b"value",),
    "put overfill": (b"value",),
    "put_many": (b"1", b"22", b"333", b"4"),
    "put_many overfill": (b"1", b"22", b"333"),
    "put_many at once": (b"1", b"22", b"333"),
}
"""What the operations put."""

CONFINED: Final = [name for name in PUTS if "overfill" not in name]
"""Those that heed the bound."""

ACKNOWLEDGES: Final = ("settle", "settle strict")
"""The operations that receive a message and acknowledge it."""
