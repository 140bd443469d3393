"""A server that has lost its last changes, as after a power loss, is noticed by streams and by writers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from pressure.spark import ServerRollbackError
from pressure.spark.server import QueueServer
from pressure.spark.sink import Sink
from pressure.spark.source import Source, offset_of

from ..pressure.conftest import until
from ..servers import RealServer, answers
from .conftest import Place, some


@pytest.fixture
def go_back(
    place: Place, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], Callable[[], None]]:
    """Notes what the server has of the queue; what it returns makes the server go back to that."""

    def keys() -> list[bytes]:
        found: Any = raw.keys(f"*{place.name}*")
        return [key for key in found if b":owner:" not in key]

    def note() -> Callable[[], None]:
        saved: dict[bytes, Any] = {key: raw.dump(key) for key in keys()}

        def restore() -> None:
            for key in keys():
                raw.delete(key)
            for key, value in saved.items():
                raw.restore(key, 0, value)
            monkeypatch.setattr(QueueServer, "run_id", "another")

        return restore

    return note


def read(source: Source, start: int, end: int) -> list[bytes]:
    return [value for _, rows in source.read(source.state, start, end) for value in rows.values]


@contextmanager
def reading(place: Place, **options: object) -> Iterator[Source]:
    source = Source(place.options(**options))
    try:
        yield source
    finally:
        source.release()


def test_a_stream_says_which_rows_the_server_does_not_know_any_more(
    place: Place, go_back: Callable[[], Callable[[], None]]
) -> None:
    place.put(*some(0, 12))
    with reading(place) as source:
        source.advance(0, 5)
        back = go_back()
        source.advance(5, 5)
        stream = source.state.id
    back()
    told = r"Spark has seen the rows before 10, and the server knows those before 5; the rows 5 to 9 are in"
    with reading(place) as source:
        with pytest.raises(ServerRollbackError, match=told):
            source.check(stream, 10)
        with pytest.raises(ServerRollbackError, match=told):
            source.acknowledge(10)


def test_a_stream_that_is_to_resume_reads_again_what_the_server_has(
    place: Place, go_back: Callable[[], Callable[[], None]]
) -> None:
    place.put(*some(0, 12))
    with reading(place) as source:
        source.advance(0, 5)
        source.acknowledge(2)
        back = go_back()
        source.advance(5, 5)
        source.acknowledge(7)
        stream = source.state.id
    back()
    with reading(place, onServerRollback="resume") as source:
        told = (
            "the rows 5 to 9 are in the queue again.* reads those that it has from 2 on, the ones before 10 "
        )
        with pytest.warns(match=told):
            source.check(stream, 10)
        source.check(stream, 7)  # a batch that Spark does again has no rows any more
        assert source.advance(10, None) == 20
        assert read(source, 10, 20) == some(2, 12)
    with reading(place) as source:  # from now on it is a stream like any other
        source.check(stream, 7)
        assert source.state.renumbered == 10
        source.acknowledge(20)
        assert source.leave() == 0
    assert place.look() == []


@pytest.mark.parametrize("rollback", ["fail", "resume"])
def test_a_server_that_goes_back_below_a_running_stream_is_noticed_before_new_rows_get_old_numbers(
    place: Place, go_back: Callable[[], Callable[[], None]], rollback: str
) -> None:
    """The query knows the rows before 10. Without a look, the new rows 8 and 9 would be skipped as known."""
    place.put(*some(0, 8))
    with reading(place, onServerRollback=rollback) as source:
        source.advance(0, 5)
        back = go_back()
        place.put(*some(8, 10))
        source.advance(5, 5)
        source.acknowledge(2)
        back()
        place.put(*some(108, 120))
        told = "Spark has seen the rows before 10, and the server knows those before 5"
        with pytest.raises(ServerRollbackError, match=told):
            read(source, 5, 10)
        with pytest.raises(ServerRollbackError, match=told):
            source.acknowledge(10)
        if rollback == "fail":
            with pytest.raises(ServerRollbackError, match=told):
                source.advance(10, 5)
            return
        with pytest.warns(match=told):
            assert source.advance(10, None) == 25  # so many waited
        assert source.advance(25, None) == 30
        assert read(source, 10, 30) == [*some(0, 8), *some(108, 120)]
        source.acknowledge(30)
        assert source.leave() == 0


@pytest.mark.parametrize("dies", [False, True], ids=["it goes on", "it dies meanwhile"])
def test_rows_that_are_claimed_before_spark_tells_a_row_are_not_taken_for_lost_ones(
    place: Place, go_back: Callable[[], Callable[[], None]], dies: bool
) -> None:
    """As Spark before 4.2 does it: it asks for rows first, and then acknowledges those before 10."""
    datasource: Any = pytest.importorskip("pressure.spark.datasource")
    place.put(*some(0, 5))
    with reading(place) as source:
        source.advance(0, 5)
        back = go_back()
        place.put(*some(5, 10))
        source.advance(5, 5)
        offset = offset_of(source, 10)
    back()
    place.put(*some(105, 125))
    told = "Spark has seen the rows before 10, and the server knows those before 5"
    reader = datasource.StreamReader(place.options(), None)
    assert reader.latestOffset()["row"] == 25
    if not dies:
        with pytest.raises(ServerRollbackError, match=told):
            reader.commit(offset)
    reader.stop()
    reader = datasource.StreamReader(place.options(onServerRollback="resume"), None)
    assert reader.latestOffset()["row"] == 25
    with pytest.warns(match=told):
        reader.commit(offset)
    assert reader.latestOffset()["row"] == 35
    reader.stop()
    with reading(place) as source:
        assert read(source, 10, 35) == [*some(0, 5), *some(105, 125)]


def test_claims_that_the_server_lost_and_spark_has_not_seen_are_made_again(
    place: Place, go_back: Callable[[], Callable[[], None]]
) -> None:
    place.put(*some(0, 8))
    with reading(place) as source:
        source.advance(0, 4)
        back = go_back()
        source.advance(4, 4)  # the batch failed before Spark noted this
        back()
        assert source.advance(4, 6) == 8
        assert read(source, 0, 8) == some(0, 8)


def test_a_server_that_has_lost_all_is_named_as_the_cause(place: Place, raw: redis.Redis) -> None:
    place.put(*some(0, 8))
    with reading(place) as source:
        source.advance(0, 5)
        found: Any = raw.keys(f"*{place.name}*")
        raw.delete(*found)
        for step in (lambda: source.advance(5, 1), lambda: source.acknowledge(5), lambda: read(source, 0, 5)):
            with pytest.raises(ServerRollbackError, match="the server does not know the stream any more"):
                step()


def test_a_writer_says_which_batches_the_server_has_lost(
    place: Place, go_back: Callable[[], Callable[[], None]]
) -> None:
    with Sink(place.options()) as sink:
        sink.commit("w", 0, [sink.stage([some(0, 2)], 0, "w")])
        back = go_back()
        for batch in (1, 2):
            sink.commit("w", batch, [sink.stage([some(2, 4)], 0, "w")])
        back()
        told = "the server has gone back, .* it has lost the batches 1 to 2 of this query"
        with pytest.raises(ServerRollbackError, match=told):
            sink.commit("w", 3, [sink.stage([some(4, 6)], 0, "w")])
    assert place.look() == some(0, 2)
    with Sink(place.options(onServerRollback="resume")) as sink:
        with pytest.warns(match=told):
            assert sink.commit("w", 3, [sink.stage([some(4, 6)], 0, "w")]) == 2
        sink.commit("w", 4, [sink.stage([some(6, 7)], 0, "w")])
    assert place.look() == [*some(0, 2), *some(4, 7)]


def test_a_batch_that_was_never_written_is_no_rollback(place: Place) -> None:
    with Sink(place.options()) as sink:
        sink.commit("w", 0, [sink.stage([some(0, 2)], 0, "w")])
        sink.commit("w", 5, [sink.stage([some(2, 4)], 0, "w")])
    assert place.look() == some(0, 4)


def test_a_redis_that_lost_the_end_of_its_file_is_noticed(durable: RealServer, tmp_path: Path) -> None:
    with ExitStack() as stack:
        place = Place(durable.url, "pressure", stack)
        with Sink(place.options()) as sink:
            for batch in range(3):
                sink.commit("w", batch, [sink.stage([some(batch, batch + 1)], 0, "w")])
                if batch == 1:
                    file = next(tmp_path.glob("appendonly*"))  # a folder since Redis 7
                    copy = shutil.copytree if file.is_dir() else shutil.copy
                    copy(file, tmp_path / "earlier")
            durable.stop()
            until(lambda: not durable.is_running, "did it stop")
            file.rename(tmp_path / "later")
            (tmp_path / "earlier").rename(file)
            durable.start()
            until(lambda: answers(durable.port), "did it start")
            with pytest.raises(ServerRollbackError, match="it has lost the batches 2 to 2"):
                sink.commit("w", 3, [sink.stage([some(3, 4)], 0, "w")])
        assert place.look() == some(0, 2)
