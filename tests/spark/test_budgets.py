"""Steps in Redis end after so many bytes, and batches are as large as the options say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis

from pressure.spark import OptionError, sink, source
from pressure.spark import rows as replies
from pressure.spark.options import options_of
from pressure.spark.sink import Sink
from pressure.spark.source import Source

from .conftest import Place

LARGE = [bytes([at]) * 400 for at in range(20)]
BUDGET = 1000


@pytest.fixture(autouse=True)
def small_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((source, "CLAIMED_BYTES"), (sink, "MOVED_BYTES"), (replies, "READ_BYTES")):
        monkeypatch.setattr(module, name, BUDGET)


@contextmanager
def reading(place: Place, **options: object) -> Iterator[Source]:
    found = Source(place.options(**options))
    try:
        yield found
    finally:
        found.release()


def replies_to_steps(worker: Any, monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """The replies to the steps that it runs."""
    found: list[list[Any]] = []
    run = worker._server.step

    def step(*args: Any) -> list[Any]:
        found.append(run(*args))
        return found[-1]

    monkeypatch.setattr(worker._server, "step", step)
    return found


def test_a_claim_ends_with_the_value_that_uses_up_its_bytes(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.put(*LARGE)
    with reading(place) as stream:
        assert stream.state
        steps = replies_to_steps(stream, monkeypatch)
        assert stream.advance(0, None) == 20
        assert [moved for _, moved, *_ in steps] == [3] * 6 + [2]
        assert all(size >= 400 * moved for _, moved, _, size in steps)
        assert [value for _, found in stream.read(stream.state, 0, 20) for value in found.values] == LARGE


def test_a_commit_moves_no_more_bytes_in_a_step(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with Sink(place.options()) as target:
        staged = target.stage([LARGE], 0, "w")
        steps = replies_to_steps(target, monkeypatch)
        target.commit("w", 0, [staged])
    assert [moved for _, moved, _ in steps] == [3] * 6 + [2]
    assert place.look() == LARGE


def test_small_values_are_moved_in_few_steps(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CLAIMED_BYTES", 1 << 20)
    place.put(*(b"%d" % at for at in range(5000)))
    with reading(place) as stream:
        assert stream.state
        steps = replies_to_steps(stream, monkeypatch)
        stream.advance(0, None)
    assert [moved for _, moved, *_ in steps] == [5000]


def test_a_reply_has_no_more_bytes_than_its_mean_allows(place: Place) -> None:
    place.put(*LARGE)
    with reading(place) as stream:
        stream.advance(0, None)
        sizes = [len(found) for _, found in stream.read(stream.state, 0, 20)]
    assert sizes == [replies.READ_FIRST, 2, 2]


def test_a_batch_has_about_the_bytes_of_its_option(place: Place) -> None:
    place.put(*LARGE)
    with reading(place) as stream:
        assert stream.advance(0, None, None, 2500) in (6, 7)  # messages with ids are longer
        assert stream.advance(7, 1, None, 2500) == 8


@pytest.mark.parametrize("ends", [[20], [1, 2, 20], [3, 6, 20], [4, 13, 14, 20]])
def test_acknowledged_bytes_are_those_noted_when_rows_were_claimed(
    make: Callable[..., Place], raw: redis.Redis, ends: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ends that are not ends of claims, too, and acknowledgements in several steps."""
    monkeypatch.setattr(source, "ACKED_TOGETHER", 4)
    place = make()
    values = [b"x" * (at * 37 % 700) for at in range(20)]
    place.put(*values)
    with reading(place) as stream:
        stream.advance(0, None)
        for end in ends:
            stream.acknowledge(end)
            stats = place.queue.stats()
            assert (stats.consumed_messages, stats.consumed_bytes) == (end, sum(map(len, values[:end])))
        assert set(raw.hgetall(stream._keys[1])) == {b"id", b"first", b"claimed", b"by"}


def test_bytes_that_were_not_noted_are_counted(make: Callable[..., Place], raw: redis.Redis) -> None:
    """As for rows that another consumer left unacknowledged."""
    place = make()
    place.put(*LARGE)
    for _ in range(20):
        raw.lmove(place.queue.keys.queue, place.queue.keys.unacked, "RIGHT", "LEFT")
    with reading(place) as stream:
        assert stream.advance(0, None) == 20
        raw.hdel(stream._keys[1], *(f"bytes {at}" for at in range(20)))
        stream.acknowledge(20)
    assert place.queue.stats().consumed_bytes == 8000


def test_more_rows_at_least_than_at_most_are_refused() -> None:
    with pytest.raises(OptionError, match="minRowsPerBatch is more than rowsPerBatch"):
        options_of({"queue": "q", "minRowsPerBatch": "10", "rowsPerBatch": "9"})
