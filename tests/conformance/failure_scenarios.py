"""Scenarios in which a client fails: every operation, in every state of a queue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from pressure import protocol
from pressure.protocol import Context, Deadline
from pressure.protocol.repair import repair
from tests.tools.simulation import Simulation, held, operation

Setup: TypeAlias = Callable[[Simulation], None]


@dataclass(frozen=True)
class Scenario:
    """What goes on in a queue when a client fails.

    Attributes:
        victim: what the client does that fails.
        bound: of the queue; None if it is not there yet.
        values: what is in it.
        first: what another client does that began before, and waits.
        beside: what a third one does meanwhile.
        order: all values, in the order in which they come out if nothing fails.
        puts: those of them that may not be put, as the victim does, or one that waits for it in vain.
        gone: how many messages may be gone with it.
        twice: how many may come twice.
        setup: what is done to the queue before.
        may_be_gone: whether the queue may be gone altogether.
    """

    victim: tuple[Any, ...]
    bound: int | None = 2
    values: tuple[bytes, ...] = (b"a",)
    first: tuple[Any, ...] = ()
    beside: tuple[Any, ...] = ()
    order: tuple[bytes, ...] = (b"a",)
    puts: tuple[bytes, ...] = ()
    gone: int = 0
    twice: int = 0
    setup: Setup = lambda _: None
    may_be_gone: bool = False


def a_while(context: Context) -> Deadline:
    """Nobody waits longer than this for somebody who died."""
    return Deadline.of(context, timeout=30)


def at_once(context: Context) -> Deadline:
    return Deadline.of(context, block=False)


def put(value: bytes, deadline: Any = a_while, **options: Any) -> Any:
    return operation(protocol.put, value, deadline, **options)


def put_many(*values: bytes, **options: Any) -> Any:
    return operation(protocol.put_many, values, a_while, **options)


GET = operation(protocol.get, a_while)
GET_NOW = operation(protocol.get, at_once)
GET_TWO = operation(protocol.get_many, a_while, 2)
RECEIVE = operation(protocol.receive, a_while)
ACKNOWLEDGE = operation(protocol.settle, held, protocol.Settlement.ACKNOWLEDGED, 1)
PUT_BACK = operation(protocol.settle, held, protocol.Settlement.REQUEUED, 1)
CLOSE = operation(protocol.close, a_while)
WAIT_CLOSED = operation(protocol.wait_closed, a_while)
CREATE = operation(protocol.create, 2)
DELETE = operation(protocol.delete, a_while)
REPAIR = operation(repair)

A = (b"a",)
AB = (b"a", b"b")
AV = (b"a", b"v")
V = (b"v",)
RUN = (b"1", b"2", b"3", b"4")

PUTS = {
    "put": Scenario((put(b"v"),), 3, A, order=AV, puts=V),
    "put onto the last place": Scenario((put(b"v"),), 2, A, order=AV, puts=V),
    "put without a bound": Scenario((put(b"v"),), 0, A, order=AV, puts=V),
    "put that waits for room": Scenario((put(b"v"),), 1, A, beside=(GET,), order=AV, puts=V),
    "put without waiting, of a full queue": Scenario((put(b"v", at_once),), 1, A),
    "put that waits for its role": Scenario(
        (put(b"v"),), 1, A, first=(put(b"b"),), beside=(GET, GET), order=(*AB, b"v"), puts=V
    ),
    "over-filling put": Scenario((put(b"v", overfill=True),), 1, A, order=AV, puts=V),
    "over-filling put with room": Scenario((put(b"v", overfill=True),), 2, A, order=AV, puts=V),
    "put to a closed queue": Scenario((CLOSE, put(b"v")), 2, A, order=A),
    "two puts": Scenario((put(b"1"), put(b"2")), 2, (), order=RUN[:2], puts=RUN[:2]),
    "put of many": Scenario((put_many(*RUN),), 9, A, order=A + RUN, puts=RUN),
    "put of many that waits": Scenario((put_many(*RUN),), 2, A, beside=(GET,) * 4, order=A + RUN, puts=RUN),
    "over-filling put of many": Scenario((put_many(*RUN, overfill=True),), 2, A, order=A + RUN, puts=RUN),
}

GETS = {
    "get": Scenario((GET,), 2, AB, order=AB, gone=1),
    "get from an over-filled queue": Scenario(
        (GET,), 1, A, order=AV, gone=1, setup=lambda simulation: simulation.do(put(b"v", overfill=True))
    ),
    "get that waits": Scenario((GET,), 2, (), beside=(put(b"v"),), order=V, gone=1),
    "get without waiting": Scenario((GET_NOW,), 2, (), order=()),
    "get that waits for its role": Scenario(
        (GET,), 2, (), first=(GET,), beside=(put(b"a"), put(b"v")), order=AV, gone=1
    ),
    "get that hears of a close": Scenario((GET,), 2, (), beside=(CLOSE,), order=()),
    "get when a value and a close come": Scenario((GET,), 2, (), beside=(put(b"v"), CLOSE), order=V, gone=1),
    "get from a closed queue": Scenario((CLOSE, GET, GET), 2, A, order=A, gone=1),
    "get of many": Scenario((GET_TWO,), 4, (*AB, b"v"), order=(*AB, b"v"), gone=2),
    "get of many that waits": Scenario((GET_TWO,), 2, (), beside=(put(b"v"),), order=V, gone=2),
}

RECEIPTS = {
    "receive and acknowledge": Scenario((RECEIVE, ACKNOWLEDGE), 2, AB, order=AB, twice=1),
    "receive and put back": Scenario((RECEIVE, PUT_BACK), 2, AB, order=AB, twice=1),
    "receive that waits": Scenario((RECEIVE, ACKNOWLEDGE), 2, (), beside=(put(b"v"),), order=V, twice=1),
    "receive while a put waits": Scenario(
        (RECEIVE, ACKNOWLEDGE), 1, A, first=(put(b"b"),), order=AB, puts=(b"b",), twice=1
    ),
    "receive that hears of a close": Scenario((RECEIVE,), 2, (), beside=(CLOSE,), order=()),
    "receive what a dead one left": Scenario(
        (RECEIVE, ACKNOWLEDGE), 3, AB, order=AB, twice=1, setup=lambda simulation: leave_orphans(simulation)
    ),
    "receive of two": Scenario((RECEIVE, ACKNOWLEDGE) * 2, 2, AB, order=AB, twice=1),
}

LIVES = {
    "create": Scenario((CREATE,), None, (), order=(), may_be_gone=True),
    "close": Scenario((CLOSE,)),
    "close while a get waits": Scenario((CLOSE,), 2, (), first=(GET,), order=()),
    "close that waits for its role": Scenario((CLOSE,), 1, A, first=(put(b"b"),), beside=(GET,), order=AB),
    "wait for a close": Scenario((WAIT_CLOSED,), beside=(CLOSE,)),
    "wait for a close beside another": Scenario((WAIT_CLOSED,), first=(WAIT_CLOSED,), beside=(CLOSE,)),
    "delete": Scenario((DELETE,), may_be_gone=True),
    "delete while a put waits": Scenario(
        (DELETE,), 1, A, first=(put(b"b"),), order=AB, puts=(b"b",), may_be_gone=True
    ),
    "delete while a get waits": Scenario((DELETE,), 2, (), first=(GET,), order=(), may_be_gone=True),
    "delete of a closed queue": Scenario((CLOSE, DELETE), may_be_gone=True),
}


def ask(simulation: Simulation, *commands: str) -> None:
    """Plain commands, with what follows a dot as one of the queue's keys."""
    for command in commands:
        words = [getattr(simulation.keys, word[1:]) if word[0] == "." else word for word in command.split()]
        simulation.ask(*words)


