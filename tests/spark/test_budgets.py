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
from pressure.spark.peeking import Peek
from pressure.spark.sink import Sink
from pressure.spark.source import Source

from .conftest import Place, some

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


def test_a_reply_has_no_more_bytes_than_were_noted_when_its_rows_were_claimed(place: Place) -> None:
    place.put(*([b"x"] * 100), *LARGE, *([b"y"] * 5))
    with reading(place) as stream:
        stream.advance(0, None)
        found = [rows.values for _, rows in stream.read(stream.state, 0, 125)]
        middle = [rows.values for _, rows in stream.read(stream.state, 99, 104)]
    assert [value for values in found for value in values] == [b"x"] * 100 + LARGE + [b"y"] * 5
    assert max(sum(map(len, values)) for values in (*found, *middle)) <= BUDGET + 400
    assert len(found) < 12
    assert [value for values in middle for value in values] == [b"x", *LARGE[:4]]


def test_a_reply_whose_bytes_are_not_known_has_few_rows_and_no_more_bytes_than_their_mean_allows(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replies, "UNKNOWN_TOGETHER", 50)
    monkeypatch.setattr(replies, "TOTAL_BYTES", 0)  # as if the whole queue were large
    place.put(*([b"x"] * 300), *LARGE * 10)
    with Peek(place.options()) as peek:
        found = [len(rows) for part in peek.plan() for _, rows in peek.read(part)]
    assert found[:7] == [16, *[50] * 5, 50]
    assert max(found[7:]) < 10


def test_a_reply_of_a_queue_that_is_small_as_a_whole_may_have_many_rows(
    make: Callable[..., Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replies, "UNKNOWN_TOGETHER", 50)
    place = make()
    place.put(*([b"x"] * 1000))
    for total, wanted in ((replies.TOTAL_BYTES, [16, 128, 856]), (100, [16, *[50] * 19, 34])):
        monkeypatch.setattr(replies, "TOTAL_BYTES", total)
        with Peek(place.options(partitions=1)) as peek:
            assert [len(rows) for part in peek.plan() for _, rows in peek.read(part)] == wanted


def test_the_bytes_of_a_copy_are_those_of_all_its_rows_and_a_queue_itself_is_not_asked(
    make: Callable[..., Place],
) -> None:
    """A sample would have only the small rows, which came last."""
    place = make()
    place.put(*([b"L" * 20_000] * 20), *([b"s" * 1000] * 100))
    with Peek(place.options()) as peek:
        (part,) = peek.plan()
    assert part.total is not None
    assert 500_000 <= part.total < 700_000
    with Peek(place.options(snapshot="false")) as peek:
        (part,) = peek.plan()
    assert part.total is None


def commands_of_steps(raw: Any, act: Callable[[], object]) -> list[list[list[bytes]]]:
    """The commands of each script that runs meanwhile."""
    with raw.monitor() as monitor:
        act()
        raw.echo("the end")
        found: list[list[list[bytes]]] = []
        for each in monitor.listen():
            words = each["command"].encode("latin-1").split()
            if words == [b"ECHO", b"the", b"end"]:
                return found
            if words[0].upper() in (b"EVAL", b"EVALSHA"):
                found.append([])
            elif each["client_type"] == "lua":
                found[-1].append(words)
    raise AssertionError("the server said nothing more")


def asked(command: list[bytes]) -> int:
    """How many values a command reads, and how many bytes it has."""
    name = command[0].upper()
    if name == b"LRANGE":
        return int(command[3]) - int(command[2]) + 1
    return int(command[command.index(b"COUNT") + 1]) if b"COUNT" in command else 0


def test_no_step_does_much_in_redis_whichever_values_come_next(
    place: Place, make: Callable[..., Place], raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small values are no promise that the next ones are small, too."""
    budget, large = 20_000, b"L" * 5_000
    for module, name in ((source, "CLAIMED_BYTES"), (sink, "MOVED_BYTES")):
        monkeypatch.setattr(module, name, budget)
    values = [b"s"] * 150 + [large] * 20 + [b"s"] * 150 + [large] * 20
    place.put(*values)
    target = make(place.kind)

    def copied() -> None:
        with reading(place) as stream, Sink(target.options()) as out:
            end = stream.advance(0, None)
            staged = [out.stage((found.values for _, found in stream.read(stream.state, 0, end)), 0, "w")]
            out.commit("w", 0, staged)
            stream.acknowledge(end)
            stream.leave()

    steps = commands_of_steps(raw, copied)
    assert target.look() == values
    for commands in steps:
        assert len(commands) < 400
        assert max(map(asked, commands), default=0) <= 64
        moved = sum(len(word) for words in commands for word in words if len(word) in (1, len(large)))
        assert moved < budget + (16 if place.kind == "reliable" else 1) * len(large)
    assert len(steps) < 50


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


def test_what_an_earlier_consumer_has_left_is_put_back_in_parts(
    make: Callable[..., Place], raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make()
    values = [*some(0, 1500), *([b"L" * 400_000] * 6)]
    place.put(*values)
    keys = place.queue.keys
    for _ in values:
        raw.lmove(keys.queue, keys.unacked, "RIGHT", "LEFT")
    with reading(place) as stream:
        steps = replies_to_steps(stream, monkeypatch)
        assert stream.state.claimed == 0
        assert [status for status, *_ in steps] == [b"more"] * 3 + [b"ok"]
        assert place.look() == values


def test_more_rows_at_least_than_at_most_are_refused() -> None:
    with pytest.raises(OptionError, match="minRowsPerBatch is more than rowsPerBatch"):
        options_of({"queue": "q", "minRowsPerBatch": "10", "rowsPerBatch": "9"})
