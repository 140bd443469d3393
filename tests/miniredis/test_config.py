"""The directives: their names, defaults and values are those of a real 7.0, where they can be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

import miniredis
from conformance.targets import Address
from conformance.wire import RawConnection
from miniredis.engine.directives import (
    ALIASES,
    CHOICES,
    DIRECTIVES,
    NUMBERS,
    OFF,
    SIZES,
    SWITCHES,
    TEXTS,
    WORKING,
)

OF_THE_START = {
    "port",
    "bind",
    "dir",
    "databases",
    "daemonize",
    "save",
    "enable-debug-command",
    "oom-score-adj",
}
"""What the fixtures and the machine decide."""

BY_THE_BUILD = {"activedefrag", "jemalloc-bg-thread", "maxclients", "repl-backlog-size"}

PROBES = [
    "yes", "no", "YES", "maybe", "", "-1", "0", "1", "2", "99", "100", "101", "1000", "65535", "65536", "2147483647",
    "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1.5", "01", " 1", "1k",
    "1kb", "1mb", "2gb", "1x", "1%", "0x10", "k", "always", "noeviction", "default", "debug",
]  # fmt: skip


@pytest.fixture(scope="module")
def real(real_server: Address) -> Address:
    if "Redis 7.0." not in real_server.origin:
        pytest.skip(f"the real server is {real_server.origin}, not 7.0")
    return real_server


@pytest.fixture(scope="module")
def embedded() -> Iterator[miniredis.EmbeddedServer]:
    with miniredis.start() as server:
        yield server


def shown(port: int) -> dict[str, str]:
    with redis.Redis(port=port, decode_responses=True) as client:
        found: dict[str, str] = client.config_get("*")
        return found


def test_the_names_are_redis_s_own(real: Address, embedded: miniredis.EmbeddedServer) -> None:
    assert shown(embedded.port).keys() == shown(real.port).keys()


def test_the_defaults_are_redis_s_own_or_ask_for_nothing(
    real: Address, embedded: miniredis.EmbeddedServer
) -> None:
    ours, theirs = shown(embedded.port), shown(real.port)
    differ = {name for name in ours if ours[name] != theirs[name]}
    off = set(OFF) | {old for old, new in ALIASES.items() if new in OFF}
    assert differ <= off | OF_THE_START
    assert "slowlog-max-len" not in differ


FREE = [*SWITCHES, *NUMBERS, *SIZES, *CHOICES, "requirepass", "slowlog-max-len", "slowlog-log-slower-than"]


@pytest.mark.parametrize("name", [*FREE, *ALIASES])
def test_values_are_taken_and_refused_alike(
    name: str, real: Address, embedded: miniredis.EmbeddedServer
) -> None:
    if ALIASES.get(name, name) in OFF:
        pytest.skip("this server takes one value of it only")
    if name in BY_THE_BUILD or name.startswith("tls-"):
        pytest.skip("what a real server takes depends on how it was built, and where it runs")
    with RawConnection(real.host, real.port) as theirs, RawConnection(embedded.host, embedded.port) as ours:
        before = shown(real.port)[name]
        for value in PROBES:
            if name == "proto-max-bulk-len" and value in {"1000", "1k", "1kb"}:
                continue
            ours.command("AUTH", value)
            replies = [each.command("CONFIG", "SET", name, value) for each in (ours, theirs)]
            assert replies[0] == replies[1], value
            replies = [each.command("CONFIG", "GET", name) for each in (ours, theirs)]
            assert replies[0] == replies[1], value
        for each in (ours, theirs):
            assert each.command("CONFIG", "SET", name, before) == b"+OK\r\n"


def test_every_directive_has_one_verdict() -> None:
    tables: list[dict[str, object]] = [
        dict(table) for table in (WORKING, OFF, SWITCHES, NUMBERS, SIZES, CHOICES, TEXTS)
    ]
    names = [name for table in tables for name in table]
    assert len(names) == len(set(names))
    assert not set(ALIASES) & set(DIRECTIVES)
    assert set(ALIASES.values()) <= set(DIRECTIVES)


def test_an_old_name_is_the_same_directive(embedded: miniredis.EmbeddedServer) -> None:
    with redis.Redis(port=embedded.port, decode_responses=True) as client:
        client.config_set("list-max-ziplist-size", -5)
        assert client.config_get("list-max-listpack-size") == {"list-max-listpack-size": "-5"}
        client.config_set("list-max-listpack-size", -2)


def test_resetstat_counts_from_zero_and_gives_no_number_twice(embedded: miniredis.EmbeddedServer) -> None:
    with redis.Redis(port=embedded.port, protocol=2) as client:
        client.set("k", "v")
        client.get("k")
        number = client.client_id()
        client.config_resetstat()
        stats = client.info("everything")
        assert (
            stats["keyspace_hits"] == stats["total_connections_received"] == stats["total_error_replies"] == 0
        )
        assert stats["cmdstat_config|resetstat"]["calls"] == 1
        assert "cmdstat_get" not in stats
        with redis.Redis(port=embedded.port) as other:
            assert other.client_id() > number