DEAD = "gone:1:00000000/1/1"


def leave_orphans(simulation: Simulation) -> None:
    """A consumer died with a message, and its role was freed."""
    ask(simulation, "LMOVE .queue .unacked RIGHT LEFT")


def repair_of(*damage: str, **fields: Any) -> Scenario:
    return Scenario((REPAIR,), setup=lambda simulation: ask(simulation, *damage), **fields)


REPAIRS = {
    "repair of what is whole": repair_of(),
    "repair after a producer": repair_of("RPOP .producer_free", f"SET .producer {DEAD}", "RPOP .not_full"),
    "repair after a consumer": repair_of(
        "RPOP .consumer_free", f"SET .consumer {DEAD}", "LMOVE .queue .unacked RIGHT LEFT"
    ),
    "repair after both": repair_of(
        "RPOP .consumer_free", f"SET .consumer {DEAD}", "RPOP .producer_free", f"SET .producer {DEAD}"
    ),
    "repair of what is not acknowledged": repair_of("LMOVE .queue .unacked RIGHT LEFT"),
    "repair of a lost token": repair_of("RPOP .not_full"),
    "repair of a lost mark": repair_of("LPUSH .closed 0"),
    "repair of a doubled role": repair_of("LPUSH .producer_free 0 0"),
    "repair of half a create": repair_of(
        "DEL .producer_free .consumer_free .not_full .producer", values=(), order=()
    ),
    "repair of half a delete": repair_of(
        "DEL .bound", "LPUSH .not_full 0", "LPUSH .closed 0 0", "DEL .producer_free", may_be_gone=True
    ),
    "repair while a put waits for a dead consumer's token": repair_of(
        "RPOP .consumer_free", f"SET .consumer {DEAD}", "RPOP .queue",
        bound=1, first=(put(b"b"),), order=(b"b",), puts=(b"b",), gone=1,
    ),
}  # fmt: skip

SCENARIOS = PUTS | GETS | RECEIPTS | LIVES | REPAIRS
