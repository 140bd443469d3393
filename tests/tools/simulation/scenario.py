"""What a scenario is: who takes part, what each of them does, and what may go wrong.

To add a kind of deed: a maker here, and what may come of it in ``laws``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from pressure import protocol
from pressure.protocol import Context, Operation, Settlement
from pressure.protocol.repair import repair

__all__ = [
    "ACKNOWLEDGE", "CLOSE", "DELETE", "FORCED_REPAIR", "GET", "PUT_BACK", "RECEIVE", "REPAIR", "WAIT_CLOSED",
    "Begin", "Deed", "Member", "Scenario", "Tries", "connection_of", "create", "get_many", "process_of",
    "put", "put_many",
]  # fmt: skip


@dataclass(slots=True)
class Tries:
    """A deadline that is counted instead of timed: so many waits, or (None) any number.

    It stands in for ``pressure.protocol.Deadline``, which looks at a clock.
    """

    slice: float
    left: int | None = None
    slices: int = 1

    @property
    def waits(self) -> bool:
        """Whether there is a wait left."""
        return self.left is None or self.left > 0

    def attempts(self) -> Iterator[float]:
        """The seconds to wait in each attempt after the first; the last is 0."""
        while self.waits:
            if self.left is not None:
                self.left -= 1
            yield self.slices * self.slice
        yield 0.0


Begin: TypeAlias = Callable[[Context, Any], Operation[Any]]
"""Begins an operation, with a deadline; one that settles is given the id of the hold instead."""


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that a client does.

    Attributes:
        kind: what it is, for ``laws``.
        begin: begins it.
        values: those that it puts.
        takes: how many values may be gone with a client that dies in it.
        settles: it is not done if what comes before it failed.
    """

    kind: str
    begin: Begin
    values: tuple[bytes, ...] = ()
    takes: int = 0
    settles: bool = False


def put(value: bytes, *, overfill: bool = False) -> Deed:
    kind = "over-filling put" if overfill else "put"
    return Deed(kind, lambda ctx, deadline: protocol.put(ctx, value, deadline, overfill=overfill), (value,))


def put_many(*values: bytes) -> Deed:
    return Deed("put", lambda ctx, deadline: protocol.put_many(ctx, values, deadline), values)


def get_many(most: int) -> Deed:
    return Deed("get", lambda ctx, deadline: protocol.get_many(ctx, deadline, most), takes=most)


def create(bound: int) -> Deed:
    return Deed("create", lambda ctx, _: protocol.create(ctx, bound))


GET = Deed("get", lambda ctx, deadline: protocol.get(ctx, deadline), takes=1)
RECEIVE = Deed("receive", lambda ctx, deadline: protocol.receive(ctx, deadline))
ACKNOWLEDGE = Deed(
    "acknowledge",
    lambda ctx, hold: protocol.settle(ctx, hold, Settlement.ACKNOWLEDGED, 1),
    takes=1,
    settles=True,
)
"""Values that are received have one byte."""
PUT_BACK = Deed(
    "put back", lambda ctx, hold: protocol.settle(ctx, hold, Settlement.REQUEUED, 1), settles=True
)
CLOSE = Deed("close", lambda ctx, deadline: protocol.close(ctx, deadline))
DELETE = Deed("delete", lambda ctx, deadline: protocol.delete(ctx, deadline))
WAIT_CLOSED = Deed("wait for a close", lambda ctx, deadline: protocol.wait_closed(ctx, deadline))
REPAIR = Deed("repair", lambda ctx, _: repair(ctx))
FORCED_REPAIR = Deed("repair by force", lambda ctx, _: repair(ctx, True))


def process_of(name: str, starts: int = 0) -> bytes:
    """The process of a client, as its holds' ids have it; ``starts`` is how often it was started again."""
    return f"{name}:1:{starts:08x}".encode()


def connection_of(process: bytes) -> bytes:
    """The name of the one connection that a client has."""
    return process + b"/1"


@dataclass(frozen=True, slots=True)
class Member:
    """A client.

    Attributes:
        name: as a schedule has it.
        deeds: what it does, one after the other.
        fails: whether it may die.
        later: whether it comes when somebody has died, and not before.
        lease: for how many seconds it takes roles; None for good.
    """

    name: str
    deeds: tuple[Deed, ...]
    fails: bool = True
    later: bool = False
    lease: float | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """Clients of one queue.

    Attributes:
        name: for people.
        members: the clients.
        bound: of the queue; None if there is none yet.
        values: what is in it at first, oldest first.
        faults: how many clients may die in a run, or how often anything may fail where they go on.
        tries: after how many waits in vain a client gives up; None for never.
        goes_on: whether those who fail go on: who lost a connection makes another one, who died is started
            again under the same number of a process, and another server may take over. Nobody repairs.
        strong: whether the strong form of the invariant is asked for; None asks for it of scripts alone.
        text: what is shown by it.
    """

    name: str
    members: tuple[Member, ...]
    bound: int | None = 1
    values: tuple[bytes, ...] = ()
    faults: int = 0
    tries: int | None = None
    goes_on: bool = False
    strong: bool | None = None
    text: str = ""
