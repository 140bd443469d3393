"""The doctor's and repair's conclusions: server replies in, sentences out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from pressure.keys import Keys
from pressure.protocol import Context, Diagnosis, examine
from pressure.protocol.roles import CONSUMER, PRODUCER
from pressure.protocol.vitals import STEADY, Seen, _is_zero, _others, doubt, steady

ME, DEAD, HERE = b"me:1/main/00000000", b"dead:1/main/00000000", b"here:1/main/00000000"
CLIENTS: Final = b"id=3 name=me:1 flags=N cmd=client\nid=10 name=here:1 flags=b cmd=brpop\n"

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


def context(name: str = "jobs") -> Context:
    return Context(Keys.of(name), ME, lambda: 1.0)


def seen(*changes: dict[str, Any]) -> list[Any]:
    """The replies about a queue that is healthy but for some changes."""
    now = dict(HEALTHY)
    for each in changes:
        now |= each
    found = [now[name] for name in list(HEALTHY)[:12]]
    times = [now["idle"], now["idle"], now["left_p"], now["left_c"]]
    return [*times, b"OK", *[b"QUEUED"] * len(found), found]


def told(*changes: dict[str, Any]) -> Diagnosis:
    clients = next((each["clients"] for each in changes if "clients" in each), CLIENTS)
    (found,) = examined([clients, *seen(*changes)], context())
    assert isinstance(found, Diagnosis)
    return found


def examined(replies: list[Any], *contexts: Context) -> Any:
    course = examine(contexts)
    next(course)
    with pytest.raises(StopIteration) as stop:
        course.send(replies)
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
    ((NEW, {"producer_free": 0}), []),
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
    ((DEAD_C,), ["held by dead:1/main/00000000, which is not connected"]),
    (({"producer_free": 0, "producer": b"another program"},), []),
    # what is there, and room for more: the numbers are such that nothing but a sum will do
    ((lengths(7, 3, 3, 9, 3), {"tokens": 0}), ["3 messages are unacknowledged", "the token"]),
    ((lengths(6, 3, 3, 9, 3), {"tokens": 0}), ["3 messages are unacknowledged"]),
    ((lengths(5, 3, 3, 9, 3), {"tokens": 0}), ["3 messages are unacknowledged"]),
    ((lengths(0, 3, 0, 9, 6), {"tokens": 0}), ["the token"]),
    ((lengths(1, 1, 0, 9, 8), {"tokens": 0}), []),
    ((lengths(2, 1, 0, 9, 8), {"tokens": 0}), ["the token"]),
    ((lengths(900, 300, 300, 1000, 400),), ["300 messages are unacknowledged"]),
    ((lengths(900, 300, 300, 1000, 401),), ["300 messages are unacknowledged", "in the queue; repair corrects"]),
    ((lengths(9, 5, 0, 6, 3),), ["6 messages were produced and 3 consumed, but 5 are in the queue"]),
    ((lengths(9, 5, 1, 6, 3),), ["1 message is", "6 messages were produced and 3 consumed, but 6 are in the queue"]),
    # who waits for whom
    ((FULL, BUSY_P), ["no client consumes"]),
    ((FULL, BUSY_P, {"length": 3}), ["no client consumes"]),
    ((FULL, BUSY_P, {"length": 1}), []),
    ((FULL, BUSY_P, {"bound": b"0"}), []),
    ((FULL, BUSY_P, {"tokens": 1}), []),
    ((FULL, BUSY_P, BUSY_C), []),
    ((FULL, BUSY_P, BUSY_C, {"consumer": b"another program"}), []),
    ((FULL, BUSY_P, DEAD_C), ["not connected", "no client consumes; the last consumer, dead:1/main/00000000, is not connected"]),
    ((FULL, BUSY_P, {"consumer": DEAD}), ["no client consumes; the last consumer, dead:1/main/00000000, is not connected"]),
    ((FULL, BUSY_P, {"consumer": HERE}), ["and no client consumes$"]),
    ((FULL, BUSY_P, {"clients": None}), ["and no client consumes$"]),
    ((FULL, BUSY_C), []),
    ((BUSY_C, {"length": 0, "producer": DEAD}), ["the last producer, dead:1/main/00000000, is not connected"]),
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
    found = examined([CLIENTS, *(reply for replies in numbers for reply in replies)], *contexts)
    assert [(each.queue, each.length) for each in found] == [(b"a", 1), (b"b", 0), (b"c", 2)]


def test_a_diagnosis_is_printed_as_sentences() -> None:
    dead = told(DEAD_C, {"left_c": 2400, "idle": None}, BUSY_P, {"bound": b"0"})
    assert str(dead).splitlines()[:3] == [
        "'jobs': open, 1 values",
        "  producer: held by here:1/main/00000000",
        "  consumer: held by dead:1/main/00000000, with 2 s left of its lease, which is not connected",
    ]
    waiting = told(BUSY_P)
    assert str(waiting).splitlines() == [
        "'jobs': open, 1 of 2 values",
        "  producer: held by here:1/main/00000000 for about 4 s",
        "  consumer: free",
    ]


# Who may be dead


@pytest.mark.parametrize(("me", "others"), [(3, 2), (10, 2), (4, 3), (100, 3), (None, None)])
def test_other_clients_are_counted(me: int | None, others: int | None) -> None:
    assert _others(b"id=3 addr=a id=4\nid=10 a=b\nid=11\n\nno client\n", me) == others


def test_without_a_client_list_other_clients_are_not_counted() -> None:
    assert _others(None, 3) is None


@pytest.mark.parametrize(
    ("reply", "zero"),
    [
        ([b"timeout", b"0"], True), ([b"timeout", b"10"], False), ([], False), ([b"timeout"], False),
        ({b"timeout": b"0"}, True), ({b"timeout": b"10"}, False), ({b"timeout": b"+"}, False), ({}, False), (None, False),
    ],
)  # fmt: skip
def test_a_directive_of_0_is_recognized_in_the_reply_of_config_get(reply: Any, zero: bool) -> None:
    assert _is_zero(reply) is zero


@pytest.mark.parametrize(("seconds", "trusted"), [(STEADY, True), (STEADY + 1, True), (STEADY - 1, False)])
def test_a_server_is_trusted_if_it_has_been_master_for_long_enough(seconds: int, trusted: bool) -> None:
    info = [b"uptime_in_seconds:%d\n" % seconds, b"role:master\nmaster_replid2:0000\n"]
    assert steady(info) is trusted
    assert not steady([info[0], b"role:slave\nmaster_replid2:0000\n"])
    assert not steady([info[0], b"role:master\nmaster_replid2:00ab\n"])


SEEN: Final = Seen(
    b"2", 9, {PRODUCER: 0, CONSUMER: 0}, {PRODUCER: DEAD, CONSUMER: DEAD},
    connected=frozenset({b"me:1"}), others=0, steady=True, patient=True,
)  # fmt: skip
NOBODY: Final = replace(SEEN, holder={PRODUCER: None, CONSUMER: None})

DOUBTS: Final[list[tuple[Any, Seen, Seen, str | None]]] = [
    (CONSUMER, SEEN, SEEN, None),
    (CONSUMER, SEEN, replace(SEEN, unacked=1), None),
    (CONSUMER, SEEN, replace(SEEN, unacked=1, patient=False), "closes idle"),
    (CONSUMER, SEEN, replace(SEEN, unacked=0, patient=False), None),
    (PRODUCER, SEEN, replace(SEEN, unacked=1, patient=False), None),
    (PRODUCER, NOBODY, NOBODY, None),
    (PRODUCER, replace(NOBODY, others=1), NOBODY, "other clients are connected"),
    (PRODUCER, NOBODY, replace(NOBODY, others=1), "other clients are connected"),
    (PRODUCER, replace(NOBODY, others=1), replace(NOBODY, others=1), "other clients are connected"),
    (PRODUCER, replace(NOBODY, others=None), replace(NOBODY, others=None), "other clients are connected"),
]


@pytest.mark.parametrize(("role", "first", "last", "why"), DOUBTS)
def test_the_reason_why_a_holder_may_be_alive_is_given(
    role: Any, first: Seen, last: Seen, why: str | None
) -> None:
    found = doubt(role, first, last)
    assert found is None if why is None else why in str(found)


def half(bound: bytes | None, producer: int, consumer: int, used: bool = False) -> Seen:
    return replace(SEEN, bound=bound, used=used, free={PRODUCER: producer, CONSUMER: consumer})


def test_an_unfinished_create_is_recognized_by_its_missing_list_elements() -> None:
    numbers = range(-1, 3)
    free = [(producer, consumer) for producer in numbers for consumer in numbers]
    assert [each for each in free if half(b"2", *each).half_created] == [(0, 0), (1, 0), (1, 1)]
    assert not half(None, 0, 0).half_created
    assert not half(b"2", 0, 0, used=True).half_created
