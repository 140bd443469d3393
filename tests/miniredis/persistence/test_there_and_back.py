"""Random data go from miniredis to a real Redis and back, by files and by replication, and are the same.

Run it by itself: ``pytest -n 0 -m slow tests/miniredis/persistence/test_there_and_back.py``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
import redis

import miniredis
from conformance.targets import Address
from miniredis.engine.rdb.payload import dump, restore
from miniredis.engine.values.hashes import HashValue
from miniredis.engine.values.sets import SetValue
from miniredis.engine.values.streams import Stream

from ...waiting import until
from ..replication.replicas import address_of, connect, real_replica, wait_until_caught_up, wait_until_up
from .rdb_states import fill, fill_at_random, patient, portrait, real_in

Server: TypeAlias = miniredis.EmbeddedServer

SNAPSHOT: Final = {"dbfilename": "dump.rdb"}
JOURNAL: Final = {"appendonly": "yes", "appendfsync": "no"}
FLAGS: Final = ("--appendonly", "yes", "--appendfsync", "no")
AT_ONCE: Final = ("--repl-diskless-sync-delay", "0")


def ours(folder: Path, **directives: Any) -> Server:
    return miniredis.start(dir=folder, enable_debug_command="yes", **directives)


def dumps(server: Server) -> dict[tuple[int, bytes], object]:
    """The payload of each key, but for what no command tells another server: an order, when a consumer was seen."""
    with patient(server.port) as client:
        found: dict[tuple[int, bytes], object] = {}
        for index in range(16):
            client.select(index)
            found |= {(index, key): in_order(client.dump(key)) for key in client.scan_iter()}
    return found


def in_order(payload: Any) -> object:
    match restore(payload):
        case HashValue(fields=fields):
            return sorted(fields.items())
        case SetValue(members=members):
            return sorted(members)
        case Stream() as stream:
            for group in stream.groups.values():
                for consumer in group.consumers.values():
                    consumer.seen = 0
            return dump(stream)
        case _:
            return payload


# Each way yields its servers: the first one, to be filled, and again once what it has is in a base or snapshot, to
# be changed at random; then the port of the real one; then the last one.

Way: TypeAlias = Generator[Any]


def by_snapshot(folder: Path) -> Way:
    with ours(folder, **SNAPSHOT) as first:
        yield first
        yield first
        with patient(first.port) as client:
            client.save()
    with real_in(folder) as port, patient(port) as client:
        yield port
        client.save()
    with ours(folder, **SNAPSHOT) as last:
        yield last


def by_append_only_file(folder: Path) -> Way:
    with ours(folder, **JOURNAL) as first:
        yield first
        rewrite(first.port)
        yield first
    with real_in(folder, *FLAGS) as port:
        yield port
        rewrite(port)
    with ours(folder, **JOURNAL) as last:
        yield last


def rewrite(port: int) -> None:
    with patient(port) as client:
        client.bgrewriteaof()
        until(lambda: has_rewritten(client), "is it rewritten")


def has_rewritten(client: redis.Redis) -> bool:
    told: Any = client.info("persistence")
    return not told["aof_rewrite_in_progress"] and told["aof_rewrites"] == 1


def by_replication(folder: Path) -> Way:
    with ours(folder, appendonly="no") as first, ours(folder, appendonly="no") as last:
        yield first
        with (
            real_replica(folder, (first.host, first.port), *AT_ONCE) as middle,
            connect((first.host, first.port)) as master,
            connect((last.host, last.port)) as replica,
        ):
            wait_until_up(middle)
            yield first
            wait_until_caught_up(master, middle)
            port = address_of(middle)[1]
            yield port
            replica.replicaof("127.0.0.1", port)
            wait_until_caught_up(middle, replica)
            yield last


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
@pytest.mark.parametrize("way", [by_snapshot, by_append_only_file, by_replication])
def test_data_that_went_to_a_real_server_and_back_are_the_same(
    way: Callable[[Path], Way], seed: int, redis_7_0: Address, tmp_path: Path
) -> None:
    with contextlib.closing(way(tmp_path)) as servers:
        first = next(servers)
        with patient(first.port) as client:
            fill(client)
        assert next(servers) is first
        fill_at_random((first.host, first.port), (redis_7_0.host, redis_7_0.port), seed)
        seen, payloads = portrait(first.port), dumps(first)
        assert portrait(next(servers)) == seen
        last = next(servers)
        assert portrait(last.port) == seen
        assert dumps(last) == payloads
