"""The directives of CONFIG have the names, defaults and values of a real 7.0 where that is possible."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import redis

import miniredis
from conformance.targets import Address
from conformance.wire import RawConnection, encode
from miniredis.engine.config import Config, ConfigurationError
from miniredis.engine.config.table import ALIASES, DIRECTIVES
from miniredis.engine.config.words import EventClasses
from tests.cases import check_each, exhaustive

NAMES: Final = [*DIRECTIVES, *ALIASES]

OTHER_DEFAULTS: Final = {
    "dir": "each starts where it is put",
    "port": "each has its own",
}
"""What differs from a real server that was started with the flags of the fixture."""

SPARED: Final = {
    "activedefrag": "a Redis with its own allocator takes it",
    "appendonly": "the real server would write files; its refusals are tried below",
    "bind": "the real server would leave its address; its refusals are tried below",
    "maxclients": "the system limits the real server, which seeks the limit for long; low ones are tried below",
    "maxmemory-clients": "the real server would hang up on the test; what it refuses is tried below",
    "oom-score-adj": "it would change how the system treats the real server",
    "port": "the real server would leave its port; its refusals are tried below",
    "tls-port": "the real server has no certificate; its refusals are tried below",
    "watchdog-period": "it would interrupt the real server",
}

PROBES: Final = [
    "yes", "no", "YES", "maybe", "", "-1", "0", "1", "2", "5", "99", "100", "101", "777", "778", "1000", "1001",
    "65535", "65536", "1048575", "2147483647", "2147483648", "4294967295", "4294967296", "9223372036854775807",
    "9223372036854775808", "18446744073709551615", "18446744073709551616", "-2147483648", "-2147483649",
    "-9223372036854775808", "9" * 127, "9" * 128, "1.5", "01", "+1", "-0", " 1", "1 ", "0x10", "1k", "1kb", "1K",
    "1Mb", "2gb", "10b", "1x", "k", "8589934592gb", "17179869184gb", "1%", "101%", "-1%", "%", "08", "1 2",
    "yes yes", "1 2 3", "a b c d", "0.5 99", "nosave force", "save nosave", "now", "always", "everysec",
    "noeviction", "NoEviction", "all\u212aeys-lru", "default", "debug", "local", "local0", "clients", "swapdb",
    "allchannels", "hostname", "optional", "panic", "relative", "disabled", "no one", "KEA", "gd", "{title}",
    "a/b", "\u0661", "\u00e9", "a\r\nb", "yes\0", "1\0",
]  # fmt: skip

REFUSED: Final = {
    "appendonly": ["maybe", "", "1", "yes yes"],
    "bind": [" ".join("abcdefghijklmnopq")],
    "maxclients": ["-1", "0", "x", "1k", "4294967296", "100", "10000"],
    "maxmemory-clients": ["-1", "x", "101%", "-1%", "%", "9223372036854775808", "0%", "", "0"],
    "oom-score-adj": ["maybe", "", "no", "NO"],
    "port": ["-1", "x", "", "65536"],
    "tls-port": ["-1", "x", "", "65536"],
    "watchdog-period": ["-1", "x", "2147483648", "0"],
}

ONLY: Final = re.compile(
    rb"-ERR CONFIG SET failed \(possibly related to argument '[a-z-]+'\) - this server .*\r\n"
)


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[miniredis.EmbeddedServer]:
    with miniredis.start(dbfilename="dump.rdb", dir=tmp_path_factory.mktemp("data")) as server:
        yield server


@pytest.fixture
def both(
    redis_7_0: Address, embedded: miniredis.EmbeddedServer
) -> Iterator[tuple[RawConnection, RawConnection]]:
    with (
        RawConnection(redis_7_0.host, redis_7_0.port) as theirs,
        RawConnection(embedded.host, embedded.port) as ours,
    ):
        yield theirs, ours


def shown(port: int) -> dict[str, str]:
    with redis.Redis(port=port, decode_responses=True) as client:
        found: dict[str, str] = client.config_get("*")
        return found


# The table and a real server


def test_config_get_shows_the_directives_of_a_real_server(
    redis_7_0: Address, embedded: miniredis.EmbeddedServer
) -> None:
    assert shown(embedded.port).keys() == shown(redis_7_0.port).keys()


def test_config_get_shows_the_defaults_of_a_real_server(
    redis_7_0: Address, embedded: miniredis.EmbeddedServer
) -> None:
    ours, theirs = shown(embedded.port), shown(redis_7_0.port)
    assert {name for name in ours if ours[name] != theirs[name]} <= set(OTHER_DEFAULTS)


@pytest.mark.parametrize("first", [0, exhaustive(1), exhaustive(2)])
def test_both_servers_accept_and_refuse_the_same_values(
    first: int, both: tuple[RawConnection, RawConnection]
) -> None:
    """In the default run every third value."""
    names = {name: name for name in NAMES if name not in SPARED}
    check_each(names, lambda name: compare(both, name, PROBES[first::3]))


@pytest.mark.parametrize("name", REFUSED)
def test_directives_that_must_not_be_set_refuse_the_same_values(
    name: str, both: tuple[RawConnection, RawConnection]
) -> None:
    compare(both, name, REFUSED[name])


def compare(both: tuple[RawConnection, RawConnection], name: str, values: list[str]) -> None:
    """Sets a directive to values on both servers; what each says and then shows is the same."""
    firsts = [value_of(each, name) for each in both]
    theirs, off = both[0], firsts[1]
    if is_off(name):
        theirs.command("CONFIG", "SET", name, off)
    try:
        ours = set_each(both[1], name, values)
        refused = [is_off(name) and ONLY.fullmatch(reply) is not None for reply, _ in ours]
        real = set_each(theirs, name, values, [off if each else None for each in refused])
    finally:
        for each, first in zip(both, firsts, strict=True):
            each.command("CONFIG", "SET", name, first)
    for value, only_ours, mine, other in zip(values, refused, ours, real, strict=True):
        if only_ours:
            assert other[1] != off or b"TLS" in other[0], f"{value!r} could have been taken"
        else:
            assert mine[0] == other[0], f"{value!r}"
            assert mine[1] == other[1] or name in OTHER_DEFAULTS, f"{value!r}"
    assert [value_of(each, name) for each in both] == firsts


def set_each(
    server: RawConnection, name: str, values: list[str], then: list[bytes | None] | None = None
) -> list[tuple[bytes, bytes]]:
    """Sets a directive to one value after the other; what was said to each, and shown then. All is sent at once.

    Args:
        server: which one.
        name: of the directive.
        values: what it is to be.
        then: for each of them what is set after it, if anything is.
    """
    after = then or [None] * len(values)
    asked: list[list[bytes]] = []
    for value, last in zip(values, after, strict=True):
        asked.append([encode("CONFIG", "SET", name, value), encode("CONFIG", "GET", name)])
        if last is not None:
            asked[-1].append(encode("CONFIG", "SET", name, last))
    server.socket.sendall(b"".join(request for each in asked for request in each))
    replies = [[server.reply() for _ in each] for each in asked]
    assert all(rest in ([], [b"+OK\r\n"]) for _, _, *rest in replies)
    return [(said, value_in(shown)) for said, shown, *_ in replies]


def value_of(server: RawConnection, name: str) -> bytes:
    """What CONFIG GET shows; some values have line ends in them."""
    return value_in(server.command("CONFIG", "GET", name))


def value_in(reply: bytes) -> bytes:
    return reply.split(b"\r\n", 4)[4].removesuffix(b"\r\n")


def is_off(name: str) -> bool:
    return DIRECTIVES[ALIASES.get(name, name)].verdict == "off"


def test_every_alias_names_an_existing_directive_and_is_none_itself() -> None:
    assert not set(ALIASES) & set(DIRECTIVES)
    assert set(ALIASES.values()) <= set(DIRECTIVES)


def test_directives_that_the_code_reads_are_marked_as_working() -> None:
    root = Path(miniredis.__file__).parent
    code = "".join(
        each.read_text() for each in root.rglob("*.py") if each.name not in {"table.py", "info.py"}
    )
    read = {name for name in DIRECTIVES if f'config["{name}"]' in code or f'integer("{name}")' in code}
    assert {name for name in read if DIRECTIVES[name].verdict != "works"} == set()


def test_every_default_is_a_valid_value() -> None:
    for name, directive in DIRECTIVES.items():
        assert directive.check(directive.default, directive.default) == directive.default, name


def test_directives_of_unsupported_features_accept_only_their_off_value() -> None:
    for name, value in [
        ("tls-cluster", "yes"),
        ("maxmemory", "1gb"),
        ("syslog-enabled", "yes"),
    ]:  # fmt: skip
        with pytest.raises(ConfigurationError, match=f"^{name}=.*: not supported by miniredis"):
            Config({name: value})


# One configuration


def test_classes_of_events_are_kept_once_however_often_they_were_given() -> None:
    given = Config({"notify-keyspace-events": "KEn$" * 1000 + "l"})["notify-keyspace-events"]
    assert isinstance(given, EventClasses)
    assert given == "$lnKE"
    assert sorted(given.letters) == sorted("KEn$l")


def test_config_takes_the_words_of_a_directive_as_a_string_or_a_list() -> None:
    assert Config({"bind": ["127.0.0.1", "-::1"]})["bind"] == "127.0.0.1 -::1"
    assert Config({"bind": "127.0.0.1 -::1"})["bind"] == "127.0.0.1 -::1"
    assert Config({"requirepass": ["a b"]})["requirepass"] == "a b"
    assert Config({"shutdown-on-sigint": ["force", "now"]})["shutdown-on-sigint"] == "now force"
    assert Config({"replicaof": ["no", "one"]})["replicaof"] == ""
    assert Config({"unixsocketperm": "0700"})["unixsocketperm"] == "700"
    for name, words in [("requirepass", ["a", "b"]), ("hz", []), ("replicaof", ["a"])]:
        with pytest.raises(ConfigurationError) as refused:
            Config({name: words})
        assert refused.value.reason == "wrong number of arguments"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("unixsocketperm", "1000", "argument must be between 0 and 777 inclusive"),
        ("unixsocketperm", "9", "argument couldn't be parsed as an octal number"),
        ("unixsocketperm", "0o7", "argument couldn't be parsed as an octal number"),
        ("io-threads", "129", "argument must be between 1 and 128 inclusive"),
        ("enable-debug-command", "x", "argument(s) must be one of the following: no, yes, local"),
        ("supervised", "x", "argument(s) must be one of the following: upstart, systemd, auto, no"),
        ("appendfilename", "a/b", "appendfilename can't be a path, just a filename"),
        ("appenddirname", "", "appenddirname can't be empty"),
        ("dbfilename", "a/b", "dbfilename can't be a path, just a filename"),
        ("replicaof", "host x", "Invalid master port"),
        ("bind", "a " * 16, "Too many bind addresses specified."),
        ("socket-mark-id", "4294967296", "argument must be between 0 and 4294967295 inclusive"),
    ],
)
def test_values_refused_at_the_start_get_the_reason_of_a_real_server(
    name: str, value: str, reason: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Config({name: value})
    assert refused.value.reason == reason


@pytest.mark.parametrize("given", [{"port": "x"}, {"nosuch": "1"}])
def test_a_configuration_error_can_be_copied_and_pickled(given: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Config(given)
    for error in (copy.copy(refused.value), pickle.loads(pickle.dumps(refused.value))):  # noqa: S301
        assert (type(error), str(error)) == (type(refused.value), str(refused.value))


def test_config_reads_numbers_aliases_and_names_in_any_case() -> None:
    config = Config({"lua-time-limit": "7", "PORT": "1"})
    assert (
        config.integer("busy-reply-threshold") == config.integer("lua-time-limit") == config.integer("hz") - 3
    )
    config.change([("Busy-Reply-Threshold", "8")])
    assert config["lua-time-limit"] == "8"
    assert config.integer("lua-time-limit") == config.integer("busy-reply-threshold") == 8
    assert config.integer("port") == 1


# A server


def test_config_set_cannot_change_port_and_bind_of_a_running_server(
    embedded: miniredis.EmbeddedServer,
) -> None:
    with redis.Redis(port=embedded.port) as client:
        assert client.config_set("port", embedded.port)
        assert client.config_set("bind", "127.0.0.1")
        with pytest.raises(redis.ResponseError, match=f"this server keeps the '{embedded.port}' that it"):
            client.config_set("port", 1)
        with pytest.raises(redis.ResponseError, match=r"'bind'.*this server keeps"):
            client.config_set("bind", "127.0.0.1 ::1")


def test_enable_protected_configs_allows_config_set_of_protected_directives() -> None:
    for permission in ("yes", "local"):
        with (
            miniredis.start(enable_protected_configs=permission) as server,
            redis.Redis(port=server.port, decode_responses=True) as client,
        ):
            assert client.config_set("dbfilename", "other.rdb")
            assert client.config_get("dbfilename") == {"dbfilename": "other.rdb"}
            with pytest.raises(redis.ResponseError, match="dbfilename can't be a path, just a filename"):
                client.config_set("dbfilename", "a/b")


def test_the_slow_log_hides_passwords_of_config_set() -> None:
    with (
        miniredis.start(slowlog_log_slower_than=0) as server,
        RawConnection(server.host, server.port) as client,
    ):
        client.command(
            "CONFIG", "SET", "RequirePass", "hush", "hz", "11", "masterauth", "hush", "nosuch", "hush"
        )
        log = client.command("SLOWLOG", "GET")
        assert b"hz\r\n$2\r\n11\r\n" in log
        assert log.count(b"(redacted)") == 2
        assert log.count(b"hush") == 1


def test_config_resetstat_resets_the_counts_but_not_the_client_ids(
    embedded: miniredis.EmbeddedServer,
) -> None:
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


def test_of_the_pops_of_a_set_only_one_that_takes_all_looks_as_a_reader() -> None:
    with miniredis.start() as server, server.client() as client:
        for request, hits in (
            ("SPOP s", 0),
            ("SPOP s 2", 0),
            ("SPOP s 3", 1),
            ("SPOP s 4", 2),
            ("SPOP no 1", 2),
        ):
            client.sadd("s", "a", "b", "c")
            client.execute_command(request)
            assert client.info("stats")["keyspace_hits"] == hits, request
