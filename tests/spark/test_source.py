"""A queue as a stream: rows are claimed once, read again after a crash, and acknowledged by one owner."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import redis

from pressure import QueueDoesNotExistError, QueueInUseError
from pressure.spark import RowsGoneError, ServerRollbackError, ownership
from pressure.spark import rows as replies
from pressure.spark import source as module
from pressure.spark.claimed import State
from pressure.spark.source import Source, slices

from .conftest import Place, each_of, some

pytestmark = pytest.mark.usefixtures("forked")

SHORT = 0.3
"""Seconds of a lease that is to run out."""


@contextmanager
def reading(place: Place, **options: object) -> Iterator[Source]:
    source = Source(place.options(**options))
    try:
        yield source
    finally:
        source.release()


def values(source: Source, start: int, end: int, state: State | None = None) -> list[bytes]:
    found = source.read(state or source.state, start, end)
    return [value for _, rows in found for value in rows.values]


def test_rows_are_claimed_in_parts_and_acknowledged(place: Place) -> None:
    place.put(*some(0, 25))
    with reading(place) as source:
        assert source.state.first == 0
        assert source.advance(0, 10) == 10
        assert place.look() == some(10, 25)
        assert values(source, 0, 10) == some(0, 10)
        assert source.advance(10, 10) == 20
        assert source.acknowledge(10) == 10
        assert values(source, 10, 20) == some(10, 20)
        assert source.advance(20, None) == 25
        assert source.acknowledge(25) == 0
        assert source.advance(25, 10) == 25
        assert source.leave() == 0
    assert place.look() == []


def test_claimed_rows_are_read_again_by_the_next_run(place: Place) -> None:
    place.put(*some(0, 30))
    with reading(place) as source:
        source.advance(0, 10)
        source.acknowledge(4)
    with reading(place) as source:
        assert (source.state.first, source.state.claimed) == (4, 10)
        assert values(source, 4, 10) == some(4, 10)
        assert values(source, 6, 9) == some(6, 9)
        assert source.advance(10, 5) == 15
        assert values(source, 10, 15) == some(10, 15)


def test_a_claim_missing_from_the_checkpoint_is_part_of_the_next_batch(place: Place) -> None:
    place.put(*some(0, 30))
    with reading(place) as source:
        source.advance(0, 10)
    with reading(place) as source:
        assert source.advance(0, 5) == 5
        assert source.advance(0, 12) == 12
        assert source.state.claimed == 12


def test_draining_ends_at_the_given_offset(place: Place) -> None:
    place.put(*some(0, 12))
    with reading(place) as source:
        end = source.state.claimed + source.waiting()
        place.put(*some(12, 20))
        seen = [0]
        while (reached := source.advance(seen[-1], 5, end)) != seen[-1]:
            seen.append(reached)
        assert seen == [0, 5, 10, 12]


def test_a_second_query_on_one_queue_is_refused(place: Place) -> None:
    place.put(*some(0, 3))
    with reading(place) as source, reading(place, timeout=0.1) as other:
        source.advance(0, None)
        with pytest.raises(QueueInUseError, match="another query"):
            other.advance(0, None)


def test_a_query_whose_lease_expired_is_replaced_and_refused(place: Place) -> None:
    place.put(*some(0, 3))
    with reading(place, lease=SHORT) as dead, reading(place) as source:
        dead.advance(0, None)
        dead._owner.stop_renewing()
        assert values(source, 0, 3) == some(0, 3)
        with pytest.raises(QueueInUseError, match="another query"):
            dead.acknowledge(3)
        with pytest.raises(QueueInUseError, match="another query"):
            dead.advance(3, 1)
        assert source.acknowledge(3) == 0


OWNER = """
import json, sys
from pressure.spark.options import options_of
from pressure.spark.source import Source
source = Source(options_of(json.loads(sys.argv[1])))
print(source.state.id, flush=True)
input()
"""


@contextmanager
def owner_elsewhere(place: Place) -> Iterator[subprocess.Popen[str]]:
    """A process that owns the queue, for a long time."""
    given = {"queue": place.name, "url": place.url, "kind": place.kind, "lease": "300"}
    command = [sys.executable, "-c", OWNER, json.dumps(given)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def test_a_killed_owner_is_replaced_at_once(make: Callable[..., Place]) -> None:
    place = make()
    with owner_elsewhere(place) as process, reading(place, timeout=60) as source:
        process.kill()
        process.wait()
        assert source.state


@pytest.mark.parametrize("gone", [True, False], ids=["its process seems to be gone", "it is not connected"])
def test_an_owner_that_may_be_alive_is_not_replaced(
    make: Callable[..., Place], gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*((ownership, "_ended", lambda _: True) if gone else (ownership, "connected", set)))
    place = make()
    with (
        owner_elsewhere(place),
        reading(place, lease=SHORT, timeout=SHORT) as source,
        pytest.raises(QueueInUseError, match="another query"),
    ):
        assert source.state


def test_the_lease_of_a_stream_is_renewed(place: Place, raw: redis.Redis) -> None:
    with reading(place, lease=SHORT) as source:
        owner = source._keys[0]
        assert source.state
        lefts = [raw.pttl(owner)]
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            lefts.append(raw.pttl(owner))
            if lefts[-1] > lefts[-2]:
                return
    pytest.fail(f"never renewed: {lefts[-5:]}")


def test_offsets_that_were_acknowledged_or_are_of_another_stream_are_refused(place: Place) -> None:
    place.put(*some(0, 10))
    with reading(place) as source:
        source.advance(0, None)
        source.acknowledge(5)
        source.check(source.state.id, 5)
        with pytest.raises(RowsGoneError, match="the rows before 5 were acknowledged"):
            source.check(source.state.id, 4)
        with pytest.raises(ServerRollbackError, match="Spark has seen the rows before 11"):
            source.check(source.state.id, 11)
        with pytest.raises(RowsGoneError, match="new checkpoint"):
            source.check("another", 5)
        with pytest.raises(ServerRollbackError, match="Spark has seen the rows before 11"):
            source.acknowledge(11)
        with pytest.raises(RowsGoneError):
            values(source, 4, 6)
        with pytest.raises(RowsGoneError):
            values(source, 9, 11)


def test_a_reader_with_an_older_state_reads_the_same_rows(place: Place) -> None:
    place.put(*some(0, 10))
    with reading(place) as source:
        source.advance(0, None)
        older = source.state
        source.acknowledge(5)
        assert values(source, 6, 9, older) == some(6, 9)


def test_rows_are_claimed_and_read_in_several_replies(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "READ_TOGETHER", 7)
    monkeypatch.setattr(module, "CLAIMED_TOGETHER", 9)
    place.put(*some(0, 40))
    with reading(place) as source:
        assert source.advance(0, None) == 40
        assert values(source, 3, 39) == some(3, 39)


def test_rows_of_a_reliable_queue_have_ids_and_delivery_counts(make: Callable[..., Place]) -> None:
    place = make("reliable")
    ids = place.queue.push(b"a", b"b c")
    (message,) = place.queue.pop()
    assert place.queue.retry(message, 0)
    place.queue.push(b"later", delay=0)
    with reading(place) as source:
        source.advance(0, None)
        ((_, found),) = source.read(source.state, 0, 3)
    rows = each_of(found)
    assert {row.value: row.deliveries for row in rows} == {b"a": 2, b"b c": 1, b"later": 1}
    second = next(row for row in rows if row.value == b"b c")
    assert second.id == ids[1].decode()
    assert second.enqueued == int(ids[1].split(b"-")[0])


def test_rows_of_items_in_envelopes_have_the_ids_of_the_envelopes(
    make: Callable[..., Place], raw: redis.Redis
) -> None:
    place = make("backup")
    mark = b"0123456789abcdef" * 2
    raw.lpush(f"queue:{place.name}", mark + b" inside", b"without")
    with reading(place, envelope="true") as source:
        source.advance(0, None)
        ((_, rows),) = source.read(source.state, 0, 2)
    assert [(row.value, row.id) for row in each_of(rows)] == [(b"inside", mark.decode()), (b"without", None)]


# The pressure queue: the consumer's role, the token, the counters.


def test_a_stream_holds_the_consumer_role(make: Callable[..., Place]) -> None:
    place = make(bound=5)
    place.put(*some(0, 5))
    with reading(place) as source:
        source.advance(0, None)
        place.queue.put_nowait(b"there is room")
        assert place.queue.stats().unacknowledged == 5
        with pytest.raises(QueueInUseError, match="spark/"):
            place.queue.get_nowait()
        source.acknowledge(3)
        assert source.advance(5, None) == 6
        source.acknowledge(6)
        source.leave()
    assert place.queue.doctor().problems == ()
    assert place.queue.stats().consumed_messages == 6
    place.put(b"next")
    assert place.queue.get_nowait() == b"next"


def test_a_stream_waits_for_the_consumer_role(make: Callable[..., Place]) -> None:
    place = make()
    place.put(b"a")
    with (
        place.queue.receive(),
        reading(place, timeout=0.2) as source,
        pytest.raises(QueueInUseError, match="role"),
    ):
        source.advance(0, None)


def test_a_stream_reads_unacknowledged_messages_of_a_dead_consumer_first(
    make: Callable[..., Place], raw: redis.Redis
) -> None:
    place = make()
    place.put(*some(0, 3))
    raw.lmove(place.queue.keys.queue, place.queue.keys.unacked, "RIGHT", "LEFT")
    with reading(place) as source:
        assert source.advance(0, None) == 3
        assert values(source, 0, 3) == some(0, 3)


def test_a_repair_by_force_ends_the_stream(make: Callable[..., Place]) -> None:
    place = make()
    place.put(*some(0, 3))
    with reading(place) as source:
        source.advance(0, 2)
        before = source.state
        place.queue.repair(force=True)
        assert place.look() == some(0, 3)
        for touch in (
            lambda: source.advance(2, 1),
            lambda: source.acknowledge(2),
            lambda: values(source, 0, 2),
        ):
            with pytest.raises(RowsGoneError, match="put the claimed rows back"):
                touch()
    with reading(place) as source:
        assert source.state.id != before.id
        assert source.advance(0, None) == 3


def test_a_stream_whose_queue_is_deleted_ends_with_an_error(
    make: Callable[..., Place], raw: redis.Redis
) -> None:
    place = make()
    place.put(*some(0, 3))
    with reading(place) as source:
        source.advance(0, 2)
        raw.delete(place.queue.keys.bound)  # as Delete begins
        with pytest.raises(QueueDoesNotExistError):
            source.advance(2, 2)
        place.queue.delete(timeout=5)  # which waits for the role
    with reading(place) as source, pytest.raises(QueueDoesNotExistError):
        source.advance(0, None)


@pytest.mark.parametrize(
    ("start", "end", "number", "expected"),
    [
        (0, 0, 4, []),
        (5, 6, 4, [(5, 6)]),
        (0, 2000, 4, [(0, 1000), (1000, 2000)]),
        (10, 4010, 3, [(10, 1343), (1343, 2676), (2676, 4010)]),
    ],
)
def test_a_range_of_rows_is_divided_into_slices(
    start: int, end: int, number: int, expected: list[tuple[int, int]]
) -> None:
    assert slices(start, end, number) == expected
