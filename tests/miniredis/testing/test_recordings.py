"""Recordings of requests and replies: in a list, in a file, judged, and played on a real Redis."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

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
    first = next(call for call in calls if call.words[0] == b"LPOP")
    first.reply = b"$1\r\nb\r\n"
    assert judged(History(operations_of(calls)))["linearizable"].answer == "illegal"
