"""Streams where time matters, their payloads and internal nodes, which transcripts cannot cover."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import hiredis
import pytest

from conformance.wire import RawConnection
from miniredis.engine.protocol.replies import NO_REPLY
from miniredis.engine.rdb.payload import BadDataError, dump, restore
from miniredis.engine.values.stream_nodes import Limits
from miniredis.engine.values.streams import Stream

from ...cases import exhaustive
from ..engine.test_engine import BEGINNING, World
from .test_dump import signed

NOW = BEGINNING.milliseconds
LIMITS = Limits(4096, 100)


@pytest.fixture
def world() -> World:
    return World()


def bulk(text: str) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(text), text.encode())


# Time


def test_xadd_ids_come_from_the_clock_and_never_go_back(world: World) -> None:
    a = world.client()
    assert world.ask(a, "XADD s * f v") == bulk(f"{NOW}-0")
    assert world.ask(a, "XADD s * f v") == bulk(f"{NOW}-1")
    world.wait(1, wall=2)
    assert world.ask(a, "XADD s * f v") == bulk(f"{NOW + 2000}-0")
    world.wait(1, wall=-5)
    assert world.ask(a, "XADD s * f v") == bulk(f"{NOW + 2000}-1")


def test_xpending_shows_the_time_since_the_last_delivery(world: World) -> None:
    a = world.client()
    world.ask(a, "XADD s 1-1 f v", "XGROUP CREATE s g 0", "XREADGROUP GROUP g c STREAMS s >")
    world.wait(3)
    entry = b"*4\r\n$3\r\n1-1\r\n$1\r\nc\r\n:%d\r\n:%d\r\n"
    assert world.ask(a, "XPENDING s g - + 9") == b"*1\r\n" + entry % (3000, 1)
    assert world.ask(a, "XPENDING s g IDLE 3000 - + 9") == b"*1\r\n" + entry % (3000, 1)
    assert world.ask(a, "XPENDING s g IDLE 3001 - + 9") == b"*0\r\n"
    world.ask(a, "XREADGROUP GROUP g c STREAMS s 0")
    assert world.ask(a, "XPENDING s g - + 9") == b"*1\r\n" + entry % (0, 2)
    world.wait(1, wall=-1)
    assert world.ask(a, "XPENDING s g - + 9") == b"*1\r\n" + entry % (0, 2)


def test_xclaim_can_set_the_delivery_time(world: World) -> None:
    a = world.client()
    world.ask(a, "XADD s 1-1 f v", "XGROUP CREATE s g 0", "XREADGROUP GROUP g c STREAMS s >")
    world.wait(3)
    assert world.ask(a, "XCLAIM s g d 3001 1-1") == b"*0\r\n"
    assert world.ask(a, "XAUTOCLAIM s g d 3001 0") == b"*3\r\n$3\r\n0-0\r\n*0\r\n*0\r\n"
    for option, idle in (
        ("", 0),
        ("IDLE 500", 500),
        (f"TIME {NOW + 1000}", 2000),
        (f"TIME {NOW + 9000}", 0),
        ("IDLE -5", 0),
    ):
        assert world.ask(a, f"XCLAIM s g d 0 1-1 JUSTID {option}") == b"*1\r\n$3\r\n1-1\r\n"
        assert b":%d\r\n:1\r\n" % idle in world.ask(a, "XPENDING s g - + 9")


def test_xreadgroup_updates_the_seen_time_of_a_consumer_only_when_it_delivers(world: World) -> None:
    a = world.client()
    world.ask(a, "XGROUP CREATE s g 0 MKSTREAM", "XGROUP CREATECONSUMER s g c")
    world.wait(2)
    consumer = b"*1\r\n*6\r\n$4\r\nname\r\n$1\r\nc\r\n$7\r\npending\r\n:%d\r\n$4\r\nidle\r\n:%d\r\n"
    assert world.ask(a, "XREADGROUP GROUP g c STREAMS s >", "XINFO CONSUMERS s g") == (
        b"*-1\r\n" + consumer % (0, 2000)
    )
    world.ask(a, "XADD s 1-1 f v", "XREADGROUP GROUP g c STREAMS s >")
    assert world.ask(a, "XINFO CONSUMERS s g") == consumer % (1, 0)
    full = world.ask(a, "XINFO STREAM s FULL")
    assert b"$9\r\nseen-time\r\n:%d\r\n" % (NOW + 2000) in full
    assert b"*4\r\n$3\r\n1-1\r\n$1\r\nc\r\n:%d\r\n:1\r\n" % (NOW + 2000) in full
    assert b"*3\r\n$3\r\n1-1\r\n:%d\r\n:1\r\n" % (NOW + 2000) in full


def test_a_blocked_xread_times_out_at_its_deadline(world: World) -> None:
    a = world.client()
    assert world.ask(a, "XREAD BLOCK 1500 STREAMS s $") == b""
    assert world.wait(1.499) == {}
    assert world.wait(0.001) == {a.id: b"*-1\r\n"}


def test_a_blocked_xreadgroup_gets_an_error_when_its_stream_expires(world: World) -> None:
    a, b = world.client(), world.client()
    world.ask(a, "XGROUP CREATE s g $ MKSTREAM", "PEXPIRE s 1000")
    world.ask(b, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >")
    assert world.wait(1.001) == {b.id: b"-UNBLOCKED the stream key no longer exists\r\n"}


def test_it_gets_that_error_when_a_client_begins_to_wait_for_the_expired_key(world: World) -> None:
    world.engine.timers.active_expire = False
    a, b = world.client(), world.client()
    world.ask(a, "XGROUP CREATE s g $ MKSTREAM", "PEXPIRE s 1000")
    world.ask(b, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >")
    assert world.wait(1.001) == {}
    assert world.engine.ask(a, [b"BLPOP", b"s", b"0"], world.now) is NO_REPLY
    assert world.settle() == {b.id: b"-UNBLOCKED the stream key no longer exists\r\n"}


def test_a_blocked_xreadgroup_gets_an_error_when_the_server_is_reset(world: World) -> None:
    a, b = world.client(), world.client()
    world.ask(a, "XGROUP CREATE s g $ MKSTREAM")
    world.ask(b, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >")
    world.engine.reset(world.now)
    assert world.settle() == {b.id: b"-UNBLOCKED the stream key no longer exists\r\n"}


def test_a_blocked_xread_gets_at_most_a_thousand_entries(world: World) -> None:
    a, b = world.client(), world.client()
    world.ask(b, "XREAD BLOCK 0 STREAMS s $")
    adds = [f"XADD s 1-{number} f v" for number in range(1, 1003)]
    world.send(a, "MULTI", *adds, "EXEC")
    assert world.settle()[b.id].startswith(b"*1\r\n*2\r\n$1\r\ns\r\n*1000\r\n")


# Both servers


class Asker:
    """Asks a server, and takes its replies as they are."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.connection = RawConnection(*address)

    def __call__(self, line: str, *more: str | bytes) -> Any:
        reader = hiredis.Reader()
        reader.feed(self.connection.command(*line.split(), *more))
        return reader.gets()


