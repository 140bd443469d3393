"""The doctor's and repair's conclusions: server replies in, sentences out."""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

import pytest

from pressure.connections.identity import released
from pressure.connections.pool import Holds
from pressure.errors import ServerReplyError
from pressure.keys import Keys
from pressure.protocol import Context
from pressure.protocol.diagnosis import Diagnosis
from pressure.protocol.doctor import examine
from pressure.protocol.liveness import Liveness, Probe, sign_of_life
from pressure.protocol.role import CONSUMER, PRODUCER
from tests.cases import for_each

MINE: Final = Holds(b"me:1:00000000")
OVER: Final = MINE.begin(b"me:1:00000000/1")
MINE.end(OVER)
LIVE: Final = MINE.begin(b"me:1:00000000/1")
DEAD, HERE = b"dead:1:00000000/1/1", b"here:1:00000000/1/1"
CLIENTS: Final = (
    b"id=3 name=me:1:00000000/1 flags=N cmd=client\nid=10 name=here:1:00000000/1 flags=b cmd=brpop\n"
)


pytestmark = pytest.mark.usefixtures("probes_as_for_users")


HEALTHY: Final[dict[str, Any]] = {
    "bound": b"2", "length": 1, "tokens": 1, "marks": 0, "unacked": 0, "rejected": 0,
    "counters": [b"3", b"9", b"2", b"5"], "keys": 9,
    "producer_free": 1, "producer": None, "consumer_free": 1, "consumer": None,
    "idle": 4, "left_p": -2, "left_c": -2, "clients": CLIENTS,
}  # fmt: skip

NEW: Final = {"length": 0, "tokens": 0, "counters": [None] * 4}
BUSY_P: Final = {"producer_free": 0, "producer": HERE}
BUSY_C: Final = {"consumer_free": 0, "consumer": HERE}
DEAD_C: Final = {"consumer_free": 0, "consumer": DEAD}
FULL: Final = {"length": 2, "tokens": 0, "counters": [b"4", b"9", b"2", b"5"]}


def context(name: str = "jobs", lease: float | None = None) -> Context:
    return Context(Keys.of(name), lambda: 1.0, lease=lease, holds=MINE)


def seen(*changes: dict[str, Any]) -> list[Any]:
    """The replies about a queue that is healthy but for some changes."""
    now = dict(HEALTHY)
    for each in changes:
        now |= each
    found = [now[name] for name in list(HEALTHY)[:12]]
    times = [now["idle"], now["idle"], now["left_p"], now["left_c"]]
    return [*times, b"OK", *[b"QUEUED"] * len(found), found]


def told(*changes: dict[str, Any], later: list[Any] | None = None) -> Diagnosis:
    """The diagnosis of a queue that is healthy but for some changes; ``later`` are its roles a moment later."""
    clients = next((each["clients"] for each in changes if "clients" in each), CLIENTS)
    lease = next((each["lease"] for each in changes if "lease" in each), None)
    replies = seen(*changes)
    roles = later or replies[-1][-4:]
    again = [roles] if OVER in roles else []
    (found,) = examined([[*replies, clients, *roles], *again], context(lease=lease))
    assert isinstance(found, Diagnosis)
    return found


def examined(batches: list[list[Any]], *contexts: Context) -> Any:
    operation = examine(contexts)
    next(operation)
    *others, last = batches
    for replies in others:
        operation.send(replies)
    with pytest.raises(StopIteration) as stop:
        operation.send(last)
    return stop.value.value


def lengths(bound: int, length: int, unacked: int, produced: int, consumed: int) -> dict[str, Any]:
    counters = [b"%d" % produced, b"0", b"%d" % consumed, b"0"]
    return {"bound": b"%d" % bound, "length": length, "unacked": unacked, "counters": counters}


