"""Data for tests of snapshots, and ``portrait``, which shows all data of a server for comparison."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import redis

from conformance.differential.grammar import read_forms
from conformance.differential.requests import request
from conformance.wire import RawConnection
from miniredis import Config, Engine
from miniredis.clock import RealClock
from miniredis.engine.rdb import snapshot
from miniredis.engine.rdb.loading import Loaded, load
from miniredis.environment import this_process
from miniredis.persistence import rdb_file
from miniredis.persistence.rdb_file import FileSystem
from tests.servers import start_redis

__all__ = [
    "FAR",
    "LIBRARY",
    "fill",
    "fill_at_random",
    "load_file",
    "loaded",
    "new_engine",
    "of_engine",
    "patient",
    "portrait",
    "real_in",
]

FAR: Final = 32_503_680_000_000
"""The year 3000 in milliseconds."""

LIBRARY: Final = "#!lua name=lib\nredis.register_function('f', function() return 7 end)"

RANDOM_GROUPS: Final = {
    "bitmap", "geo", "hash", "hyperloglog", "list", "set", "sorted-set", "stream", "string",
}  # fmt: skip
RANDOM_DATABASES: Final = range(10, 16)
SPARED: Final = ("BL", "BRPOP", "BZ", "XREAD", "PFSELFTEST")
"""How the names of commands begin that may block, or that take a real server seconds."""

SIZES: Final = (1, 100, 700)
"""How many elements make each encoding of each type."""


def patient(port: int, **options: Any) -> redis.Redis:
    """A client that waits for a busy server; redis-py's would send the request once more after five seconds."""
    return redis.Redis(port=port, socket_timeout=None, **options)


def fill(client: redis.Redis) -> None:
    """Makes keys of every type and encoding, some that expire, in two databases, and a library."""
    client.function_load(LIBRARY)
    raw: Any = client
    for size in SIZES:
        names = [f"n{number}" for number in range(size)]
        client.set(f"text {size}", "x\r\n\0" * size)
        client.append(f"changed text {size}", "y" * size)
        client.rpush(f"list {size}", *names, *range(size), "z" * 100 * size)
        client.sadd(f"set {size}", *names)
        client.sadd(f"integers {size}", *(number**4 for number in range(size)))
        client.hset(f"hash {size}", mapping=dict(zip(names, range(size), strict=True)))
        client.hset(f"hash of long values {size}", mapping={each: each * 50 for each in names})
        client.zadd(f"sorted set {size}", {each: number / 3 for number, each in enumerate(names)})
        client.pfadd(f"hyperloglog {size}", *names)
        for number, each in enumerate(names):
            raw.xadd(f"stream {size}", {"f": each, f"g{number % 3}": number}, id=f"{number + 1}-{number}")
    client.zadd("infinite", {"a": "inf", "b": "-inf", "c": 1e300, "d": -0.5})
    for number in (0, -1, 127, 128, -32768, 40000, 1 << 31, -(1 << 31), 1 << 62):
        client.set(f"{number}", number)
    fill_groups(client)
    client.select(9)
    client.set("", "", pxat=FAR)
    client.rpush("expires", "a")
    client.pexpireat("expires", FAR + 1)
    client.set("n" * 20_000, "v")
    client.select(0)


def fill_groups(client: redis.Redis) -> None:
    raw: Any = client
    key = "stream 100"
    raw.xdel(key, "2-1", "50-49")
    raw.xgroup_create(key, "g", id="0")
    raw.xgroup_create(key, "nobody read", id="$")
    raw.execute_command("XGROUP", "CREATE", key, "knows", "5-4", "ENTRIESREAD", 4)
    raw.xreadgroup("g", "one", {key: ">"}, count=20)
    raw.xreadgroup("g", "two", {key: ">"}, count=5)
    raw.xgroup_createconsumer(key, "g", "three")
    raw.xack(key, "g", "1-0", "7-6")
    raw.xclaim(key, "g", "two", 0, ["3-2"], retrycount=9)
    raw.execute_command("XGROUP", "CREATE", "stream without entries", "g", "$", "MKSTREAM")


def fill_at_random(server: tuple[str, int], docs: tuple[str, int], seed: int) -> None:
    """Sends random commands of all types, of which many do nothing.

    Args:
        server: the address of the server that gets the commands.
        docs: the address of a server whose COMMAND DOCS describe the commands.
        seed: decides which commands are sent.
    """
    luck = random.Random(seed)  # noqa: S311
    with RawConnection(*docs) as connection:
        names: Any = redis.Redis(*docs, decode_responses=True).command_list()
        forms = [form for form in read_forms(connection, sorted(names)) if form.group in RANDOM_GROUPS]
    forms = [form for form in forms if not form.name.upper().startswith(SPARED)]
    with RawConnection(*server) as connection:
        for number in range(600):
            if not number % 100:
                connection.command("SELECT", str(luck.choice(RANDOM_DATABASES)))
            connection.command(*request(luck.choice(forms), luck.choice, luck.choice((0, 0, 0, 200))))


def portrait(port: int) -> dict[object, object]:
    """All that clients can see of the data of a server, whatever order its tables have.

    The encoding is left out for keys of random commands: one that shrank may still have its larger encoding,
    which a snapshot does not keep. It is left out for strings, whose encoding depends on how they were made.
    """
    seen: dict[object, object] = {}
    with patient(port) as client:
        seen["libraries"] = client.function_list(withcode=True)
        for index in range(16):
            client.select(index)
            seen[index, "size"] = client.dbsize()
            for key in client.scan_iter():
                kind = client.type(key)
                seen[index, key] = kind, portrait_of(client, key, kind)
                if index not in RANDOM_DATABASES and kind != b"string":
                    seen[index, key, "encoding"] = client.object("encoding", key)
    return seen


def portrait_of(client: Any, key: bytes, kind: bytes) -> list[object]:
    seen = [client.execute_command("DEBUG", "DIGEST-VALUE", key), client.pexpiretime(key)]
    if kind == b"stream":
        told = client.execute_command("XINFO", "STREAM", key, "FULL", "COUNT", 0)
        for consumer in [each for group in told[b"groups"] for each in group[b"consumers"]]:
            del consumer[b"seen-time"]  # no command tells another server
        seen.append(told)
    return seen


@contextmanager
def real_in(folder: Path, *flags: str) -> Iterator[int]:
    """Starts a real server that loads ``dump.rdb`` of a folder, if it is there; yields its port."""
    with start_redis(folder, "--enable-debug-command", "yes", *flags) as server:
        yield server.port


def new_engine(**directives: str) -> Engine:
    """An engine in this process, at the current time."""
    config = Config({"enable-debug-command": "yes", "port": "0", **directives})
    return Engine(config, RealClock().now(), environment=this_process())


def of_engine(engine: Engine, **options: Any) -> bytes:
    """A snapshot of an engine."""
    codes = [library.code for library in engine.libraries.libraries]
    return b"".join(snapshot.write(engine.keyspace, codes, **options))


def load_file(disk: FileSystem, path: Path, engine: Engine) -> Loaded | None:
    """Loads a file into an engine, in one go."""
    steps = rdb_file.load_file(disk, path, engine)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def loaded(data: bytes, engine: Engine, **options: bool) -> Loaded:
    """Loads a snapshot into an engine."""
    return load(data, engine.keyspace, engine.libraries, engine.packing, **options)
