"""Fields of hashes that expire: replies, keyspace events and effects beside what real servers said.

``field_expiry.json`` has what they said; ``python -m tests.miniredis.versions.test_field_expiry NAME=PATH...`` asks all
of them anew.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, cast

import hiredis
import pytest
import redis

import miniredis
from conformance.documents.recorded.player import RawClient
from miniredis.engine.values.hashes import HashValue
from miniredis.engine.versions.version import VERSIONS
from miniredis.testing.real_servers import real_at_free_port
from tests.miniredis.engine.effects import appended_to, commands_in

RECORDED: Final = Path(__file__).with_name("field_expiry.json")

NAMES: Final = ("7.4", "8.0", "valkey-9.1")

CONVERSATION: Final = """
HSET h a 1 b 2 c 3 d 4 e 5
HEXPIRE h 100 FIELDS 2 a b
HEXPIRE h 100 NX FIELDS 2 a c
HEXPIRE h 100 nx FIELDS 1 a
HPEXPIREAT h 4000000000000 FIELDS 2 a b
HEXPIREAT h 4000000000 FIELDS 2 a x
HPEXPIREAT h 3999999999400 FIELDS 1 c
HEXPIRETIME h FIELDS 4 a c e x
HPEXPIRETIME h FIELDS 4 a c e x
HKEYS h
OBJECT ENCODING h
HPERSIST h FIELDS 2 a e
HPERSIST h FIELDS 1 e
HSET h a 2
HSET h b 2
HPEXPIRETIME h FIELDS 2 a b
HEXPIRE h 0 FIELDS 1 a
HEXPIREAT h 1 FIELDS 2 b c
HEXPIREAT h 1 FIELDS 2 c d
HEXPIRE h 0 FIELDS 2 e e
EXISTS h
HSET h n 1 m 1 o 1
HPEXPIREAT h 4000000000000 FIELDS 2 n m
HPEXPIRETIME h FIELDS 2 n m
COPY h g
RENAME g f
HPEXPIRETIME f FIELDS 2 n m
MOVE f 1
DEL h
HSET h a 1 b 2
MULTI
HEXPIREAT h 4000000001 GT FIELDS 2 a b
HEXPIREAT h 4000000001 LT FIELDS 2 a b
HEXPIREAT h 1 FIELDS 2 a b
EXEC
HSET h a 1 b 2 c 3 d 4 e 5
HGETEX h FIELDS 1 a
HGETEX h EX 100 FIELDS 2 a x
HGETEX h PERSIST FIELDS 2 a x
HGETEX h PERSIST FIELDS 2 a x
HGETEX h PXAT 4000000000000 FIELDS 1 x
HGETEX h PXAT 4000000000000 FIELDS 1 a
HGETEX h PXAT 1 FIELDS 2 a b
HGETEX h EX 0 FIELDS 1 x
HGETDEL h FIELDS 2 c x
HGETDEL h FIELDS 1 x
HGETDEL h FIELDS 2 d e
HSETEX h FIELDS 2 a 1 b 2
HSETEX h EX 100 FIELDS 2 a 1 b 2
HSETEX h KEEPTTL FIELDS 2 a 1 z 2
HSETEX h FXX PX 100000 FIELDS 2 a 1 z 2
HSETEX h FIELDS 1 a 5
HSETEX h FNX PX 100000 FIELDS 1 n 2
HSETEX h FNX PX 100000 FIELDS 1 n 2
HSETEX h XX PX 100000 FIELDS 1 n 2
HSETEX h PXAT 1 FIELDS 2 a 1 new 5
HSETEX h PXAT 1 FIELDS 4 b 1 z 1 n 1 k 1
HSETEX h PXAT 1 FIELDS 1 b 1
HSET h a 1
HGETEX h PXAT 1 FIELDS 1 a
EXISTS h
"""

WORDS: Final = """
HSET h a 1 b 2
SET s 1
HEXPIRE h 100 FIELDS 1 a b
HEXPIRE h 100 FIELDS 0 a
HEXPIRE h 100 FIELDS x a
HEXPIRE h 100 FIELDS 1
HEXPIRE h 100 FOO 1 a
HEXPIRE h 100 FOO BAR 1 a
HEXPIRE h 100 NX FOO 1 a
HEXPIRE h 200 nx xx FIELDS 2 a b
HEXPIRE h 200 gt lt FIELDS 2 a b
HEXPIRE h 10 NX NX FIELDS 1 a
HEXPIRE h 10 FOO FIELDS 1 a
HEXPIRE h 10 FIELDS 2147483647 a
HEXPIRE h x FIELDS 1 a
HEXPIRE h -1 FIELDS 1 a
HEXPIRE h -1 FIELDS 2 a
HEXPIRE h -1 NX XX FIELDS 1 a
HEXPIRE s x FIELDS 1 a
HEXPIRE s 10 FIELDS 1 a
HEXPIRE nokey 10 FIELDS 2 a b
HEXPIRE nokey x FIELDS 1 a
HPEXPIRE h 9223372036854775807 FIELDS 1 a
HPEXPIREAT h 70368744177663 FIELDS 1 a
HPEXPIREAT h 70368744177664 FIELDS 1 a
HTTL h FIELDS 3 a x
HTTL h FIELDS 0 a
HTTL h FIELDS x a
HTTL h FOO 1 a
HTTL h FIELDS
HTTL s FIELDS 2 a
HTTL nokey FIELDS 2 a b
HPTTL h FIELDS 2 b x
HPERSIST h FOO 1 a
HPERSIST h FIELDS x a
HPERSIST h FIELDS 2 a
HPERSIST s FIELDS 1 a
HPERSIST nokey FIELDS 1 a
HGETDEL h FOO 1 a
HGETDEL h FIELDS 2 a
HGETDEL h FIELDS x a
HGETDEL s FIELDS 2 a
HGETDEL nokey FIELDS 2 a b
HGETEX h EX 100 PX 1 FIELDS 2 a x
HGETEX h EX 100 EX 1000000 FIELDS 1 a
HGETEX h EX 100 PERSIST FIELDS 2 a x
HGETEX h FIELDS 1 a EX 50
HGETEX h EX FIELDS 1 a
HGETEX h EX x FIELDS 1 a
HGETEX h EX -1 FIELDS 2 a
HGETEX h EX 10 FIELDS
HGETEX h EX 10 20
HGETEX h NX FIELDS 1 a
HGETEX h FIELDS x a
HGETEX s EX x FIELDS 1 a
HGETEX nokey EX 10 FIELDS 2 a b
HSETEX h FIELDS 2 a 1
HSETEX h FIELDS 1 a 1 b 2
HSETEX h FIELDS x a 1
HSETEX h FNX FXX FIELDS 1 a 2
HSETEX h FNX FNX FIELDS 1 a 2
HSETEX h NX FIELDS 1 a 2
HSETEX h XX NX FIELDS 1 a 2
HSETEX h EX 100 KEEPTTL FIELDS 1 a 6
HSETEX h EX x FIELDS 2 a 6
HSETEX h EX -1 FIELDS 1 a 6
HSETEX h FNX EX 10 FIELDS
HSETEX h FNX FXX EX x FIELDS
HSETEX h a b c d
HSETEX h PERSIST FIELDS 1 a 6
HSETEX s FNX EX x FIELDS 1 a 1
HGETALL h
"""

MOMENT: Final = re.compile(r"\b1[0-9]{12}\b")
"""A time near now, in milliseconds."""


def conversation(address: tuple[str, int], new_effects: Callable[[], list[list[bytes]]]) -> list[Any]:
    """Of each request: itself, its reply, the keyspace events and the effects."""
    client, listener = RawClient(address), RawClient(address)
    heard, replies = hiredis.Reader(encoding="latin-1"), hiredis.Reader(encoding="latin-1")
    ask(client, replies, "CONFIG SET notify-keyspace-events KEA")
    ask(listener, heard, "PSUBSCRIBE __keyevent*")
    new_effects()
    told = []
    for request in filter(None, (CONVERSATION + "FLUSHALL\n" + WORDS).splitlines()):
        reply = ask(client, replies, request)
        listener.send(b"PING\r\n")
        events = []
        while (message := answer(listener, heard))[0] != "pong":
            events.append(f"{message[2].rpartition(':')[2]} {message[3]}")
        effects = [b" ".join(effect).decode() for effect in new_effects()]
        told.append([request, reply, events, [MOMENT.sub("T", effect) for effect in effects]])
    client.close()
    listener.close()
    return told


def ask(client: RawClient, reader: hiredis.Reader, request: str) -> Any:
    client.send(request.encode() + b"\r\n")
    return answer(client, reader)


def answer(client: RawClient, reader: hiredis.Reader) -> Any:
    while (reply := reader.gets()) is False:
        reader.feed(client.socket.recv(1 << 16))
    return f"-{reply}" if isinstance(reply, hiredis.ReplyError) else reply


@pytest.mark.parametrize("version", NAMES)
def test_replies_events_and_effects_are_those_of_a_real_server(version: str) -> None:
    with miniredis.start(version=version) as server:
        engine = server._runner.engine
        with server._runner.lock:
            engine.recording.start()
        told = conversation((server.host, server.port), lambda: commands_in(engine.recording.take()))
    expected = json.loads(RECORDED.read_text())[version]
    assert [each for each in told if each not in expected] == []
    assert told == expected


@pytest.fixture(params=NAMES)
def held(request: pytest.FixtureRequest) -> Iterator[tuple[miniredis.EmbeddedServer, Any]]:
    options: dict[str, Any] = {"version": request.param, "clock": "held", "enable_debug_command": "yes"}
    with miniredis.start(**options) as server, server.client() as client:
        yield server, client


def test_fields_go_when_their_time_comes_with_an_event_and_the_hash_goes_with_the_last(
    held: tuple[miniredis.EmbeddedServer, Any],
) -> None:
    server, client = held
    client.config_set("notify-keyspace-events", "KEA")
    client.hset("h", mapping={"a": 1, "b": 2, "c": 3})
    client.execute_command("HEXPIRE", "h", 10, "FIELDS", 1, "a")
    client.execute_command("HPEXPIRE", "h", 10_001, "FIELDS", 2, "b", "c")
    listener = client.pubsub(ignore_subscribe_messages=True)
    listener.psubscribe("__keyevent*")
    listener.get_message(timeout=1)
    server.fast_forward(10.001)
    assert set(client.hkeys("h")) == {b"b", b"c"}
    server.fast_forward(0.001)
    assert client.exists("h") == 0
    events = [listener.get_message(timeout=1)["channel"].rpartition(b":")[2] for _ in range(3)]
    assert events == [b"hexpired", b"hexpired", b"del"]
    listener.close()


@pytest.mark.parametrize("move", ["RENAME h g", "COPY h g", "MOVE h 1", "SWAPDB 0 1", "DEBUG RELOAD"])
def test_fields_expire_wherever_their_hash_has_gone(
    held: tuple[miniredis.EmbeddedServer, Any], move: str
) -> None:
    server, client = held
    client.hset("h", mapping={"a": 1, "b": 2})
    client.execute_command("HEXPIRE", "h", 10, "FIELDS", 1, "a")
    client.execute_command(move)
    server.fast_forward(11)
    at = "g" if " g" in move else "h"
    if " 1" in move:
        client.execute_command("SELECT 1")
    with server._runner.lock:
        database = server._runner.engine.keyspace.databases[" 1" in move]
        assert list(cast(HashValue, database.values[at.encode()]).fields) == [b"b"]


def test_commands_meet_no_expired_field_though_nothing_removes_it(
    held: tuple[miniredis.EmbeddedServer, Any],
) -> None:
    server, client = held
    client.execute_command("DEBUG SET-ACTIVE-EXPIRE 0")
    for request, expected in {
        "HGET h a": None, "HLEN h": 1, "HGETALL h": {b"b": b"2"}, "HSETNX h a 5": 1, "HINCRBY h a 1": 1,
        "HRANDFIELD h 5": [b"b"], "HTTL h FIELDS 1 a": [-2], "HEXPIRE h 9 FIELDS 1 a": [-2], "HDEL h a": 0,
    }.items():  # fmt: skip
        client.flushall()
        client.hset("h", mapping={"a": 1, "b": 2})
        client.execute_command("HEXPIRE", "h", 10, "FIELDS", 1, "a")
        server.fast_forward(11)
        assert client.execute_command(request) == expected, request


def test_a_write_makes_a_field_permanent_and_an_increment_does_not(
    held: tuple[miniredis.EmbeddedServer, Any],
) -> None:
    _, client = held
    client.hset("h", mapping={"a": 1, "b": 2, "c": 3})
    client.execute_command("HEXPIRE", "h", 10, "FIELDS", 3, "a", "b", "c")
    client.hset("h", "a", 5)
    client.hincrby("h", "b", 5)
    client.hincrbyfloat("h", "c", 0.5)
    assert client.execute_command("HTTL h FIELDS 3 a b c") == [-1, 10, 10]


def test_the_deadlines_of_fields_are_in_the_append_only_file_and_in_a_snapshot(tmp_path: Path) -> None:
    for number, version in enumerate(NAMES):
        folder = tmp_path / str(number)
        folder.mkdir()
        with (
            miniredis.start(version=version, dir=folder, appendonly="yes") as server,
            server.client() as client,
        ):
            client.hset("h", mapping={"a": 1, "b": 2, "long": "x" * 100})
            client.hset("small", mapping={"a": 1, "b": 2})
            client.execute_command("HEXPIRE", "h", 1000, "FIELDS", 2, "a", "long")
            client.execute_command("BGREWRITEAOF")
            client.execute_command("HPEXPIREAT", "small", 4_000_000_000_000, "FIELDS", 1, "a")
            client.hincrbyfloat("small", "a", 1)
            deadlines = client.execute_command("HPEXPIRETIME h FIELDS 3 a b long")
            assert deadlines[0] == deadlines[2] > 0
        with (
            miniredis.start(version=version, dir=folder, appendonly="yes") as server,
            server.client() as client,
        ):
            assert client.execute_command("HPEXPIRETIME h FIELDS 3 a b long") == deadlines
            assert client.execute_command("HPEXPIRETIME small FIELDS 2 a b") == [4_000_000_000_000, -1]
            assert client.hget("small", "a") == b"2"


REAL_PAYLOADS: Final = {
    "7.4": {
        "19004094 52a3030000 2424000000 0900 816202 0201 f4004094 52a3030000 09 816102 0101 0001 816302 0301 "
        "0001 ff 0c00 0ea2cc4acb232147": "listpackex",
        "18004094 52a3030000 05 00017ac001 000163c003 010162c002 010161c001 0003626967c309405c017878e04f00017878 "
        "0c00 87cf1f12642aa53a": "hashtable",
    },
    "valkey-9.1": {
        "16030161c001ffffffffffffffff0162c00200409452a30300000163c003ffffffffffffffff5000e995ee4f1eeca37d": "hashtable",
    },
}
"""What real servers dumped: a hash whose field ``b`` expires at 4,000,000,000,000."""


@pytest.mark.parametrize("version", REAL_PAYLOADS)
def test_payloads_of_real_servers_are_restored_and_dumped_again(version: str) -> None:
    with miniredis.start(version=version) as server, server.client() as client:
        for payload, encoding in REAL_PAYLOADS[version].items():
            client.restore("h", 0, bytes.fromhex(payload), replace=True)
            assert client.execute_command("HPEXPIRETIME h FIELDS 2 b c")[0] == 4_000_000_000_000
            assert client.object("encoding", "h") == encoding.encode()
            before = client.hgetall("h")
            client.restore("h", 0, dumped := client.dump("h"), replace=True)
            assert (client.hgetall("h"), client.dump("h")) == (before, dumped)
    with miniredis.start() as server, server.client() as client:
        for payload in REAL_PAYLOADS[version]:
            with pytest.raises(redis.ResponseError, match="DUMP payload version or checksum are wrong"):
                client.restore("h", 0, bytes.fromhex(payload))


DEFAULT_VERSION: Final = """
import sys
import miniredis
with miniredis.start() as server, server.client() as client:
    client.command()
assert not [name for name in sys.modules if name.endswith(("_fields", "field_expiry"))]
"""


def test_the_default_version_does_not_even_load_what_others_have() -> None:
    subprocess.run([sys.executable, "-c", DEFAULT_VERSION], check=True)


def record(paths: list[str]) -> None:
    """Asks real servers, each given as VERSION=PATH, and keeps what they say."""
    recorded = {}
    for each in paths:
        version, _, path = each.partition("=")
        with tempfile.TemporaryDirectory() as folder:
            seen: list[list[bytes]] = []

            def new(folder: str = folder, seen: list[list[bytes]] = seen) -> list[list[bytes]]:
                effects = appended_to(Path(folder) / "appendonlydir")[len(seen) :]
                seen.extend(effects)
                return effects

            flags = ("--appendonly", "yes", "--appendfsync", "always")
            with real_at_free_port(Path(path), Path(folder), *flags) as (_, port):
                recorded[version] = conversation(("127.0.0.1", port), new)
    lines = [
        f'"{version}": [\n' + ",\n".join(map(json.dumps, told)) + "\n]"
        for version, told in sorted(recorded.items(), key=lambda item: list(VERSIONS).index(item[0]))
    ]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    record(sys.argv[1:])