ILLS: Final[list[tuple[tuple[dict[str, Any], ...], list[str]]]] = [
    ((), []),
    (({"bound": None},), ["a delete did not finish"]),
    (({"bound": b"many"},), ["not a number"]),
    (({"bound": b"many", "tokens": 0},), ["not a number"]),
    ((NEW,), ["a create did not finish"]),
    ((NEW, {"consumer_free": 0}), ["a create did not finish"]),
    ((NEW, {"producer_free": 0, "consumer_free": 0}), ["a create did not finish"]),
    ((NEW, {"producer_free": 0}), ["has not written its id"]),
    ((NEW, {"producer_free": 0, "producer": HERE}), []),
    ((NEW, {"length": 1}), ["the token", "add up"]),
    ((NEW, {"tokens": 1}), []),
    ((NEW, {"marks": 2}), ["the token"]),
    ((NEW, {"counters": [b"1", None, b"1", None]}), ["the token"]),
    (({"counters": [b"abc", b"9", b"2", b"5"]},), ["counter of produced messages"]),
    (({"rejected": 3},), ["3 rejected messages: `pressure peek --rejected` shows them, `pressure redrive` puts them back"]),
    (({"producer_free": 2},), [":producer_free has 2"]),
    (({"consumer_free": 3},), [":consumer_free has 3"]),
    (({"marks": 1},), [":closed has one element"]),
    (({"marks": 2},), []),
    (({"marks": 1}, BUSY_C), []),
    ((BUSY_P,), []),
    ((BUSY_P, {"tokens": 0}), []),
    ((BUSY_C, {"tokens": 0, "unacked": 1}), []),
    ((DEAD_C,), ["held by dead:1:00000000/1/1, whose connection is gone"]),
    (({"producer_free": 0, "producer": b"another program"},), []),
    (({"producer_free": 0, "producer": DEAD, "clients": None},), []),
    (({"producer_free": 0, "producer": LIVE},), []),
    (({"producer_free": 0, "producer": OVER},), [f"held by {OVER.decode()}, an operation of this process that is over"]),
    (({"producer_free": 0, "producer": released(DEAD)},), []),
    (({"producer_free": 0, "producer": released(DEAD), "idle": 5},), ["held by a client that has not written its id"]),
    (({"producer_free": 0},), ["held by a client that has not written its id; a client that waits for the role frees it"]),
    (({"producer_free": 0, "lease": 3.0},), ["held by a client whose lease ran out"]),
    # what is there, and room for more: the numbers are such that nothing but a sum will do
    ((lengths(7, 3, 3, 9, 3), {"tokens": 0}), ["3 messages are unacknowledged", "the token"]),
    ((lengths(6, 3, 3, 9, 3), {"tokens": 0}), ["3 messages are unacknowledged"]),
    ((lengths(5, 3, 3, 9, 3), {"tokens": 0}), ["3 messages are unacknowledged"]),
    ((lengths(0, 3, 0, 9, 6), {"tokens": 0}), ["the token"]),
    ((lengths(1, 1, 0, 9, 8), {"tokens": 0}), []),
    ((lengths(1, 1, 0, 9, 8),), ["the queue is full, but a token"]),
    ((lengths(5, 3, 3, 9, 3),), ["3 messages are unacknowledged", "the queue is full, but a token"]),
    ((lengths(1, 0, 0, 9, 9), {"tokens": 2}), []),
    ((lengths(2, 1, 0, 9, 8), {"tokens": 0}), ["the token"]),
    ((lengths(900, 300, 300, 1000, 400),), ["300 messages are unacknowledged"]),
    ((lengths(900, 300, 300, 1000, 401),), ["300 messages are unacknowledged", "in the queue; repair corrects"]),
    ((lengths(9, 5, 0, 6, 3),), ["6 messages were produced and 3 consumed, but 5 are in the queue"]),
    ((lengths(9, 5, 1, 6, 3),), ["1 message is", "6 messages were produced and 3 consumed, but 6 are in the queue"]),
    # who waits for whom
    ((FULL, BUSY_P), ["no client consumes"]),
    ((FULL, {"producer_free": 0, "producer": DEAD}), ["whose connection is gone"]),
    ((DEAD_C, {"length": 0, "producer": DEAD}), ["consumer role is held by dead:1:00000000/1/1, whose connection is gone"]),
    ((FULL, BUSY_P, {"length": 3}), ["no client consumes"]),
    ((FULL, BUSY_P, {"length": 1}), []),
    ((FULL, BUSY_P, {"bound": b"0"}), []),
    ((FULL, BUSY_P, {"tokens": 1}), []),
    ((FULL, BUSY_P, BUSY_C), []),
    ((FULL, BUSY_P, BUSY_C, {"consumer": b"another program"}), []),
    ((FULL, BUSY_P, DEAD_C), ["connection is gone", "no client consumes; the connection of the last consumer, dead:1:00000000/1/1, is gone"]),
    ((FULL, BUSY_P, {"consumer": DEAD}), ["no client consumes; the connection of the last consumer, dead:1:00000000/1/1, is gone"]),
    ((FULL, BUSY_P, {"consumer": HERE}), ["and no client consumes$"]),
    ((FULL, BUSY_P, {"clients": None}), ["and no client consumes$"]),
    ((FULL, BUSY_C), []),
    ((BUSY_C, {"length": 0, "producer": DEAD}), ["the connection of the last producer, dead:1:00000000/1/1, is gone"]),
    ((BUSY_C, {"length": 0, "producer": HERE}), []),
    ((BUSY_C, {"length": 1, "producer": DEAD}), []),
    ((BUSY_C, {"length": 0, "marks": 2, "producer": DEAD}), []),
    ((BUSY_C, {"length": 0, "unacked": 1, "producer": DEAD}), []),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "problems"), ILLS)
