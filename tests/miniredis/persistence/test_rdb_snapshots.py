"""Snapshots: real servers and miniredis load what the others saved, whole or not at all."""

from __future__ import annotations

import random
import subprocess
import tracemalloc
from collections.abc import Iterator
from itertools import starmap
from pathlib import Path
from typing import Final

import pytest

import miniredis
from conformance.targets import Address
from conformance.targets.programs import find_real_redis
from miniredis import Engine
from miniredis.engine.rdb.crc64 import crc64
from miniredis.engine.rdb.loading import NEWEST, BadSnapshotError, Loaded
from miniredis.engine.rdb.reader import string
from miniredis.persistence.damage import DamagedFileError
from miniredis.persistence.disk import Disk
from miniredis.persistence.rdb_file import save_file
from miniredis.testing.real_servers import real_at_free_port
from tests.cases import for_each

from .rdb_states import (
    FAR,
    LIBRARY,
    fill,
    fill_at_random,
    load_file,
    loaded,
    new_engine,
    of_engine,
    patient,
    portrait,
    real_in,
)

FOLDER: Final = Path(__file__).parent

END: Final = b"\xff"


def signed(body: bytes, version: int = 10) -> bytes:
    """A file of some opcodes, with its head, its end and its checksum."""
    data = b"REDIS%04d" % version + body + END
    return data + crc64(data).to_bytes(8, "little")


def field(name: bytes, value: bytes) -> bytes:
    """The opcode of a field about the file."""
    return b"\xfa" + string(name) + string(value)


def resigned(data: bytes) -> bytes:
    """The same with the checksum that it must have."""
    return data[:-8] + crc64(data[:-8]).to_bytes(8, "little")


def keys(engine: Engine) -> int:
    return sum(map(len, engine.keyspace.databases))


@pytest.fixture(scope="module")
def filled() -> Engine:
    """An engine with keys of every type and encoding."""
    engine = new_engine()
    with miniredis.start(engine=engine) as server, patient(server.port) as client:
        fill(client)
    return engine


# Between miniredis and a real server