@pytest.fixture
def ask(empty_address: tuple[str, int]) -> Iterator[Asker]:
    asker = Asker(empty_address)
    yield asker
    asker.connection.close()


def test_xclaim_and_xautoclaim_count_deliveries(ask: Asker) -> None:
    ask("XADD s 1-1 f v")
    ask("XADD s 2-1 f v")
    ask("XGROUP CREATE s g 0")
    ask("XREADGROUP GROUP g c STREAMS s >")
    for line, expected in (
        ("XCLAIM s g d 0 1-1", [2, 1]),
        ("XCLAIM s g d 0 1-1 JUSTID", [2, 1]),
        ("XCLAIM s g d 0 1-1 RETRYCOUNT 7", [7, 1]),
        ("XCLAIM s g d 0 1-1 RETRYCOUNT 0 JUSTID", [0, 1]),
        ("XAUTOCLAIM s g e 0 0", [1, 2]),
        ("XAUTOCLAIM s g e 0 0 JUSTID", [1, 2]),
        ("XREADGROUP GROUP g e STREAMS s 0", [2, 3]),
        ("XACK s g 1-1", [3]),
        ("XCLAIM s g e 0 1-1 FORCE JUSTID", [1, 3]),
        ("XACK s g 1-1", [3]),
        ("XCLAIM s g e 0 1-1 FORCE", [2, 3]),
    ):
        ask(line)
        assert [entry[3] for entry in ask("XPENDING s g - + 9")] == expected, line


ID = b"\0" * 15 + b"\1"
OLD = (
    b"\x0f\x01\x10" + ID + b"\x1d\x1d\0\0\0\x0a\0"
    b"\x01\x01\x00\x01\x01\x01\x81f\x02\x00\x01\x02\x01\x00\x01\x00\x01\x81v\x02\x04\x01\xff"
    b"\x01\x05\x02"  # length and last id
    b"\x01\x01g\x00\x01"  # a group that has read the entry
    b"\x01" + ID + b"\x10\x27\0\0\0\0\0\0\x03"  # which is pending
    b"\x01\x01c\x20\x4e\0\0\0\0\0\0\x01" + ID  # with a consumer
)
"""A stream as Redis 6 wrote it."""


