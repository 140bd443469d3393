"""Several consumer groups on one stream: none takes a message from the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis

from tests.cases import exhaustive_but

from ..conftest import Make
from .conftest import JOBS, SETTINGS, USUAL, counts, datas

WITHOUT_MODULE = [each for each in SETTINGS if "module" not in each]


@pytest.fixture(params=exhaustive_but(set(USUAL) & set(WITHOUT_MODULE), WITHOUT_MODULE))
def setting(request: pytest.FixtureRequest) -> str:
    """The module has no groups."""
    return str(request.param)


@pytest.fixture
def two(make: Make, raw: redis.Redis) -> tuple[Any, Any]:
    """Queues of two groups."""
    raw.xgroup_create(JOBS, "workers", "0", mkstream=True)
    raw.xgroup_create(JOBS, "audit", "0")
    return make(), make(group="audit")


def entries(raw: redis.Redis) -> Any:
    return raw.xrange(JOBS)


def test_a_message_is_deleted_when_all_groups_have_acknowledged_it(
    two: tuple[Any, Any], raw: redis.Redis
) -> None:
    work, audit = two
    ids = work.push(b"1", b"2")
    assert work.ack(*work.pop(2)) == ids
    assert raw.xlen(JOBS) == 2
    tells = "lag" in raw.xinfo_groups(JOBS)[0]  # Redis 6.2 does not tell how many a group has left
    assert counts(work)[:2] == ((0, 0) if tells else (2, 0))
    first, second = audit.pop(2)
    assert (first.data, second.data) == (b"1", b"2")
    assert audit.ack(second) == [second.id]
    assert [each[0] for each in entries(raw)] == [first.id]
    assert audit.ack(first) == [first.id]
    assert raw.xlen(JOBS) == 0


def test_a_message_that_another_group_has_not_been_delivered_stays(
    two: tuple[Any, Any], raw: redis.Redis
) -> None:
    work, audit = two
    work.push(b"1", b"2", b"3")
    audit.ack(*audit.pop(2))
    work.ack(*work.pop(3))
    assert [fields[b"payload"] for _, fields in entries(raw)] == [b"3"]
    assert datas(audit.pop(5)) == [b"3"]


def test_a_retry_goes_to_its_own_group(two: tuple[Any, Any], age: Callable[[float], None]) -> None:
    work, audit = two
    work.push(b"v")
    (mine,), (theirs,) = work.pop(), audit.pop()
    assert audit.retry(theirs, 60)
    age(61)
    assert work.pop(block=False) == []
    (again,) = audit.pop(block=False)
    assert (again.data, again.deliveries) == (b"v", 2)
    assert work.ack(mine) == [mine.id]
    assert audit.ack(again) == [again.id]
    assert counts(work) == counts(audit) == (0, 0, 0, 0)


def test_ids_of_any_length_are_compared_as_numbers(two: tuple[Any, Any], raw: redis.Redis) -> None:
    work, audit = two
    for each in ("9-1", "10-9", "10-18446744073709551614"):
        raw.xadd(JOBS, {"payload": each}, each)
    audit.ack(*audit.pop(2))
    work.ack(*work.pop(3))
    assert [each for each, _ in entries(raw)] == [b"10-18446744073709551614"]
