"""BackupQueue, beyond what the clauses of ``conformance`` say: what ``requeue_stale`` costs, and what it meets."""

from __future__ import annotations

import threading
from itertools import chain
from typing import Any

import pytest
import redis

import miniredis
from pressure import BackupQueue, QueueInUseError
from pressure.kinds import commands
from pressure.kinds.backup.lua import REAP
from pressure.protocol.lua import Script
from pressure.protocol.sizes import MOST_BYTES

from ..conftest import StartTask, until, waiting
from .conftest import Make, datas

JOBS = "queue:jobs"
PROCESSING, CLAIMS = f"{JOBS}:processing", f"{JOBS}:claims"


class MishapError(Exception):
    """What goes wrong in a block."""


@pytest.fixture
def queue(make: Make) -> Any:
    return make("BackupQueue")


def contents(raw: redis.Redis) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """What waits, what is in progress, each the next to be taken first; and the items with times."""
    lists: list[Any] = [raw.lrange(key, 0, -1) for key in (JOBS, PROCESSING)]
    times: Any = raw.zrange(CLAIMS, 0, -1)
    return lists[0][::-1], lists[1][::-1], sorted(times)


def age(raw: redis.Redis, seconds: float, *items: bytes) -> None:
    """Makes claims older."""
    for item in items:
        raw.zadd(CLAIMS, {item: -1000 * seconds}, xx=True, incr=True)


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look of a reaper ends after so few bytes that several are needed."""
    text = REAP.text.replace(b"most_bytes = %d" % MOST_BYTES, b"most_bytes = 2")
    assert text != REAP.text
    monkeypatch.setattr("pressure.kinds.backup.operations.REAP", Script(text))


@pytest.mark.usefixtures("few_at_once")
def test_requeue_stale_puts_back_equal_items_over_several_rounds(queue: Any, raw: redis.Redis) -> None:
    items = [b"v", b"w", b"v", b"x", b"v", b"w"]
    queue.push(*items)
    for _ in items:
        queue.claim()
    age(raw, 100, b"v", b"w")
    assert datas(queue.requeue_stale(60)) == [b"v", b"w", b"v", b"v", b"w"]
    assert contents(raw) == ([b"v", b"w", b"v", b"v", b"w"], [b"x"], [b"x"])


@pytest.mark.usefixtures("few_at_once")
def test_requeue_stale_does_not_search_the_list_for_each_claim(queue: Any, raw: redis.Redis) -> None:
    items = [b"%d" % number for number in range(50)]
    queue.push(*items)
    for _ in items:
        queue.claim()
    raw.config_resetstat()
    assert queue.requeue_stale(60) == []
    stats: Any = raw.info("commandstats")
    assert "cmdstat_lpos" not in stats
    assert "cmdstat_lrem" not in stats
    assert contents(raw) == ([], items, sorted(items))
    assert datas(queue.requeue_stale(0)) == items
    assert contents(raw) == (items, [], [])


def test_the_work_of_requeue_stale_grows_with_the_list_and_not_with_its_square(
    queue: Any, raw: redis.Redis
) -> None:
    """Commands that walk along the list, by an item or to an index, are not sent."""
    fresh, stale = ([b"%s%d" % (name, number) for number in range(300)] for name in (b"f", b"s"))
    raw.lpush(PROCESSING, *stale, *fresh)
    raw.zadd(CLAIMS, dict.fromkeys(stale, 1) | dict.fromkeys(fresh, 1e15))
    raw.config_resetstat()
    assert datas(queue.requeue_stale(60)) == stale
    stats: Any = raw.info("commandstats")
    calls = {name.removeprefix("cmdstat_"): each["calls"] for name, each in stats.items()}
    assert not {"lrem", "lpos", "linsert", "lset"} & calls.keys()
    assert calls.get("lrange", 0) <= 1
    assert sum(calls.values()) < 8 * len(fresh + stale)
    assert contents(raw) == (stale, fresh, sorted(fresh))


def test_requeue_stale_of_0_seconds_puts_all_items_back(queue: Any, raw: redis.Redis) -> None:
    queue.push(b"1", b"2")
    queue.claim()
    raw.lmove(JOBS, PROCESSING, "RIGHT", "LEFT")
    assert datas(queue.requeue_stale(0)) == [b"1", b"2"]
    assert contents(raw) == ([b"1", b"2"], [], [])


def test_envelopes_tell_equal_items_apart(make: Make, raw: redis.Redis) -> None:
    queue = make("BackupQueue", envelope=True, codec="json")
    queue.push({"n": 1}, {"n": 1})
    raw.lpush(JOBS, '{"n": 2}')  # from somebody who has none
    first, second, third = (queue.claim() for _ in range(3))
    assert first.value == second.value == {"n": 1}
    assert len({first.id, second.id}) == 2
    assert (third.id, third.value) == (None, {"n": 2})
    age(raw, 100, first.data)
    assert queue.requeue_stale(60) == [first]


def test_keys_can_be_chosen(make: Make, raw: redis.Redis) -> None:
    queue = make("BackupQueue", key="a", processing="b", claims=b"c")
    queue.push(b"1", b"2")
    queue.claim()
    assert sorted(raw.keys()) == [b"a", b"a:kind", b"b", b"c"]
    assert queue.name == b"jobs"


def test_concurrent_requeue_stale_calls_put_no_item_back_twice(
    make: Make, raw: redis.Redis, task: StartTask
) -> None:
    items = [b"%d" % number for number in range(60)]
    first = make("BackupQueue")
    first.push(*items)
    for _ in items:
        first.claim()
    reapers = [make("BackupQueue") for _ in range(4)]
    begin = threading.Barrier(4)

    def reap(queue: Any) -> list[bytes]:
        begin.wait()
        return datas(queue.requeue_stale(0))

    back = [each.result() for each in [task(lambda queue=queue: reap(queue)) for queue in reapers]]  # type: ignore[misc]
    assert sorted(chain.from_iterable(back)) == sorted(items)
    assert contents(raw) == (items, [], [])


def test_requeue_stale_raises_when_other_clients_always_win_the_race(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "ATTEMPTS", 0)
    with (
        BackupQueue("jobs", url=redis_url, scripts=False) as queue,
        pytest.raises(QueueInUseError, match="'jobs'"),
    ):
        queue.requeue_stale(1)


@pytest.mark.parametrize(
    ("options", "what"), [({"maxlen": 0}, "maxlen"), ({"codec": "xml"}, "codec"), ({"port": 0}, "port")]
)
def test_contradictory_options_are_refused(make: Make, options: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        make("BackupQueue", **{**({"url": None} if "port" in options else {}), **options})


def test_arguments_are_checked_before_anything_is_sent(queue: Any, raw: redis.Redis) -> None:
    with pytest.raises(TypeError, match="a value must be"):
        queue.push(b"v", 1)
    with pytest.raises(ValueError, match="timeout"):
        queue.claim(timeout=-1)
    with pytest.raises(ValueError, match="older_than"):
        queue.requeue_stale(-1)
    assert raw.keys() == []


def test_requeue_stale_measures_age_by_the_servers_clock(held: miniredis.Server) -> None:
    with BackupQueue("jobs", url=held.url) as queue:
        queue.push(b"v")
        queue.claim()
        held.fast_forward(59)
        assert queue.requeue_stale(60) == []
        held.fast_forward(1)
        assert datas(queue.requeue_stale(60)) == [b"v"]


def test_interrupt_stops_a_claim_that_waits(redis_url: str, raw: redis.Redis, task: StartTask) -> None:
    with BackupQueue("jobs", url=redis_url) as queue:
        stop = threading.Event()
        queue.interrupt = lambda: MishapError() if stop.is_set() else None
        working = task(queue.claim)
        waiting(raw)
        stop.set()
        until(working.done)
        with pytest.raises(MishapError):
            working.result()
