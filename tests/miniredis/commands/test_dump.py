"""DUMP and RESTORE: each server restores what the other dumped, and damaged payloads are refused."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator

import pytest
import redis
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from conformance.targets import Address
from miniredis.engine.keyspace.keyspace import Value
from miniredis.engine.rdb.crc64 import crc64
from miniredis.engine.rdb.lzf import decompress
from miniredis.engine.rdb.payload import BadDataError, BadPayloadError, dump, restore
from miniredis.engine.values.hashes import HashValue
from miniredis.engine.values.packing import Packing
from miniredis.engine.values.sets import SetValue
from miniredis.engine.values.sorted_sets import SortedSet
from tests.cases import for_each

from ...sizes import long_texts, sizes, some_size

INTEGERS = st.integers(-(1 << 64), 1 << 64) | st.sampled_from(
    [
        sign * (1 << power) + step
        for power in (0, 6, 7, 12, 15, 23, 31, 63)
        for sign in (1, -1)
        for step in (-1, 0, 1)
    ]
)
ELEMENTS = st.binary(max_size=70) | INTEGERS.map(lambda number: b"%d" % number) | long_texts()

MOST_BYTES = 1_000_000


def signed(body: bytes, version: int = 10) -> bytes:
    """A payload of these bytes with a right end."""
    data = body + version.to_bytes(2, "little")
    return data + crc64(data).to_bytes(8, "little")


@pytest.fixture(scope="module")
def clients(embedded_server: Address, redis_7_0: Address) -> Iterator[list[redis.Redis]]:
    both = [redis.Redis.from_url(each.url) for each in (embedded_server, redis_7_0)]
    yield both
    both[1].config_set("list-max-listpack-size", -2)
    both[1].config_set("list-compress-depth", 0)
    for client in both:
        pack_as_usual(client)
        client.close()


def pack_as_usual(client: redis.Redis) -> None:
    client.config_set("hash-max-listpack-entries", 512)
    client.config_set("hash-max-listpack-value", 64)
    client.config_set("set-max-intset-entries", 512)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=ELEMENTS)
@example(value=b"")
@example(value=b"x" * 70_000)
def test_each_server_restores_strings_that_the_other_dumped(clients: list[redis.Redis], value: bytes) -> None:
    for giver, taker in (clients, clients[::-1]):
        giver.set("k", value)
        taker.restore("k", 0, giver.dump("k") or b"", replace=True)
        assert taker.get("k") == value


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(ELEMENTS, min_size=1, max_size=30),
    times=sizes(10_000, 1),
    packing=st.sampled_from([-5, -2, -1, 1, 3, 128]),
    depth=st.sampled_from([0, 1]),
)
def test_each_server_restores_lists_that_the_other_dumped(
    clients: list[redis.Redis], values: list[bytes], times: int, packing: int, depth: int
) -> None:
    times = min(times, MOST_BYTES // (1 + sum(map(len, values))) + 1)
    clients[1].config_set("list-max-listpack-size", packing)
    clients[1].config_set("list-compress-depth", depth)
    for giver, taker in (clients, clients[::-1]):
        giver.delete("k")
        giver.rpush("k", *values * times)
        taker.restore("k", 0, giver.dump("k") or b"", replace=True)
        assert taker.lrange("k", 0, -1) == values * times
        assert taker.lrem("k", 1, values[-1]) == 1  # type: ignore[arg-type]


PAIRS = st.dictionaries(ELEMENTS.map(lambda text: text[:100]), ELEMENTS, min_size=1, max_size=30)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fields=PAIRS, most=st.sampled_from([0, 5, 512]), longest=st.sampled_from([64, 1 << 30]))
def test_each_server_restores_hashes_that_the_other_dumped(
    clients: list[redis.Redis], fields: dict[bytes, bytes], most: int, longest: int
) -> None:
    for client in clients:
        client.config_set("hash-max-listpack-entries", most)
        client.config_set("hash-max-listpack-value", longest)
    for giver, taker in (clients, clients[::-1]):
        giver.delete("k")
        giver.hset("k", items=[part for pair in fields.items() for part in pair])
        taker.restore("k", 0, giver.dump("k") or b"", replace=True)
        assert taker.hgetall("k") == fields
        assert taker.hmget("k", list(fields)) == list(fields.values())
        assert taker.object("encoding", "k") == giver.object("encoding", "k")


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    members=st.sets(ELEMENTS, min_size=1, max_size=30)
    | st.sets(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-40_000, 40_000), min_size=1, max_size=30),
    most=st.sampled_from([0, 5, 512]),
)
def test_each_server_restores_sets_that_the_other_dumped(
    clients: list[redis.Redis], members: set[bytes] | set[int], most: int
) -> None:
    for client in clients:
        client.config_set("set-max-intset-entries", most)
    texts = {each if isinstance(each, bytes) else b"%d" % each for each in members}
    for giver, taker in (clients, clients[::-1]):
        giver.delete("k")
        giver.sadd("k", *texts)
        taker.restore("k", 0, giver.dump("k") or b"", replace=True)
        assert taker.smembers("k") == texts
        assert taker.object("encoding", "k") == giver.object("encoding", "k")
        assert taker.srem("k", *texts) == len(texts)


# Older forms, made by hand

ZIPLIST = b"\x10\x10\x00\x00\x00\x0d\x00\x00\x00\x02\x00\x00\x01a\x03\xf6\xff"


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"\x01\x03\x01a\x02bc\xc0\x05", [b"a", b"bc", b"5"]),
        (b"\x01\x40\x01\xc1\x2c\x01", [b"300"]),
        (b"\x01\x80\x00\x00\x00\x01\xc2\x70\x11\x01\x00", [b"70000"]),
        (b"\x0a" + ZIPLIST, [b"a", b"5"]),
        (b"\x0e\x02" + ZIPLIST * 2, [b"a", b"5"] * 2),
    ],
)  # fmt: skip
def test_restore_reads_lists_that_older_versions_dumped(
    body: bytes, value: list[bytes], clients: list[redis.Redis]
) -> None:
    payload = signed(body, version=6)
    assert restore(payload) == deque(value)
    for client in clients:
        client.restore("k", 0, payload, replace=True)
        assert client.lrange("k", 0, -1) == value


ZIPMAP = b"\x02\x01a\x02\x00bc\x02de\x01\x03fxxx\xff"
LONG_ZIPMAP = b"\xfe\xfe\x2c\x01\x00\x00" + b"x" * 300 + b"\x01\x00a\xff"


@pytest.mark.parametrize(
    ("body", "fields", "encoding"),
    [
        (b"\x04\x02\x01a\x02bc\x01d\xc0\x05", {b"a": b"bc", b"d": b"5"}, b"listpack"),
        (b"\x04\x01\x01a\x40\x41" + b"x" * 65, {b"a": b"x" * 65}, b"hashtable"),
        (b"\x09" + bytes([len(ZIPMAP)]) + ZIPMAP, {b"a": b"bc", b"de": b"f"}, b"listpack"),
        (b"\x09\x41\x36" + LONG_ZIPMAP, {b"x" * 300: b"a"}, b"hashtable"),
        (b"\x0d" + ZIPLIST, {b"a": b"5"}, b"listpack"),
        (b"\x10\x0c\x0c\x00\x00\x00\x02\x00\x81a\x02\x05\x01\xff", {b"a": b"5"}, b"listpack"),
        (b"\x10\x40\x4e\x4e\x00\x00\x00\x02\x00\x81a\x02\xe0\x41" + b"x" * 65 + b"\x43\xff",
         {b"a": b"x" * 65}, b"listpack"),
    ],
)  # fmt: skip
def test_restore_reads_every_encoding_of_a_hash(
    body: bytes, fields: dict[bytes, bytes], encoding: bytes, clients: list[redis.Redis]
) -> None:
    for client in clients:
        pack_as_usual(client)
        client.restore("k", 0, signed(body, version=6), replace=True)
        assert client.hgetall("k") == fields
        assert client.object("encoding", "k") == encoding


@pytest.mark.parametrize(
    ("body", "members", "encoding"),
    [
        (b"\x02\x02\x01a\xc0\x05", {b"a", b"5"}, b"hashtable"),
        (b"\x02\x02\xc0\x07\xc0\x05", {b"7", b"5"}, b"intset"),
        (b"\x0b\x0c\x02\x00\x00\x00\x02\x00\x00\x00\xff\xff\x05\x00", {b"-1", b"5"}, b"intset"),
        (b"\x0b\x0c\x04\x00\x00\x00\x01\x00\x00\x00\x00\x00\x01\x00", {b"65536"}, b"intset"),
        (b"\x0b\x10\x08\x00\x00\x00\x01\x00\x00\x00" + b"\x00" * 7 + b"\x80", {b"%d" % -(1 << 63)}, b"intset"),
    ],
)  # fmt: skip
def test_restore_reads_every_encoding_of_a_set(
    body: bytes, members: set[bytes], encoding: bytes, clients: list[redis.Redis]
) -> None:
    for client in clients:
        pack_as_usual(client)
        client.restore("k", 0, signed(body, version=6), replace=True)
        assert client.smembers("k") == members
        assert client.object("encoding", "k") == encoding


def test_restore_reads_every_integer_encoding_of_a_ziplist() -> None:
    numbers = [0, 12, -1, 127, -128, 32767, -32768, 8388607, -8388608, 2147483647, -(1 << 63)]
    forms = [b"\xf1", b"\xfd", b"\xfe\xff", b"\xfe\x7f", b"\xfe\x80", b"\xc0\xff\x7f", b"\xc0\x00\x80",
             b"\xf0\xff\xff\x7f", b"\xf0\x00\x00\x80", b"\xd0\xff\xff\xff\x7f", b"\xe0" + b"\x00" * 7 + b"\x80"]  # fmt: skip
    entries = b"".join(b"\x00" + form for form in forms)
    size = 10 + len(entries) + 1
    ziplist = size.to_bytes(4, "little") + bytes(4) + len(forms).to_bytes(2, "little") + entries + b"\xff"
    assert restore(signed(b"\x0a" + bytes([len(ziplist)]) + ziplist)) == deque(
        b"%d" % each for each in numbers
    )


# Damage


def test_a_payload_with_a_wrong_checksum_version_or_length_is_refused() -> None:
    payload = dump(b"hello")
    for wrong in (
        payload[:-1] + b"\x00",
        b"",
        payload[:9],
        b"x" + payload[1:],
        signed(b"\x00\x01a", version=11),
    ):
        with pytest.raises(BadPayloadError):
            restore(wrong)


@for_each(
    "body",
    [
        b"", b"\x03\x01\x01a", b"\x63", b"\x00", b"\x00\x20abc", b"\x00\x81" + b"\xff" * 8, b"\x00\xc4", b"\x00\xc3\x01",
        b"\x00\xc3\x02\x81" + b"\xff" * 8 + b"\x20\x00", b"\x00\xc3\x03\x05\x00a\x20", b"\x01\x00", b"\x01\x81" + b"\xff" * 8,
        b"\x0a\x05abcde", b"\x12\x01\x03\x01a", b"\x12\x01\x02\x01\xff", b"\x12\x81" + b"\xff" * 8, b"\x0e\x00",
        b"\x02\x00", b"\x04\x00", b"\x02\x02\x01a\x01a", b"\x02\x02\xc0\x05\xc0\x05", b"\x04\x01\x01a", b"\x02\x81" + b"\xff" * 8,
        b"\x04\x81" + b"\xff" * 8, b"\x0b\x08\x02\x00\x00\x00\x00\x00\x00\x00", b"\x0b\x09\x01\x00\x00\x00\x01\x00\x00\x00a",
        b"\x0b\x09\x02\x00\x00\x00\x01\x00\x00\x00a", b"\x0b\x0b\x02\x00\x00\x00\x01\x00\x00\x00abc", b"\x09\x02\x00\xff",
        b"\x09\x06\x01\x01a\x01\x00b", b"\x09\x04\x01\x01a\xff", b"\x09\x05\x01\xfe\xff\xff\xff", b"\x10\x07\x07\x00\x00\x00\x00\x00\xff",
        b"\x09\x08\x01\x01a\x01\x00b\xff\x00", b"\x09\x07\x02\x01a\x01\x00b\xff", b"\x09\x0b\x01\xfe\x01\x00\x00\x00a\x01\x00b\xff",
        b"\x12\x01\x02\x07\x07\x00\x00\x00\x00\x00\xff", b"\x12\x01\x02\x08\x07\x00\x00\x00\x01\x00\x81a",
    ],
)  # fmt: skip
def test_damaged_data_with_a_correct_checksum_is_refused(body: bytes) -> None:
    with pytest.raises(BadDataError):
        restore(signed(body))


def values_of_about(size: int) -> list[Value]:
    """A value of each form, of about so many elements."""
    pairs = {b"f%d" % number: b"%d" % number for number in range(size)}
    scores = {member: float(number) / 2 for number, member in enumerate(pairs)}
    return [
        b"5", b"hello" * size, deque([b"a", b"1000", b"x" * 100] * size), HashValue.of(pairs, Packing()),
        HashValue.of(pairs, Packing(3)), SetValue.of(list(pairs), Packing()),
        SetValue.of(list(pairs.values()), Packing()), SortedSet.of(scores, Packing()),
        SortedSet.of(scores, Packing(sorted_set_entries=3)),
    ]  # fmt: skip


@pytest.mark.parametrize("payloads", [2000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_a_randomly_damaged_payload_is_refused_or_restores_a_value(payloads: int) -> None:
    rng = random.Random(1)  # noqa: S311
    bodies = [dump(value)[:-10] for value in values_of_about(40)]
    bodies.append(b"\x12\x01\x01\xc3\t@d\x01xx\xe0W\x00\x01xx")
    large = [dump(value)[:-10] for _ in range(10) for value in values_of_about(some_size(rng, 1000))]
    outcomes: set[type] = set()
    for _ in range(payloads):
        body = bytearray(rng.choice(large if rng.random() < 0.1 else bodies))
        for _ in range(rng.randint(1, 3)):
            body[rng.randrange(len(body))] = rng.randrange(256)
        try:
            value = restore(signed(bytes(body)))
            outcomes.add(type(value))
            assert len(value) < 1_000_000
        except BadDataError:
            outcomes.add(BadDataError)
    assert outcomes == {bytes, deque, HashValue, SetValue, SortedSet, BadDataError}


def test_lzf_data_shorter_than_its_stated_length_is_refused() -> None:
    assert decompress(b"\x00a\xe0\xff\x00", 1 << 60) is None
    assert decompress(b"\x00a\xe0\xff\x00", 265) == b"a" * 265
    assert decompress(b"\x20\x00", 3) is None
    assert decompress(b"\x02ab", 3) is None
