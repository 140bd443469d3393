"""Writing rows to a queue: each batch is put once, even if its writer dies at any step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import redis

from pressure import PressureError, Queue, QueueClosedError, QueueDoesNotExistError
from pressure.spark import NotDeliveredError, RowsGoneError
from pressure.spark import sink as module
from pressure.spark.sink import Sink, Staged

from ..cases import exhaustive
from .conftest import Place, some


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOVED_TOGETHER", 4)
    monkeypatch.setattr(module, "STAGED_TOGETHER", 3)


def staged(sink: Sink, *partitions: Sequence[bytes], writer: str = "w") -> list[Staged]:
    return [sink.stage([rows], number, writer) for number, rows in enumerate(partitions)]


def killed(sink: Sink, batch: int, rows: list[Staged], most: int) -> None:
    """Commit a batch in a process that ends after so many scripts."""
    run, count = sink._server.script, [0]

    def script(*args: Any) -> Any:
        if count[0] == most:
            raise Killed
        count[0] += 1
        return run(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sink._server, "script", script)
        with pytest.raises(Killed):
            sink.commit("w", batch, rows)


def left_over(raw: redis.Redis, name: str) -> list[bytes]:
    found: Any = raw.keys(f"__spark__:stage:*:{name}")
    return list(found)


def test_a_batch_is_put_in_the_order_of_its_partitions(place: Place, raw: redis.Redis) -> None:
    place.put(b"before")
    with Sink(place.options()) as sink:
        assert sink.commit("w", 0, staged(sink, some(0, 10), [], some(10, 15))) == 15
    assert place.look() == [b"before", *some(0, 15)]
    assert left_over(raw, place.name) == []


def test_a_batch_that_is_committed_again_is_put_once(place: Place, raw: redis.Redis) -> None:
    with Sink(place.options()) as sink:
        sink.commit("w", 7, staged(sink, some(0, 5)))
        assert sink.commit("w", 7, staged(sink, some(0, 5))) == 0
        assert sink.commit("w", 6, staged(sink, some(0, 5))) == 0
        assert sink.commit("other", 7, staged(sink, some(5, 8))) == 3
        assert sink.commit("w", 8, staged(sink, some(8, 9))) == 1
    assert place.look() == some(0, 9)
    assert left_over(raw, place.name) == []


@pytest.mark.parametrize("steps", range(6))
def test_a_commit_killed_at_any_step_and_run_again_puts_each_row_once(
    place: Place, raw: redis.Redis, steps: int
) -> None:
    """Decide, move 4, 3, 4 and 4 rows, end: whichever is not done any more."""
    with Sink(place.options()) as sink:
        rows = staged(sink, some(0, 7), some(7, 15))
        killed(sink, 3, rows, steps)
    with Sink(place.options()) as sink:
        again = staged(sink, some(7, 15), some(0, 7))  # as a shuffle may deal them another time
        sink.commit("w", 3, again)
    assert sorted(place.look()) == sorted(some(0, 15))
    assert left_over(raw, place.name) == []


def test_two_drivers_that_commit_one_batch_put_each_row_once(place: Place, raw: redis.Redis) -> None:
    """One goes on where the other is, and neither doubles."""
    with Sink(place.options()) as one, Sink(place.options()) as two:
        first, second = staged(one, some(0, 40)), staged(two, some(0, 40))
        threads = [
            threading.Thread(target=sink.commit, args=("w", 0, rows))
            for sink, rows in ((one, first), (two, second))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert place.look() == some(0, 40)
    assert left_over(raw, place.name) == []


def test_a_commit_finishes_an_unfinished_earlier_batch_first(place: Place) -> None:
    with Sink(place.options()) as sink:
        rows = staged(sink, some(0, 7))
        killed(sink, 1, rows, 2)
        sink.commit("w", 2, staged(sink, some(7, 9)))
    assert place.look() == some(0, 9)


def test_a_run_whose_batch_is_older_than_that_of_another_run_is_refused(place: Place) -> None:
    with Sink(place.options()) as sink:
        rows = staged(sink, some(0, 7))
        killed(sink, 5, rows, 2)
        with pytest.raises(PressureError, match="another run of this query has begun batch 5"):
            sink.commit("w", 4, staged(sink, some(7, 9)))


def test_a_task_that_outlives_its_commit_writes_only_to_its_own_list(place: Place, raw: redis.Redis) -> None:
    with Sink(place.options()) as sink:
        (orphan,) = staged(sink, some(0, 3))
        good = staged(sink, some(0, 5))
        sink.commit("w", 0, good)
        key = sink._stage(orphan.id)
        assert not raw.exists(key)
        sink._push(orphan.id, 3, [b"it goes on"], "w")
        assert 0 < raw.ttl(key) <= 86_400
    assert place.look() == some(0, 5)
    raw.delete(key)


def test_a_commit_whose_staged_rows_are_gone_is_an_error(place: Place, raw: redis.Redis) -> None:
    with Sink(place.options()) as sink:
        rows = staged(sink, [], some(0, 2), some(2, 5))
        raw.delete(sink._stage(rows[2].id))
        with pytest.raises(RowsGoneError, match="of 3 staged rows, 0 are left"):
            sink.commit("w", 0, rows)
        assert place.look() == []


def test_an_abort_drops_staged_rows_unless_their_commit_has_begun(place: Place, raw: redis.Redis) -> None:
    with Sink(place.options()) as sink:
        sink.abandon("w", staged(sink, some(0, 3), []))
        assert left_over(raw, place.name) == []
        rows = staged(sink, some(0, 9))
        killed(sink, 0, rows, 2)
        sink.abandon("w", rows)
        sink.commit("w", 0, [])
    assert place.look() == some(0, 9)


def test_a_commit_drops_what_attempts_that_died_have_staged(place: Place, raw: redis.Redis) -> None:
    with Sink(place.options()) as sink:
        staged(sink, some(0, 3), some(3, 6))  # the driver dies, and its query is run again
        staged(sink, some(0, 3), writer="another")
        sink.commit("w", 0, staged(sink, some(0, 3), some(3, 6)))
        assert len(left_over(raw, place.name)) == 1
        sink.commit("another", 0, staged(sink, some(6, 8), writer="another"))
    assert left_over(raw, place.name) == []
    assert place.look() == some(0, 8)


@pytest.mark.parametrize("batches", [50, exhaustive(200)])
def test_a_stream_of_many_batches_leaves_a_bounded_number_of_keys(
    batches: int, place: Place, raw: redis.Redis
) -> None:
    with Sink(place.options()) as sink:
        for batch in range(batches):
            staged(sink, [b"an attempt that failed"])
            sink.commit("w", batch, staged(sink, [b"a"]))
    assert raw.keys(f"__spark__:*{place.name}") == [sink._marker("w")]


def test_a_write_that_is_done_once_leaves_no_key(place: Place, raw: redis.Redis) -> None:
    with Sink(place.options()) as sink:
        sink.commit("w", 0, staged(sink, some(0, 3)), consecutive=False, once=True)
    assert raw.keys(f"__spark__:*{place.name}") == []


def test_plain_delivery_pushes_rows_without_staging(place: Place, raw: redis.Redis) -> None:
    with Sink(place.options(delivery="plain")) as sink:
        assert sink.push([some(0, 8), some(8, 10)]) == 10
    assert place.look() == some(0, 10)
    assert not raw.keys(f"__spark__:*:{place.name}")


def test_rows_are_staged_in_parts_of_limited_size() -> None:
    values = [b"x" * 400_000] * 5
    assert [len(part) for part in module._parts(values)] == [2, 1, 2]
    assert [len(part) for part in module._parts(some(0, 7))] == [3, 3, 1]


# The pressure queue: room, roles, counters.


def test_a_full_queue_makes_the_writer_wait(make: Callable[..., Place]) -> None:
    place = make(bound=6)
    got: list[bytes] = []

    def consume() -> None:
        queue = Queue(place.name, url=place.url)
        got.extend(queue.get(timeout=30) for _ in range(50))

    thread = threading.Thread(target=consume)
    thread.start()
    with Sink(place.options()) as sink:
        assert sink.commit("w", 0, staged(sink, some(0, 30), some(30, 50))) == 50
    thread.join()
    assert got == some(0, 50)
    assert place.queue.doctor().problems == ()
    stats = place.queue.stats()
    assert (stats.produced_messages, stats.produced_bytes) == (50, sum(map(len, some(0, 50))))


def test_a_commit_that_timed_out_on_a_full_queue_is_finished_by_the_next_run(
    make: Callable[..., Place], raw: redis.Redis
) -> None:
    place = make(bound=6)
    with Sink(place.options(timeout=0.2)) as sink:
        rows = staged(sink, some(0, 10))
        with pytest.raises(NotDeliveredError, match=r"it was full for 0\.2 s; 6 rows were put, and 4"):
            sink.commit("w", 0, rows)
        sink.abandon("w", rows)
    assert place.look() == some(0, 6)
    assert [raw.ttl(key) > 86_400 for key in left_over(raw, place.name)] == [True]  # it is kept for long
    assert place.queue.full()
    assert place.queue.get_many(6) == some(0, 6)
    with Sink(place.options(timeout=0.2)) as sink:
        sink.commit("w", 0, staged(sink, some(0, 10)))
    assert place.look() == some(6, 10)
    assert left_over(raw, place.name) == []


def test_a_commit_waits_for_the_producer_role_until_its_timeout(
    make: Callable[..., Place], raw: redis.Redis
) -> None:
    place = make()
    raw.rpop(place.queue.keys.producer_free)
    with Sink(place.options(timeout=0.2)) as sink, pytest.raises(NotDeliveredError, match="was producing"):
        sink.commit("w", 0, staged(sink, some(0, 3)))


def test_a_commit_to_a_closed_or_deleted_queue_is_an_error(make: Callable[..., Place]) -> None:
    place = make()
    with Sink(place.options()) as sink:
        rows = staged(sink, some(0, 3))
        place.queue.shutdown()
        with pytest.raises(QueueClosedError):
            sink.commit("w", 0, rows)
        place.queue.delete()
        with pytest.raises(QueueDoesNotExistError):
            sink.commit("w", 0, rows)


def test_after_a_commit_the_queue_has_a_token_only_if_it_has_room(make: Callable[..., Place]) -> None:
    place = make(bound=3)
    with Sink(place.options()) as sink:
        sink.commit("w", 0, staged(sink, some(0, 2)))
        place.queue.put_nowait(b"third")
        place.queue.get()
        sink.commit("w", 1, staged(sink, some(2, 3)))
        with pytest.raises(PressureError, match="full"):
            place.queue.put_nowait(b"no room")
