"""Clients that send what the documents' pseudocode says, a command at a time; and where that goes wrong.

``conformance.clients.textbook`` talks to a server; these are the same as operations, so that all their interleavings
can be explored. ``HOLES`` are scenarios in which something is wrong with what the documents ask for.

Only what cannot run is corrected: ``BRPOP`` has its timeout, ``LPUSH`` its value, and the counters are where
the prose has them. The role is kept on errors, as there, unless a client is ``careful``.

To tell of another hole: a row in ``HOLES``.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, Final

from pressure.errors import QueueAlreadyExistsError, QueueClosedError, QueueDoesNotExistError
from pressure.protocol import Batch, Context, Operation

from .explore import STUCK
from .scenario import Deed, Member, Scenario

__all__ = ["HOLES", "Hole"]


def ask(*command: bytes | int) -> Generator[Batch, list[Any], Any]:
    """One command, and its reply."""
    (reply,) = yield Batch((command,))
    return reply


def create(ctx: Context, bound: int) -> Operation[None]:
    keys = ctx.keys
    if not (yield from ask(b"SETNX", keys.bound, bound)):
        raise QueueAlreadyExistsError("it exists")
    for key in (keys.producer_free, keys.consumer_free, keys.not_full):
        yield from ask(b"LPUSH", key, 1)


def put(ctx: Context, value: bytes, careful: bool, overfill: bool) -> Operation[None]:
    keys = ctx.keys
    yield from take(ctx, keys.producer_free, keys.producer)
    if (yield from ask(b"EXISTS", keys.closed)):
        if careful:
            yield from ask(b"LPUSH", keys.producer_free, 0)
        raise QueueClosedError("it is closed")
    if not overfill:
        yield from ask(b"BRPOP", keys.not_full, 0)
    length = yield from ask(b"LPUSH", keys.queue, value)
    bound = yield from ask(b"GET", keys.bound)
    if not int(bound or 0) or length < int(bound):
        yield from refill(ctx)
    yield from ask(b"INCR", keys.produced_messages)
    yield from ask(b"INCRBY", keys.produced_bytes, len(value))
    yield from ask(b"LPUSH", keys.producer_free, 0)


def get(ctx: Context, careful: bool, compares: bool) -> Operation[bytes]:
    """Get; it compares length and bound as the prose has it, or refills at once as the pseudocode does."""
    keys = ctx.keys
    yield from take(ctx, keys.consumer_free, keys.consumer)
    key, value = keys.queue, None
    if not (yield from ask(b"EXISTS", keys.closed)):
        key, value = yield from ask(b"BRPOP", keys.queue, keys.closed, 0)
    elif (yield from ask(b"LLEN", keys.queue)):
        _, value = yield from ask(b"BRPOP", keys.queue, 0)
    if value is None or key == keys.closed:
        if careful:
            yield from ask(b"LPUSH", keys.consumer_free, 0)
        raise QueueClosedError("it is closed")
    if not compares or (yield from has_room(ctx)):
        yield from refill(ctx)
    yield from ask(b"INCR", keys.consumed_messages)
    yield from ask(b"INCRBY", keys.consumed_bytes, len(value))
    yield from ask(b"LPUSH", keys.consumer_free, 0)
    return bytes(value)


def take(ctx: Context, free: bytes, holder: bytes) -> Operation[None]:
    if not (yield from ask(b"EXISTS", ctx.keys.bound)):
        raise QueueDoesNotExistError("there is none")
    yield from ask(b"BRPOP", free, 0)
    yield from ask(b"SET", holder, ctx.holds.process.partition(b":")[0])


def has_room(ctx: Context) -> Operation[bool]:
    length = yield from ask(b"LLEN", ctx.keys.queue)
    bound = int((yield from ask(b"GET", ctx.keys.bound)) or 0)
    return bound == 0 or length < bound


def refill(ctx: Context) -> Operation[None]:
    yield from ask(b"LPUSH", ctx.keys.not_full, 0)
    yield from ask(b"LTRIM", ctx.keys.not_full, 0, 0)


def close(ctx: Context) -> Operation[None]:
    keys = ctx.keys
    yield from take(ctx, keys.producer_free, keys.producer)
    if (yield from ask(b"EXISTS", keys.closed)):
        raise QueueClosedError("it is closed")
    yield from ask(b"LPUSH", keys.closed, 0, 0)
    yield from ask(b"LPUSH", keys.producer_free, 0)


def wait_closed(ctx: Context) -> Operation[None]:
    """What the documents say that ``:closed`` is for; how, they do not say."""
    yield from ask(b"BRPOP", ctx.keys.closed, 0)


def delete(ctx: Context) -> Operation[None]:
    keys = ctx.keys
    if not (yield from ask(b"EXISTS", keys.bound)):
        raise QueueDoesNotExistError("there is none")
    yield from ask(b"DEL", keys.bound)
    yield from ask(b"LPUSH", keys.not_full, 0)
    yield from ask(b"LPUSH", keys.closed, 0, 0)
    for free, holder in ((keys.producer_free, keys.producer), (keys.consumer_free, keys.consumer)):
        yield from ask(b"BRPOP", free, 0)
        yield from ask(b"DEL", holder)
        yield from ask(b"DEL", free)
    for key in keys.twelve:
        if key not in (keys.bound, keys.producer, keys.producer_free, keys.consumer, keys.consumer_free):
            yield from ask(b"DEL", key)


def puts(*values: bytes, careful: bool = True, overfill: bool = False) -> tuple[Deed, ...]:
    kind = "over-filling put" if overfill else "put"
    return tuple(
        Deed(kind, lambda ctx, _, value=value: put(ctx, value, careful, overfill), (value,))  # type: ignore[misc]
        for value in values
    )


def gets(count: int = 1, *, careful: bool = True, compares: bool = True) -> tuple[Deed, ...]:
    return (Deed("get", lambda ctx, _: get(ctx, careful, compares), takes=1),) * count


CREATE: Final = Deed("create", lambda ctx, _: create(ctx, 1))
CLOSE: Final = Deed("close", lambda ctx, _: close(ctx))
DELETE: Final = Deed("delete", lambda ctx, _: delete(ctx))
WAIT_CLOSED: Final = Deed("wait for a close", lambda ctx, _: wait_closed(ctx))


@dataclass(frozen=True, slots=True)
class Hole:
    """Where clients do what the documents ask for, and something goes wrong.

    Attributes:
        text: what it is.
        scenario: in which exploring finds it.
        instead: what ``pressure`` does.
        about: words of what is to be found, where other things are wrong, too.
    """

    text: str
    scenario: Scenario
    instead: str
    about: str = ""


def hole(text: str, instead: str, *members: Member, bound: int = 1, about: str = "", **options: Any) -> Hole:
    return Hole(text, Scenario(text, members, bound, strong=True, **options), instead, about)


HOLES: Final = {
    "role-kept": hole(
        "the pseudocode raises QueueClosedError, and keeps the role",
        "the role goes back on every way out",
        Member("x", (CLOSE,)), Member("c1", gets(careful=False)), Member("c2", gets(careful=False)),
    ),
    "bound-passed": hole(
        "Get compares length and bound, two Puts run, Get refills",
        "with scripts this is one step; plain batches can pass the bound by one, as the weaker form allows",
        Member("p", puts(b"1", b"2", b"3")), Member("c", gets(1)), bound=2, values=(b"0",),
        about="the bound is",
    ),
    "bound-passed-by-pseudocode": hole(
        "the pseudocode's Get does not even compare: two Puts run, Get refills",
        "Get refills only below the bound",
        Member("p", puts(b"1", b"2", b"3")), Member("c", gets(1, compares=False)), bound=2, values=(b"0",),
        about="the bound is",
    ),
    "token-skipped": hole(
        "a Put that over-fills may skip the token, and leaves it to the next one",
        "a Put that over-fills takes the token if there is one",
        Member("p1", puts(b"1", overfill=True)), Member("p2", puts(b"2")), Member("p3", puts(b"3")),
    ),
    "put-after-delete": hole(
        "a Put that waits for room is woken by Delete, and stores its value after it",
        "the bound is looked at after the wait, and watched up to the push",
        Member("p", puts(b"1")), Member("d", (DELETE,)), values=(b"0",),
    ),
    "waits-for-role-for-ever": hole(
        "a client waits for a role, and Delete removes the very list",
        "it waits in slices, and looks at the bound between them",
        Member("c", gets()), Member("d", (DELETE,)), values=(b"0",),
    ),
    "create-in-delete": hole(
        "a Create while a Delete runs leaves only some keys of a queue",
        "Create is one step, and refused while any key is there",
        Member("n", (CREATE, replace(*puts(b"1"), settles=True))), Member("d", (DELETE,)),
        about=STUCK,
    ),
    "marks-eaten": hole(
        "one who waits for a close and a Get pop both marks, and the queue is open again",
        "who waits for a close rotates the list, and a Get pushes the mark back",
        Member("w", (WAIT_CLOSED,)), Member("c", gets()), Member("x", (CLOSE,)),
        about="0 marks are left",
    ),
    "dead-holder": hole(
        "a client dies with a role, and nobody ever gets it",
        "repair, and leases",
        Member("p1", puts(b"1")), Member("p2", puts(b"2")), bound=2, faults=1,
        about=STUCK,
    ),
}  # fmt: skip