def test_each_problem_is_reported_and_nothing_else(
    changes: tuple[dict[str, Any], ...], problems: list[str]
) -> None:
    found = told(*changes).problems
    assert len(found) == len(problems), found
    for sentence, part in zip(found, problems, strict=True):
        assert part in f"{sentence}$"


@pytest.mark.parametrize("later", [[1, None, 1, None], [0, HERE, 1, None], [1, released(DEAD), 1, None]])
def test_a_holder_that_has_given_its_role_back_meanwhile_is_not_dead(later: list[Any]) -> None:
    for holder in (DEAD, OVER, released(DEAD)):
        told_so = told({"producer_free": 0, "producer": holder, "idle": 9}, later=later)
        assert told_so.problems == ()
        assert told_so.producer.about == ""


def test_a_hold_of_this_process_that_ends_while_the_server_answers_is_not_dead() -> None:
    """It is found over when the replies come, and the server is asked once more."""
    taken = seen({"producer_free": 0, "producer": OVER})
    released_now = [1, released(OVER), 1, None]
    (found,) = examined([[*taken, CLIENTS, *taken[-1][-4:]], released_now], context())
    assert found.problems == ()


def test_a_server_whose_memory_is_full_is_asked_without_a_transaction() -> None:
    first = seen()
    queued = [
        *first[:4],
        b"OK",
        *[ServerReplyError("OOM no memory")] * 12,
        ServerReplyError("EXECABORT discarded"),
    ]
    roles = first[-1][-4:]
    (found,) = examined([[*queued, CLIENTS, *roles], [*first[:4], *first[-1], CLIENTS, *roles]], context())
    assert (found.length, found.problems) == (1, ())


@pytest.mark.parametrize(("left", "lease"), [(-2, None), (-1, None), (0, 0.0), (2500, 2.5), (None, None)])
def test_the_time_left_of_a_lease_is_reported_in_seconds(left: Any, lease: float | None) -> None:
    found = told(BUSY_P, {"left_p": left})
    assert (found.producer.lease, found.consumer.lease) == (lease, None)


@pytest.mark.parametrize(
    ("clients", "blocked"),
    [
        (CLIENTS, 1),
        (b"id=1 flags=b cmd=xread\nid=2 flags=N cmd=brpop\nid=3 cmd=blpop\n", 0),
        (b"id=1 flags=b cmd=blmove\nid=2 flags=xb cmd=brpoplpush\n\n", 2),
        (None, None),
    ],
)
def test_blocked_clients_are_counted(clients: Any, blocked: int | None) -> None:
    assert told({"clients": clients}).blocked == blocked


