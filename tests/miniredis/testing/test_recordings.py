"""Recordings of requests and replies: in a list, in a file, judged, and played on a real Redis."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis

import miniredis
from conformance.histories import History, judged
from conformance.histories.calls import operations_of
from conformance.targets import Address
from miniredis import faults
from miniredis.recordings import load, replay


@pytest.fixture
def server(held: miniredis.EmbeddedServer) -> miniredis.EmbeddedServer:
    return held


def test_each_request_is_there_with_its_client_time_and_reply(server: Any) -> None:
    with server.client(client_name="ann", protocol=2) as client, server.record() as calls:
        client.rpush("jobs", "a", "b")
        server.fast_forward(1)
        client.lpop("jobs", 5)
        client.get("nothing")
    texts = [str(call) for call in calls if call.client == "ann" and call.words[0] != b"CLIENT"]
    assert texts == [
        "ann: RPUSH jobs a b -> :2",
        "ann: LPOP jobs 5 -> *2 $1 a $1 b",
        "ann: GET nothing -> $-1",
    ]
    first, second, third = calls[-3:]
    assert (first.value, second.value, third.value) == (2, [b"a", b"b"], None)
    assert second.time == first.time + 1_000_000
    assert server._runner.engine.conditions.is_quiet


def test_a_client_that_was_blocked_has_its_reply_at_its_place(server: Any) -> None:
    with server.client() as worker, server.client() as client:
        worker.ping()
        client.ping()
        with server.record() as calls:
            thread = threading.Thread(target=worker.blpop, args=("jobs", 0))
            thread.start()
            server.wait_until(server.blocked_clients)
            client.rpush("jobs", "a")
            thread.join()
    waited, pushed = calls
    assert waited.began < pushed.began < waited.ended
    assert waited.value == [b"jobs", b"a"]


def test_a_reply_that_was_lost_or_came_late_is_recorded_as_the_client_got_it(server: Any) -> None:
    with server.client() as client, server.client() as other:
        client.ping()
        other.ping()
        server.faults.add(command="incrby", then=faults.lose_reply())
        server.faults.add(command="set", then=faults.delay(2))
        with server.record() as calls:
            with pytest.raises(Exception, match="Connection"):
                client.incrby("n", 1)
            thread = threading.Thread(target=other.set, args=("k", "v"))
            thread.start()
            server.wait_until(server.blocked_clients)
            server.fast_forward(3)
            thread.join()
    lost, *_, late = calls
    assert (lost.reply, lost.ended, late.reply) == (None, None, b"+OK\r\n")
    assert [call.text for call in calls if call.words[0] == b"SET"] == ["SET k v"]


def test_a_recording_is_the_same_when_it_was_saved(server: Any, tmp_path: Path) -> None:
    with server.client() as client, server.record() as calls:
        client.rpush("jobs", b"\xff\x00", "b" * 100)
        client.lrange("jobs", 0, -1)
    calls.save(tmp_path / "run.jsonl")
    assert [str(call) for call in load(tmp_path / "run.jsonl")] == str(calls).splitlines()
    assert load(tmp_path / "run.jsonl")[-1].value == [b"\xff\x00", b"b" * 100]


def test_a_recording_is_played_on_a_real_redis(server: Any, real_server: Address) -> None:
    with server.client() as worker, server.client() as client, server.record() as calls:
        thread = threading.Thread(target=worker.blpop, args=("recorded:jobs", 0))
        thread.start()
        server.wait_until(server.blocked_clients)
        client.rpush("recorded:jobs", "a")
        thread.join()
        client.delete("recorded:jobs")
    mine = [call for call in calls if call.words[0] not in {b"CLIENT", b"HELLO"}]
    address = (real_server.host, real_server.port)
    assert list(replay(mine, address)) == []
    mine[1].reply = b":7\r\n"
    assert [(call.text, reply) for call, reply in replay(mine, address)] == [
        ("RPUSH recorded:jobs a", b":1\r\n")
    ]


def test_a_recording_is_judged_as_a_history(server: Any) -> None:
    with server.client() as client, server.record() as calls:
        client.rpush("jobs", "a", "b")
        client.lpop("jobs")
        client.lpop("jobs")
        client.get("nothing")
        client.set("jobs", "v")
        with pytest.raises(Exception, match="WRONGTYPE"):
            client.lpop("jobs")
    history = History(operations_of(calls))
    assert {verdict.answer for verdict in judged(history).values()} == {"ok"}
    changed = list(calls)
    next(call for call in changed if call.words[0] == b"LPOP").reply = b"$1\r\nb\r\n"
    assert judged(History(operations_of(changed)))["linearizable"].answer == "illegal"


WAYS: dict[str, Callable[[Any], object]] = {
    "alone": lambda client: client.lpush("jobs", "b", "a"),
    "list": lambda client: client.lrange("jobs", 0, -1).clear(),
    "error": lambda client: client.pipeline(transaction=False).incr("jobs").execute(raise_on_error=False),
    "not plain": lambda client: client.echo("x"),
    "pipeline": lambda client: client.pipeline(transaction=False).get("n").lpop("jobs").execute(),
    "transaction": lambda client: client.pipeline().incr("n").hgetall("h").execute(),
    "blocking": lambda client: client.blpop("jobs", timeout=1),
}


@pytest.mark.parametrize("is_local", [True, False], ids=["in process", "TCP"])
def test_requests_of_each_kind_of_client_are_recorded_alike(server: Any, is_local: bool) -> None:
    with server.client() if is_local else redis.Redis(port=server.port) as client:
        client.ping()
        with server.record() as calls, server.record(most=2) as last:
            for do in WAYS.values():
                do(client)
        client.ping()
    assert [str(call).partition(": ")[2] for call in calls] == [
        "LPUSH jobs b a -> :2",
        "LRANGE jobs 0 -1 -> *2 $1 a $1 b",
        "INCRBY jobs 1 -> -WRONGTYPE Operation against a key holding the wrong kind of...",
        "ECHO x -> $1 x",
        "GET n -> _",
        "LPOP jobs -> $1 a",
        "MULTI -> +OK",
        "INCRBY n 1 -> +QUEUED",
        "HGETALL h -> +QUEUED",
        "EXEC -> *2 :1 %0",
        "BLPOP jobs 1 -> *2 $4 jobs $1 b",
    ]
    moments = [moment for call in calls for moment in (call.began, call.ended)]
    assert moments == sorted({*moments})
    assert list(last) == calls[-2:]


def test_a_recording_is_printed_without_passwords(server: Any) -> None:
    with redis.Redis(port=server.port, protocol=2) as client, server.record() as calls:
        client.config_set("requirepass", "s3cret")
        client.config_get("require*", "maxclients")
        for words in [
            ("AUTH", "default", "s3cret"),
            ("hello", 2, "setname", "ann", "auth", "default", "s3cret"),
            ("ACL", "SETUSER", "bob", "on", ">s3cret"),
            ("MIGRATE", "127.0.0.1", 1, "", 0, 1, "AUTH", "s3cret", "KEYS", "k"),
        ]:
            client.execute_command(*words)
        client.get("auth")
    *_, logged_in, _, _, _, _ = calls
    assert b"s3cret" in logged_in.words
    assert [str(call).partition(": ")[2].partition(" -> *")[0] for call in calls[-7:]] == [
        "CONFIG SET requirepass (redacted) -> +OK",
        "CONFIG GET require* maxclients -> (redacted)",
        "AUTH (redacted) (redacted) -> +OK",
        "hello 2 setname ann auth (redacted) (redacted)",
        "ACL SETUSER (redacted) (redacted) (redacted) -> +OK",
        "MIGRATE 127.0.0.1 1  0 1 AUTH (redacted) (redacted) k -> +NOKEY",
        "GET auth -> $-1",
    ]
