"""The effects of commands and the number of changes, beside a real Redis; and what they make when run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis

import miniredis
from conformance.documents.recorded import FILES
from conformance.documents.recorded.player import Player, Scenario, read
from conformance.wire import encode
from miniredis.engine import Engine, Environment, Instant
from miniredis.engine.effects.replay import Replay
from miniredis.engine.values.groups import ConsumerGroup
from miniredis.engine.values.hashes import HashValue
from miniredis.engine.values.rqueues import RQueue
from miniredis.engine.values.sets import SetValue
from miniredis.engine.values.sorted_sets import SortedSet
from miniredis.engine.values.streams import Stream
from miniredis.scripting import new_interpreter
from tests.cases import check_each, exhaustive, for_each
from tests.miniredis.engine.effects import appended_to, commands_in, differences
from tests.servers import start_redis

DAILY = (
    "blocking hashes list_elements scripting_and_others sets sorted_set_pops stream_groups transactions"
).split()
"""The files whose conversations the default run plays; the exhaustive run plays all."""

PROTECTED = {"DEBUG is not allowed", "config set: names before values, and the first bad one"}
"""Scenarios for a server that does not allow what these servers must."""

SWITCHES = ("--enable-debug-command", "yes", "--enable-protected-configs", "yes")


PATHS = [exhaustive(path, id=name, when=name not in DAILY) for name, path in FILES.items()]


@dataclass
class Recorded:
    """A server that tells what it has propagated since it was asked last."""

    address: tuple[str, int]
    new: Callable[[], list[list[bytes]]]
    engine: Any = None

    def changes(self) -> int:
        """How many there were since the last save."""
        with redis.Redis(*self.address) as client:
            return int(client.info("persistence")["rdb_changes_since_last_save"])


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    folder = tmp_path_factory.mktemp("aof")
    seen = 0

    def new() -> list[list[bytes]]:
        nonlocal seen
        effects = appended_to(folder / "appendonlydir")
        before, seen = seen, len(effects)
        return effects[before:]

    with start_redis(folder, "--appendonly", "yes", "--appendfsync", "always", *SWITCHES) as server:
        yield Recorded(("127.0.0.1", server.port), new)


@contextmanager
def recording() -> Iterator[Recorded]:
    with miniredis.start(enable_debug_command="yes", enable_protected_configs="yes") as server:
        engine = server._runner.engine
        with server._runner.lock:
            engine.recording.start()
        yield Recorded(("127.0.0.1", server.port), lambda: commands_in(engine.recording.take()), engine)


@pytest.fixture(scope="module")
def ours() -> Iterator[Recorded]:
    with recording() as recorded:
        yield recorded


def scenarios(path: Path) -> dict[str, Scenario]:
    return {each.title: each for each in read(path) if each.title not in PROTECTED}


@pytest.mark.parametrize("path", PATHS)
def test_effects_and_the_count_of_changes_are_those_of_redis(
    path: Path, real: Recorded, ours: Recorded
) -> None:
    with redis.Redis(*real.address) as client:
        if not is_7_0_version(client):
            pytest.skip("only 7.0 propagates as this server does")

    def play(scenario: Scenario) -> None:
        streams, counts = [], []
        for server in (ours, real):
            server.new()
            with Player(server.address) as player:
                before = server.changes()
                player.play(scenario)
            streams.append(since_flush(server.new()))
            counts.append(server.changes() - before)
        assert list(differences(*streams)) == []
        assert counts[0] == counts[1], "changes since the last save"

    check_each(scenarios(path), play)


def since_flush(effects: list[list[bytes]]) -> list[list[bytes]]:
    """Without what a scenario has left for later: each begins with FLUSHALL."""
    return effects[effects.index([b"FLUSHALL"]) :]


def is_7_0_version(client: redis.Redis) -> bool:
    return str(client.info("server")["redis_version"]).startswith("7.0.")


# What they make when they are run again


def content(value: Any) -> object:
    """What a value holds, in whatever form; of a group, what was given out: that is what is propagated."""
    match value:
        case HashValue():
            return value.fields
        case SetValue():
            return value.members.keys()
        case SortedSet():
            return value.scores
        case Stream():
            return (
                value.last,
                list(value.walk()),
                {name: given(group) for name, group in value.groups.items()},
            )
        case RQueue():
            return len(value)
        case _:
            return value if isinstance(value, bytes | bytearray) else list(value)


def given(group: ConsumerGroup) -> object:
    return group.last, [(number, each.consumer.name, each.count) for number, each in group.pending.walk()]


def state(engine: Engine) -> dict[tuple[int, bytes], object]:
    """All keys, with what they hold and when they expire."""
    return {
        (db.index, key): (db.deadlines.get(key), content(value))
        for db in engine.keyspace.databases
        for key, value in db.values.items()
    }


LOST_BY_REDIS = {
    "events of counters and parts": "BITFIELD that writes a zero creates a key, and is not propagated",
    "when a sparse one becomes dense": "hll-sparse-max-bytes is propagated to nobody",
    "XREADGROUP gives each entry to one consumer": "a history that is read counts deliveries, and is not propagated",
}
"""Scenarios whose effects, the very ones of Redis, do not make the same keys, each with the reason."""


def run_again(effects: list[list[bytes]]) -> Engine:
    now = Instant(0, 0)  # no key expires but by its effect
    engine = Engine(now=now, environment=Environment(new_interpreter=new_interpreter))
    Replay(engine).run(effects)
    return engine


@pytest.mark.parametrize("path", PATHS)
def test_effects_that_are_run_again_make_the_same_keys(path: Path) -> None:
    def play(scenario: Scenario) -> None:
        with recording() as server, Player(server.address) as player:
            player.play(scenario)
            again, made = state(run_again(server.new())), state(server.engine)
        if scenario.title in LOST_BY_REDIS:
            assert again != made
        else:
            assert again == made

    check_each(scenarios(path), play)


@pytest.mark.parametrize(
    "words", [("GET", "k"), ("DEL", "k"), ("TTL", "k"), ("SPOP", "k"), ("EXISTS", "k", "k")]
)
def test_whoever_meets_an_expired_key_propagates_its_end_and_no_command(words: tuple[str, ...]) -> None:
    engine = Engine(now=Instant(0, 0))
    engine.recording.start()
    session = engine.connect(Instant(0, 0))
    engine.receive(session, encode("SET", "k", "v", "PX", "1"), Instant(0, 0))
    assert engine.recording.take()
    before = engine.keyspace.changes
    engine.receive(session, encode(*words), Instant(50_000, 0))
    engine.settle(Instant(50_000, 0))
    assert engine.recording.take() == encode("DEL", "k")
    assert engine.keyspace.changes == before


def test_a_reset_from_outside_is_an_effect() -> None:
    now = Instant(0, 0)
    engine = Engine(now=now)
    engine.recording.start()
    session = engine.connect(now)
    engine.receive(session, encode("SET", "k", "v"), now)
    engine.reset(now)
    engine.settle(now)
    assert commands_in(engine.recording.take()) == [[b"SELECT", b"0"], [b"SET", b"k", b"v"], [b"FLUSHALL"]]


SELECT = encode("SELECT", "0")


def recorded(*pieces: bytes) -> bytes:
    """What an engine appends to its file when one client sends this, one piece in each tick."""
    now = Instant(0, 0)
    engine = Engine(now=now)
    engine.recording.start()
    session = engine.connect(now)
    for piece in pieces:
        engine.receive(session, piece, now)
        engine.settle(now)
    return engine.recording.take()


@for_each(
    ("sent", "appended"),
    [
        (encode("LPUSH", "l", "a"), encode("LPUSH", "l", "a")),
        (encode("lPush", "l", "a"), encode("lPush", "l", "a")),
        (encode("LPUSH", "l", "a") * 3, encode("LPUSH", "l", "a") * 3),
        (encode("LPUSH", "l", "x" * 5000), encode("LPUSH", "l", "x" * 5000)),
        (encode("LPUSH", "l", "a\r\nb"), encode("LPUSH", "l", "a\r\nb")),
        (encode("SET", "k", "v") + encode("GET", "k"), encode("SET", "k", "v")),
        (encode("LPOP", "none") + encode("SET", "k", "v"), encode("SET", "k", "v")),
        (encode("INCR", "n") + encode("GETSET", "n", "7"), encode("INCR", "n") + encode("SET", "n", "7")),
        (encode("SET", "k", "v", "GET") + encode("INCR", "n"), encode("SET", "k", "v") + encode("INCR", "n")),
        (encode("LPUSH", "l", "a") + encode("PING"), encode("LPUSH", "l", "a")),
        (encode("RPUSH", "l", "a") + encode("SELECT", "0") + encode("LPOP", "l"),
         encode("RPUSH", "l", "a") + encode("LPOP", "l")),
        (b"LPUSH l a\r\n", encode("LPUSH", "l", "a")),
        (b"*3\r\n$5\r\nLPUSHxx$1\r\nlyy$1\r\nazz", encode("LPUSH", "l", "a")),
        (b"*3\r\n$5\r\nLPUSHxx$1\r\nl\r\n$2\r\n\r\n\r\n", encode("LPUSH", "l", "\r\n")),
        (encode("LPUSH", "l", "a") * 40, encode("LPUSH", "l", "a") * 40),
        (encode("LPUSH", "l", "a") * 40 + encode("PING"), encode("LPUSH", "l", "a") * 40),
        (b"*3\r\n$5\r\nLPUSHxx$1\r\nl\r\n$1\r\na\r\n" * 40, encode("LPUSH", "l", "a") * 40),
    ],
    ids=["one", "a name in any case", "several", "a large one", "a line end in an argument", "one that reads",
         "one that finds nothing", "one propagated as another", "options that are left out", "one that is no data",
         "between others", "inline", "line ends that are none",
         "one line end in place of another", "many", "many before another", "many without line ends"],
)  # fmt: skip
def test_effects_are_written_as_redis_writes_them_however_the_requests_came(
    sent: bytes, appended: bytes
) -> None:
    assert recorded(sent) == SELECT + appended


def test_requests_that_come_one_by_one_and_together_are_written_alike() -> None:
    requests = [encode("LPUSH", "l", str(number)) for number in range(5)] + [encode("LPOP", "l")] * 7
    assert recorded(*requests) == recorded(b"".join(requests)) == SELECT + b"".join(requests[:10])


def test_a_key_that_expires_between_requests_of_one_piece_is_written_between_them() -> None:
    now, later = Instant(0, 0), Instant(50_000, 0)
    engine = Engine(now=now)
    session = engine.connect(now)
    engine.receive(session, encode("SET", "k", "v", "PX", "1"), now)
    engine.recording.start()
    engine.receive(session, encode("LPUSH", "l", "a") + encode("LPUSH", "k", "b"), later)
    expected = [["SELECT", "0"], ["LPUSH", "l", "a"], ["MULTI"], ["DEL", "k"], ["LPUSH", "k", "b"], ["EXEC"]]
    assert engine.recording.take() == b"".join(encode(*words) for words in expected)


ABOUT_EXPIRED_KEYS = {
    "a walk of the keys": ("MSET a 1 b 2", "PEXPIRE a 1", "PEXPIRE b 1", "DEBUG SLEEP 0.01", "SCAN 0"),
    "a random key": ("SET a 1 PX 1", "DEBUG SLEEP 0.01", "RANDOMKEY"),
    "an empty result in its place": ("SET a 1 PX 1", "DEBUG SLEEP 0.01", "SUNIONSTORE a b"),
    "the target of a move from no set": ("SET a 1 PX 1", "DEBUG SLEEP 0.01", "SMOVE b a m"),
    "a transaction that sleeps until it expires": (
        *("SELECT 9", "MULTI", "RPUSH a x", "PEXPIRE a 1", "DEBUG SLEEP 0.05", "EXEC"),
    ),
    "a swap that puts it where a client waits": (
        *("SELECT 1", "SET a 1 PX 1", "SELECT 9", "DEBUG SLEEP 0.01", "SWAPDB 1 9"),
    ),
}
"""What is asked of a server that keeps expired keys until somebody looks."""


@pytest.mark.parametrize("lines", ABOUT_EXPIRED_KEYS.values(), ids=ABOUT_EXPIRED_KEYS)
def test_an_expired_key_that_is_met_goes_in_the_order_of_redis(
    lines: tuple[str, ...], real: Recorded, ours: Recorded
) -> None:
    with redis.Redis(*real.address) as client:
        if not is_7_0_version(client):
            pytest.skip("only 7.0 propagates as this server does")
    streams = []
    for server in (ours, real):
        server.new()
        with Player(server.address) as player:
            blocked, asking = player.client("b"), player.client("a")
            assert blocked.ask("SELECT 9") == b"+OK\r\n"
            blocked.send(b"BLPOP a 0\r\n")
            player.await_blocked(1)
            for line in ("DEBUG SET-ACTIVE-EXPIRE 0", *lines, "DEBUG SET-ACTIVE-EXPIRE 1"):
                assert not asking.ask(line).startswith(b"-"), line
        streams.append(since_flush(server.new()))
    assert list(differences(*streams)) == []