def test_several_queues_are_diagnosed_separately() -> None:
    contexts = [context(name) for name in ("a", "b", "c")]
    numbers = [seen({"length": length}) for length in (1, 0, 2)]
    found = examined([[*chain(*numbers), CLIENTS, *numbers[0][-1][-4:] * 3]], *contexts)
    assert [(each.queue, each.length) for each in found] == [(b"a", 1), (b"b", 0), (b"c", 2)]


def test_a_diagnosis_is_printed_as_sentences() -> None:
    dead = told(DEAD_C, {"left_c": 2400, "idle": None}, BUSY_P, {"bound": b"0"})
    assert str(dead).splitlines()[:3] == [
        "'jobs': open, 1 values",
        "  producer: held by here:1:00000000/1/1: its connection is open",
        "  consumer: held by dead:1:00000000/1/1, with 2 s left of its lease: its connection is gone",
    ]
    waiting = told({"producer_free": 0, "producer": b"another program"})
    assert str(waiting).splitlines() == [
        "'jobs': open, 1 of 2 values",
        f"  producer: held by another program for about 4 s: {Liveness.FOREIGN.value}",
        "  consumer: free",
    ]


def test_the_mark_of_the_last_holder_is_not_shown() -> None:
    free = told({"producer": released(HERE)}).producer
    assert (free.holder, free.connected, free.about) == (HERE, True, "")
    popped = told({"producer_free": 0, "producer": released(HERE)}).producer
    assert (popped.holder, popped.about) == (None, "")


# Who may be dead


def looked(holder: bytes | None, free: int = 0, connections: frozenset[bytes] | None = frozenset()) -> Probe:
    return Probe(b"2", 9, {PRODUCER: free, CONSUMER: 1}, {PRODUCER: holder, CONSUMER: DEAD}, connections)


HERE_IT_IS: Final = frozenset({b"here:1:00000000/1"})

DOUBTS: Final[list[tuple[Probe, Probe, str | None]]] = [
    (looked(DEAD), looked(DEAD), None),
    (looked(DEAD, connections=HERE_IT_IS), looked(DEAD, connections=HERE_IT_IS), None),
    (looked(HERE, connections=HERE_IT_IS), looked(HERE), "its connection is open"),
    (looked(HERE), looked(HERE, connections=HERE_IT_IS), "its connection is open"),
    (looked(DEAD, free=1), looked(DEAD), "it was free for a moment"),
    (looked(DEAD), looked(DEAD, free=1), "it was free for a moment"),
    (looked(DEAD), looked(HERE), "its holder changed"),
    (looked(released(DEAD)), looked(DEAD), "its holder changed"),
    (looked(DEAD, connections=None), looked(DEAD), "the server does not tell who is connected"),
    (looked(DEAD), looked(DEAD, connections=None), "the server does not tell who is connected"),
    (looked(b"another program"), looked(b"another program"), "not of this package's form"),
    (looked(released(DEAD)), looked(released(DEAD)), None),
    (looked(released(HERE), connections=HERE_IT_IS), looked(released(HERE), connections=HERE_IT_IS), None),
    (looked(None, connections=None), looked(None, connections=None), None),
    (looked(HERE, connections=HERE_IT_IS), looked(None, connections=HERE_IT_IS), None),
    (looked(OVER, connections=None), looked(OVER, connections=None), None),
    (looked(LIVE, connections=None), looked(LIVE, connections=None), "the server does not tell"),
    (looked(OVER), looked(LIVE), "its holder changed"),
]


@for_each(("first", "last", "why"), DOUBTS)
def test_the_reason_why_a_holder_may_be_alive_is_given(first: Probe, last: Probe, why: str | None) -> None:
    found = sign_of_life(PRODUCER, first, last, MINE)
    assert found is None if why is None else why in str(found)
