"""DUMP and RESTORE of sorted sets, in every encoding that Redis has written."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import redis
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from conformance.targets import Address
from miniredis.engine.rdb.payload import BadDataError, restore
from miniredis.engine.values.sorted_sets import SortedSet
from tests.cases import for_each

from .test_dump import ELEMENTS, signed

SCORES = st.floats(allow_nan=False) | st.integers(-(1 << 63), 1 << 63).map(float)


@pytest.fixture(scope="module")
def clients(embedded_server: Address, redis_7_0: Address) -> Iterator[list[redis.Redis]]:
    both = [redis.Redis.from_url(each.url) for each in (embedded_server, redis_7_0)]
    yield both
    for client in both:
        pack_as_usual(client)
        client.close()


def pack_as_usual(client: redis.Redis) -> None:
    client.config_set("zset-max-listpack-entries", 128)
    client.config_set("zset-max-listpack-value", 64)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    scores=st.dictionaries(ELEMENTS.map(lambda text: text[:100]), SCORES, min_size=1, max_size=30),
    most=st.sampled_from([0, 5, 128]),
    longest=st.sampled_from([64, 1 << 30]),
)
@example(scores={b"a": math.inf, b"b": -math.inf, b"c": -0.0, b"d": 1e17}, most=128, longest=64)
@example(scores={b"a": math.inf, b"b": -math.inf, b"c": -0.0, b"d": 1e17}, most=0, longest=64)
def test_each_server_restores_sorted_sets_that_the_other_dumped(
    clients: list[redis.Redis], scores: dict[bytes, float], most: int, longest: int
) -> None:
    for client in clients:
        client.config_set("zset-max-listpack-entries", most)
        client.config_set("zset-max-listpack-value", longest)
    for giver, taker in (clients, clients[::-1]):
        giver.delete("k")
        giver.zadd("k", scores)
        taker.restore("k", 0, giver.dump("k") or b"", replace=True)
        assert taker.zrange("k", 0, -1, withscores=True) == giver.zrange("k", 0, -1, withscores=True)
        assert taker.zmscore("k", list(scores)) == list(scores.values())  # type: ignore[arg-type]
        assert taker.object("encoding", "k") == giver.object("encoding", "k")
        assert taker.zremrangebyscore("k", "-inf", "+inf") == len(scores)


LONG = b"x" * 65
LISTPACK = b"\x14\x00\x00\x00\x04\x00\x81a\x02\x01\x01\x81b\x02\x832.5\x04\xff"
LONG_LISTPACK = b"\x4d\x00\x00\x00\x02\x00\xe0\x41" + LONG + b"\x43\x01\x01\xff"


@pytest.mark.parametrize(
    ("body", "entries", "encoding"),
    [
        (b"\x03\x04\x01a\x011\x01b\x032.5\x01c\xfe\x01d\xff",
         [(b"d", -math.inf), (b"a", 1.0), (b"b", 2.5), (b"c", math.inf)], b"listpack"),
        (b"\x03\x01\x40\x41" + LONG + b"\x011", [(LONG, 1.0)], b"skiplist"),
        (b"\x05\x02\x01b\x00\x00\x00\x00\x00\x00\x04@\x01a\x00\x00\x00\x00\x00\x00\xf0?",
         [(b"a", 1.0), (b"b", 2.5)], b"listpack"),
        (b"\x05\x01\x40\x41" + LONG + b"\x00\x00\x00\x00\x00\x00\xf0?", [(LONG, 1.0)], b"skiplist"),
        (b"\x0c\x18\x18\x00\x00\x00\x12\x00\x00\x00\x04\x00\x00\x01a\x03\xf2\x02\x01b\x03\x032.5\xff",
         [(b"a", 1.0), (b"b", 2.5)], b"listpack"),
        (b"\x11\x14" + LISTPACK, [(b"a", 1.0), (b"b", 2.5)], b"listpack"),
        (b"\x11\x40\x4d" + LONG_LISTPACK, [(LONG, 1.0)], b"listpack"),
    ],
)  # fmt: skip
def test_restore_reads_every_encoding_of_a_sorted_set(
    body: bytes, entries: list[tuple[bytes, float]], encoding: bytes, clients: list[redis.Redis]
) -> None:
    for client in clients:
        pack_as_usual(client)
        client.restore("k", 0, signed(body, version=6), replace=True)
        assert client.zrange("k", 0, -1, withscores=True) == entries
        assert client.object("encoding", "k") == encoding


@for_each(
    "body",
    [
        b"\x03\x00", b"\x05\x00", b"\x03\x01\x01a", b"\x03\x01\x01a\xfd", b"\x03\x01\x01a\x01x", b"\x03\x81" + b"\xff" * 8,
        b"\x03\x02\x01a\x011\x01a\x012", b"\x05\x01\x01a" + b"\xff" * 8, b"\x05\x81" + b"\xff" * 8,
        b"\x11\x07\x07\x00\x00\x00\x00\x00\xff", b"\x11\x0a\x0a\x00\x00\x00\x01\x00\x81a\x02\xff",
        b"\x11\x0d\x0d\x00\x00\x00\x02\x00\x81a\x02\x81x\x02\xff", b"\x0c\x0b\x0b\x00\x00\x00\x0a\x00\x00\x00\x00\x00\xff",
    ],
)  # fmt: skip
def test_a_damaged_sorted_set_payload_is_refused(body: bytes) -> None:
    with pytest.raises(BadDataError):
        restore(signed(body))


def test_a_score_written_with_an_exponent_is_restored_as_a_double() -> None:
    value = restore(signed(b"\x03\x01\x01a\x061.5e+2"))
    assert isinstance(value, SortedSet)
    assert value.scores == {b"a": 150.0}