@pytest.fixture(params=[1, 2])
def seed(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


def test_a_real_server_loads_what_miniredis_saved(redis_7_0: Address, seed: int, tmp_path: Path) -> None:
    engine = new_engine()
    with miniredis.start(engine=engine) as server, patient(server.port) as client:
        fill(client)
        fill_at_random((server.host, server.port), (redis_7_0.host, redis_7_0.port), seed)
        ours = portrait(server.port)
    save_file(Disk(), tmp_path / "dump.rdb", engine)
    with real_in(tmp_path) as port:
        assert portrait(port) == ours


def test_miniredis_loads_what_a_real_server_saved(redis_7_0: Address, seed: int, tmp_path: Path) -> None:
    with real_in(tmp_path) as port, patient(port) as client:
        fill(client)
        fill_at_random(("127.0.0.1", port), (redis_7_0.host, redis_7_0.port), seed)
        theirs = portrait(port)
        client.save()
    engine = new_engine()
    found = load_file(Disk(), tmp_path / "dump.rdb", engine)
    assert found is not None
    assert found.keys == keys(engine)
    with miniredis.start(engine=engine) as server:
        assert portrait(server.port) == theirs


def test_the_tool_of_redis_finds_a_snapshot_good(redis_7_0: Address, filled: Engine, tmp_path: Path) -> None:
    path = tmp_path / "dump.rdb"
    save_file(Disk(), path, filled)
    checked = subprocess.run(
        ["redis-check-rdb", path], executable=find_real_redis(), capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
    assert "Checksum OK" in checked.stdout
    assert f"{keys(filled)} keys read" in checked.stdout


def test_both_servers_write_the_same_bytes(redis_7_0: Address, tmp_path: Path) -> None:
    with real_in(tmp_path, "--rdbcompression", "no") as port, patient(port) as client:
        client.function_load(LIBRARY)
        client.set("300", 1, pxat=FAR)
        client.select(3)
        client.rpush("list", "a", 1000)
        client.save()
        theirs = (tmp_path / "dump.rdb").read_bytes()
    engine = new_engine()
    loaded(theirs, engine)
    ours = of_engine(engine)
    for first, last in (b"", b"\xfa\x05ctime"), (b"\xfa\x08aof-base", None):
        assert part(ours, first, last) == part(theirs, first, last)
    assert b"\xfa\x08used-mem" in part(ours, b"\xfa\x05ctime\xc2", b"\xfa\x08aof-base")


def part(data: bytes, first: bytes, last: bytes | None) -> bytes:
    """What a file has from one place to another; without its checksum."""
    at = data.index(first)
    return data[at : -8 if last is None else data.index(last, at)]


def test_a_file_of_redis_6_2_is_loaded(older_redis: Path, tmp_path: Path) -> None:
    with real_at_free_port(older_redis, tmp_path) as (_, port), patient(port) as client:
        client.hset("h", mapping={"f": "v"})
        client.zadd("z", {"a": 1.5})
        client.rpush("l", *range(1000))
        client.xadd("s", {"f": "v"}, id="1-1")
        client.xgroup_create("s", "g", id="0")
        client.xreadgroup("g", "c", {"s": ">"})
        client.set("k", "v", px=10_000_000)
        client.save()
        deadline = client.pttl("k")
    engine = new_engine()
    assert loaded((tmp_path / "dump.rdb").read_bytes(), engine)[:2] == (5, 0)
    with miniredis.start(engine=engine) as server, patient(server.port) as client:
        assert client.hgetall("h") == {b"f": b"v"}
        assert client.zscore("z", "a") == 1.5
        assert client.lrange("l", 0, -1) == [b"%d" % number for number in range(1000)]
        assert client.xpending("s", "g")["pending"] == 1
        assert 0 < client.pttl("k") <= deadline


def test_a_file_of_redis_8_is_loaded() -> None:
    engine = new_engine()
    assert loaded((FOLDER / "redis_8_0.rdb").read_bytes(), engine)[:2] == (12, 0)
    with miniredis.start(engine=engine) as server, patient(server.port) as client:
        assert client.smembers("set") == {b"a", b"b", b"c", b"7"}
        assert client.scard("large set") == 200
        assert client.get("long") == b"ab" * 300
        assert client.pexpiretime("expires") == FAR
        assert client.lrange("list", 0, -1) == [b"a", b"1", b"x" * 9000]
        assert client.fcall("f", 0) == 7
        groups = client.xinfo_groups("stream")
        assert [(each["consumers"], each["pending"], each["entries-read"]) for each in groups] == [(3, 3, 4)]
        holders = {each["name"]: each["pending"] for each in client.xinfo_consumers("stream", "g")}
        assert holders == {b"one": 2, b"two": 1, b"idle": 0}
        client.select(3)
        assert client.get("k") == b"v"


def test_a_file_with_a_type_that_redis_7_0_lacks_is_refused_by_its_number() -> None:
    engine = new_engine()
    with pytest.raises(BadSnapshotError, match="no type 25"):
        loaded((FOLDER / "redis_8_0_field_expires.rdb").read_bytes(), engine)
    assert not keys(engine)


# Expiry


def test_expired_keys_are_written_and_dropped_by_who_loads_them(redis_7_0: Address, tmp_path: Path) -> None:
    engine = new_engine()
    db = engine.keyspace.databases[0]
    db.create(b"stays", b"v", None)
    db.create(b"expired", b"v", None, deadline=1000)
    save_file(Disk(), tmp_path / "dump.rdb", engine)
    other = new_engine()
    size = (tmp_path / "dump.rdb").stat().st_size
    assert load_file(Disk(), tmp_path / "dump.rdb", other) == Loaded(1, 1, size)
    assert list(other.keyspace.databases[0].values) == [b"stays"]
    with real_in(tmp_path) as port, patient(port) as client:
        told = client.info("persistence")
        assert (told["rdb_last_load_keys_loaded"], told["rdb_last_load_keys_expired"]) == (1, 1)


def test_the_base_of_an_append_only_file_keeps_expired_keys() -> None:
    engine = new_engine()
    engine.keyspace.databases[0].create(b"expired", b"v", None, deadline=1000)
    other = new_engine()
    data = of_engine(engine, aof_base=True)
    assert b"aof-base\xc0\x01" in data
    assert loaded(data + b"*1\r\n", other, keeps_expired=True) == Loaded(1, 0, len(data))
    assert other.keyspace.databases[0].deadlines == {b"expired": 1000}


def test_loaded_keys_expire_in_time(filled: Engine) -> None:
    engine = new_engine()
    engine.keyspace.databases[0].create(b"k", b"v", None, deadline=engine.keyspace.milliseconds + 60_000)
    other = new_engine()
    loaded(of_engine(engine), other)
    with (
        miniredis.start(engine=other, clock="held") as server,
        patient(server.port) as client,
    ):
        assert client.exists("k")
        server.fast_forward(61)
        assert client.dbsize() == 0


# Opcodes


@for_each(
    ("body", "state"),
    [
        (b"\xf8\x14\x00\x01k\x01v", {b"k": b"v"}),
        (b"\xf9\x05\x00\x01k\x01v", {b"k": b"v"}),
        (b"\xf4\x05\x01\x00\xfb\x01\x00\x00\x01k\x01v", {b"k": b"v"}),
        (b"\xfb\x81" + b"\xff" * 8 + b"\x00\x00\x01k\x01v", {b"k": b"v"}),
        (b"\xfa\x01a\xc0\x05\x00\xc1\x2c\x01\x01v", {b"300": b"v"}),
        (b"\xfc" + b"\xff" * 8 + b"\x00\x01k\x01v", {b"k": b"v"}),
        (b"\xfd\xff\xff\xff\x7f\x00\x01k\x01v", {b"k": b"v"}),
        (b"\xfd\x01\x00\x00\x00\x00\x01k\x01v\x00\x01l\x01w", {b"l": b"w"}),
        (field(b"used-mem", b"9" * 5000) + b"\x00\x01k\x01v", {b"k": b"v"}),
        (b"", {}),
    ],
)
def test_opcodes_around_keys_are_understood(body: bytes, state: dict[bytes, bytes]) -> None:
    engine = new_engine()
    loaded(signed(body), engine)
    assert engine.keyspace.databases[0].values == state


@pytest.mark.parametrize("number", [b"-1", b"9" * 19, b"9" * 5000, b"1x", b""])
def test_a_position_that_is_no_number_of_64_bits_is_none(number: bytes) -> None:
    engine = new_engine()
    fields = {b"repl-stream-db": b"0", b"repl-id": b"a" * 40, b"repl-offset": b"7"}
    assert loaded(signed(b"".join(starmap(field, fields.items()))), engine).position == (0, b"a" * 40, 7)
    for name in (b"repl-stream-db", b"repl-offset"):
        body = b"".join(starmap(field, (fields | {name: number}).items()))
        assert loaded(signed(body), engine).position is None


def test_how_long_a_key_was_not_used_is_kept() -> None:
    engine = new_engine()
    loaded(signed(b"\xf8\x14\x00\x01k\x01v\x00\x01l\x01w"), engine)
    db = engine.keyspace.databases[0]
    assert [db.used[key] - engine.keyspace.milliseconds for key in (b"k", b"l")] == [-20_000, 0]


@for_each(
    ("data", "reason"),
    [
        (b"", "does not begin"),
        (b"REDIX0010\xff", "does not begin"),
        (b"REDIS00x0\xff", "does not begin"),
        (signed(b"", NEWEST + 1), f"version {NEWEST + 1} "),
        (signed(b"", 0), "version 0 "),
        (b"REDIS0010", "at byte 9: the file ends too early"),
        (b"REDIS0010\xff1234567", "at byte 10: the file ends too early"),
        (signed(b"\x00\x01k\x20v"), "at byte 13: a key of type 0 is damaged"),
        (signed(b"\x00\x01k\x01v\x00\x01k\x01w"), "key b'k' is there twice in database 0"),
        (signed(b"\xfe\x10"), "at byte 11: there is a database 16, and the directive databases is 16"),
        (signed(b"\x06\x01k"), "at byte 10: there is no type 6"),
        (signed(b"\xf5\x03abc"), "a library cannot be loaded: ERR Missing library metadata"),
        (signed(b"\xf6\x01a"), "release candidate"),
        (signed(b"\xf7\x81\x26\x3f\x19\x1a\xd5\xab\x08\x01\x02\x01\x00"), "module type 'Jj8ZGtWrC'"),
        (signed(b"\xfa\x20a"), "at byte 11: what follows opcode 250 is damaged"),
        (signed(b"")[:-8] + b"\x01" + bytes(7), "the checksum is wrong"),
    ],
)  # fmt: skip
def test_what_cannot_be_loaded_is_named_with_its_place(data: bytes, reason: str) -> None:
    engine = new_engine()
    with pytest.raises(BadSnapshotError) as refused:
        loaded(data, engine)
    assert reason in str(refused.value)
    assert not keys(engine)


def test_a_file_without_a_checksum_is_loaded(redis_7_0: Address, filled: Engine, tmp_path: Path) -> None:
    data = of_engine(filled, has_checksum=False)
    assert data.endswith(END + bytes(8))
    (tmp_path / "dump.rdb").write_bytes(data)
    with real_in(tmp_path) as port, patient(port) as client:
        assert client.dbsize() == len(filled.keyspace.databases[0])
    assert loaded(data, new_engine()).keys == keys(filled)
    old = b"REDIS0004\x00\x01k\x01v\xff"
    assert loaded(old, new_engine()) == Loaded(1, 0, len(old))


def test_the_directive_rdbchecksum_says_whether_there_is_one_and_whether_it_counts(tmp_path: Path) -> None:
    path = tmp_path / "dump.rdb"
    without = new_engine(rdbchecksum="no")
    save_file(Disk(), path, without)
    assert path.read_bytes().endswith(END + bytes(8))
    path.write_bytes(signed(b"\x00\x01k\x01v")[:-8] + b"\x01" * 8)
    with pytest.raises(DamagedFileError, match=r"dump\.rdb: at byte 23: the checksum is wrong"):
        load_file(Disk(), path, new_engine())
    load_file(Disk(), path, without)
    assert keys(without) == 1


# Damage


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_a_file_that_was_cut_anywhere_is_refused(step: int) -> None:
    data = of_engine(small_engine())
    for cut in range(0, len(data), step):
        for cut_off in (data[:cut], resigned(data[:cut] + bytes(8))):
            if cut_off == data:
                continue
            engine = new_engine()
            with pytest.raises(BadSnapshotError):
                loaded(cut_off, engine, is_whole=True)
            assert not keys(engine)
            assert not engine.libraries.libraries


def some_damaged(data: bytes, count: int) -> Iterator[bytes]:
    """Copies of a file with a few wrong bytes, and the checksum that such a file must have."""
    luck = random.Random(4)  # noqa: S311
    for _ in range(count):
        damaged = bytearray(data)
        for _ in range(luck.randint(1, 3)):
            damaged[luck.randrange(len(data) - 8)] ^= 1 << luck.randrange(8)
        yield resigned(bytes(damaged))


@pytest.mark.parametrize("files", [200, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_damaged_file_with_a_right_checksum_is_loaded_whole_or_not_at_all(files: int) -> None:
    engine = small_engine()
    data, count = of_engine(engine), keys(engine)
    outcomes = set()
    for damaged in some_damaged(data, files):
        other = new_engine()
        try:
            found = loaded(damaged, other, is_whole=True)
        except BadSnapshotError:
            found = None
        if found is None:
            assert not keys(other)
            assert not other.libraries.libraries
            outcomes.add("refused")
        else:
            assert found.end == len(data)
            assert found.keys == keys(other) >= count - 2  # a key may have become a part of another
            outcomes.add("loaded")
    assert outcomes == {"refused", "loaded"}


def small_engine() -> Engine:
    """A few small keys of each type, so that every other bit has a meaning."""
    engine = new_engine()
    with miniredis.start(engine=engine) as server, patient(server.port) as client:
        client.function_load(LIBRARY)
        for number in range(3):
            client.set(f"text{number}", "value" * number, pxat=FAR)
            client.rpush(f"list{number}", *range(number + 1))
            client.sadd(f"set{number}", "a", *range(number))
            client.sadd(f"integers{number}", *range(number + 1))
            client.hset(f"hash{number}", mapping={f"f{at}": at for at in range(number + 1)})
            client.zadd(f"sorted{number}", {f"f{at}": at / 2 for at in range(number + 1)})
            client.xadd(f"stream{number}", {"f": number}, id="1-1")
            client.xgroup_create(f"stream{number}", "g", id="0")
            client.xreadgroup("g", "c", {f"stream{number}": ">"})
    return engine


@for_each(
    "body",
    [
        b"\x00\x81" + b"\x7f" * 8,
        b"\x00\x01k\x81" + b"\x7f" * 8,
        b"\x00\x01k\xc3\x02\x81" + b"\x00\x00\x00\x7f" * 2 + b"\x20\x00",
        b"\x01\x01k\x81" + b"\x7f" * 8 + b"\x01a",
        b"\x02\x01k\x81" + b"\x7f" * 8 + b"\x01a",
        b"\x0f\x01k\x81" + b"\x7f" * 8,
        b"\xfb\x81" + b"\x7f" * 8 + b"\x81" + b"\x7f" * 8 + b"\x00",
        b"\xfa\x81" + b"\x7f" * 8,
    ],
)
def test_a_length_that_the_file_does_not_justify_takes_no_memory(body: bytes) -> None:
    engine = new_engine()
    tracemalloc.start()
    try:
        with pytest.raises(BadSnapshotError):
            loaded(signed(body), engine)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_data_behind_the_end_is_no_part_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "dump.rdb"
    path.write_bytes(b"REDIS0010\xff" + bytes(8) + b"\x00\x01k\x01v\xff")
    with pytest.raises(DamagedFileError, match="at byte 18: the snapshot ends here, and the file does not"):
        load_file(Disk(), path, new_engine())


# The file


class FullDisk(Disk):
    """A disk on which an operation fails."""

    def __init__(self, operation: str) -> None:
        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        setattr(self, operation, fail)


@pytest.mark.parametrize("operation", ["create", "rename"])
def test_a_save_that_fails_leaves_the_file_as_it_was(operation: str, filled: Engine, tmp_path: Path) -> None:
    path = tmp_path / "dump.rdb"
    path.write_bytes(b"before")
    with pytest.raises(OSError, match="No space left"):
        save_file(FullDisk(operation), path, filled)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_no_file_is_no_snapshot(tmp_path: Path) -> None:
    assert load_file(Disk(), tmp_path / "dump.rdb", new_engine()) is None
