"""Several tasks read a queue without changing it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from pressure.spark import RowsGoneError, peeking
from pressure.spark import rows as replies
from pressure.spark.peeking import Peek, Slice

from .conftest import One, Place, each_of, some


@pytest.fixture(autouse=True)
def small_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "READ_TOGETHER", 7)


def rows(peek: Peek, plan: list[Slice]) -> list[tuple[int, One]]:
    return [
        (at, row)
        for part in plan
        for first, found in peek.read(part)
        for at, row in enumerate(each_of(found), first)
    ]


def test_partitions_return_all_rows_in_order_and_take_nothing(place: Place) -> None:
    place.put(*some(0, 30))
    with Peek(place.options(partitions=3)) as peek:
        found = rows(peek, peek.plan())
    assert [at for at, _ in found] == list(range(30))
    assert [row.value for _, row in found] == some(0, 30)
    assert {row.deliveries for _, row in found} == {0}
    assert place.look() == some(0, 30)


def test_partitions_read_a_snapshot_of_the_queue(make: Callable[..., Place], raw: redis.Redis) -> None:
    place = make("backup")
    place.put(*some(0, 2500))
    with Peek(place.options(partitions=2)) as peek:
        plan = peek.plan()
        assert len(plan) == 2
        for _ in range(3):
            place.queue.claim()
        place.put(b"later")
        assert [row.value for _, row in rows(peek, plan)] == some(0, 2500)
        assert 0 < raw.ttl(plan[0].key) <= peeking.KEPT
        raw.delete(plan[0].key)
        with pytest.raises(RowsGoneError, match="copy was dropped"):
            rows(peek, plan)


def test_the_plans_of_one_look_at_a_table_share_a_copy(make: Callable[..., Place], raw: redis.Redis) -> None:
    place = make("backup")
    place.put(*some(0, 2500))
    with Peek(place.options(partitions=2), "table") as peek:
        plans = [peek.plan() for _ in range(3)]
        assert plans[0] == plans[1] == plans[2]
        assert raw.keys(f"__spark__:snapshot:table:*:queue:{place.name}") == [plans[0][0].key]
        place.put(b"later")
        assert len(rows(peek, plans[0][:1])) == 1250
        assert peek.plan() == plans[0]
        assert [row.value for _, row in rows(peek, plans[0][1:])] == some(1250, 2500)
        assert 0 < raw.ttl(plans[0][0].key) <= peeking.READ
        assert not raw.exists(
            f"__spark__:slices:{plans[0][0].key.split(b':')[3].decode()}:queue:{place.name}"
        )
        assert (
            sum(part.end - part.start for part in peek.plan()) == 2501
        )  # it was read, so there is a new one


def test_without_a_snapshot_the_queue_is_read_as_it_is_now(make: Callable[..., Place]) -> None:
    place = make("backup")
    place.put(*some(0, 9))
    with Peek(place.options(snapshot="false")) as peek:
        plan = peek.plan()
        place.queue.claim()
        assert [row.value for _, row in rows(peek, plan)] == some(1, 9)


def test_an_empty_queue_has_no_rows(place: Place) -> None:
    with Peek(place.options()) as peek:
        assert rows(peek, peek.plan()) == []


def test_delivered_messages_are_not_among_the_rows(make: Callable[..., Place]) -> None:
    place = make("reliable")
    ids = place.queue.push(*some(0, 3))
    place.queue.pop()
    with Peek(place.options()) as peek:
        found = rows(peek, peek.plan())
    assert [(at, row.value, row.id) for at, row in found] == [
        (0, b"row 1", ids[1].decode()),
        (1, b"row 2", ids[2].decode()),
    ]