@pytest.mark.usefixtures("as_redis_7_0")
def test_restore_reads_a_stream_that_redis_6_dumped(ask: Asker) -> None:
    assert ask("RESTORE s 0", signed(OLD, 9)) == b"OK"
    told = ask("XINFO STREAM s FULL COUNT 0")
    figures = dict(zip(told[::2], told[1::2], strict=True))
    assert figures[b"entries"] == [[b"0-1", [b"f", b"v"]]]
    assert (figures[b"last-generated-id"], figures[b"max-deleted-entry-id"]) == (b"5-2", b"0-0")
    assert (figures[b"entries-added"], figures[b"recorded-first-entry-id"]) == (1, b"0-1")
    group = figures[b"groups"][0]
    assert group[:6] == [b"name", b"g", b"last-delivered-id", b"0-1", b"entries-read", 1]
    assert group[-3] == [[b"0-1", b"c", 10_000, 3]]
    assert group[-1] == [
        [b"name", b"c", b"seen-time", 20_000, b"pel-count", 1, b"pending", [[b"0-1", 10_000, 3]]]
    ]
    assert ask("RESTORE t 0", ask("DUMP s")) == b"OK"
    assert ask("XINFO STREAM t FULL COUNT 0") == told
    assert ask("XADD s 5-3 f v") == b"5-3"


# Payloads


def some_stream(chance: random.Random) -> Stream:
    stream = Stream()
    for number in range(1, chance.randrange(2, 40)):
        content = [chance.choice((b"f", b"g", b"7", b"x" * 70)), b"%d" % (chance.randrange(1 << 40))]
        stream.append(number << 64 | chance.randrange(3), content, Limits(300, 5))
        if not chance.randrange(4):
            stream.remove(stream.top)
    return stream


def test_a_restored_stream_equals_the_dumped_one() -> None:
    chance = random.Random(1)  # noqa: S311
    for _ in range(100):
        stream = some_stream(chance)
        again = restore(dump(stream))
        assert isinstance(again, Stream)
        assert list(again.walk()) == list(stream.walk())
        assert [node.body for node in again.nodes] == [node.body for node in stream.nodes]
        assert dump(again) == dump(stream)


@pytest.mark.parametrize("damaged", [400, exhaustive(1000)])
def test_a_damaged_stream_payload_is_refused_or_restores_a_usable_stream(damaged: int) -> None:
    chance = random.Random(2)  # noqa: S311
    refused = 0
    for _ in range(damaged):
        body = bytearray(dump(some_stream(chance))[:-10])
        for _ in range(chance.randrange(1, 4)):
            body[chance.randrange(1, len(body))] = chance.randrange(256)
        try:
            value = restore(signed(bytes(body)))
        except BadDataError:
            refused += 1
            continue
        assert isinstance(value, Stream)
        assert len(list(value.walk())) == len(value) == len(list(value.walk_back()))
        assert all(value.find(number) == content for number, content in value.walk())
    assert refused > damaged * 0.3


# Nodes


def test_stream_ranges_in_both_directions_match_a_model() -> None:
    chance = random.Random(3)  # noqa: S311
    for _ in range(200):
        stream, model = Stream(), dict[int, list[bytes]]()
        for _ in range(60):
            change_both(stream, model, chance)
            low, high = sorted(chance.randrange(40) for _ in range(2))
            entries = [(number, model[number]) for number in sorted(model) if low <= number <= high]
            assert list(stream.walk(low, high)) == entries
            assert list(stream.walk_back(low, high)) == entries[::-1]
            assert len(stream) == len(model)
            assert (stream.first, stream.top) == (min(model, default=0), max(model, default=0))


def change_both(stream: Stream, model: dict[int, list[bytes]], chance: random.Random) -> None:
    """One change of a stream and of what it should hold; sometimes it is set back first."""
    number = chance.randrange(1, 40)
    kind = chance.randrange(8)
    if kind < 4 and number > max(model, default=0):
        content = [b"f", b"%d" % chance.randrange(100)]
        stream.append(number, content, Limits(0, 3))
        model[number] = content
    elif kind == 4:
        assert stream.remove(number) == (model.pop(number, None) is not None)
    elif kind == 5 and stream.ordered:
        taken = stream.trim_to_id(number, None, exactly=True)
        gone = [each for each in model if each < number]
        assert taken == len(gone)
        for each in gone:
            del model[each]
    elif kind == 6:
        length = chance.randrange(10)
        assert stream.trim_to_length(length, None, exactly=True) == max(len(model) - length, 0)
        for each in sorted(model)[: max(len(model) - length, 0)]:
            del model[each]


def test_approximate_trimming_removes_a_whole_node() -> None:
    stream = Stream()
    for number in range(1, 100_001):
        stream.append(number, [b"f", b"v"], LIMITS)
    assert len(stream.nodes) == 1000
    assert stream.trim_to_length(99_850, 10_000, exactly=False) == 100
    assert stream.first == 101
