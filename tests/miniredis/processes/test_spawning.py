"""A server in a process of its own: the handle of ``start``, and no process that stays."""

from __future__ import annotations

import contextlib
import inspect
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import trio

import miniredis
from miniredis import faults

from ...forks import popen
from ...waiting import PATIENCE, until
from ..network.test_server import open_files
from ..testing.test_inspection import fill


@pytest.fixture(scope="module")
def shared() -> Iterator[miniredis.SpawnedServer]:
    with miniredis.spawn(clock="held", requirepass="a secret") as server:
        yield server


@pytest.fixture
def server(shared: miniredis.SpawnedServer) -> miniredis.SpawnedServer:
    shared.faults.clear()
    shared.reset()
    return shared


def names(kind: type) -> dict[str, list[str]]:
    """The public names of a class, with the parameters of each that is a method."""
    found = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}
    return {
        name: [*inspect.signature(each).parameters] if callable(each) else [] for name, each in found.items()
    }


def test_the_handle_has_all_that_the_one_of_start_has() -> None:
    assert names(miniredis.SpawnedServer) == names(miniredis.EmbeddedServer)
    with miniredis.start() as embedded:
        attributes = {name for name in vars(embedded) if not name.startswith("_")}
    assert attributes <= {"host", "port", "tls_port", "unixsocket", "faults"}


def test_it_runs_in_another_process_and_tells_its_url(server: Any) -> None:
    with server.client() as client:
        assert client.info("server")["process_id"] == server.pid != os.getpid()
    with redis.Redis.from_url(server.url) as client:
        assert client.ping()
    assert "secret" not in server.public_url


def test_its_keys_are_seen_and_restored(server: Any) -> None:
    with server.client() as client:
        expected = fill(client)
        assert server.dump() == expected
        assert server.content("list") == [b"a", b"b"]
        snapshot = server.snapshot()
        client.flushall()
        server.restore(snapshot)
        assert server.dump() == expected
    with miniredis.start() as other, pytest.raises(ValueError, match="restores only its own snapshots"):
        server.restore(other.snapshot())


def test_its_time_is_moved(server: Any) -> None:
    with server.client() as client:
        client.set("k", "v", ex=10)
        before = server.now
        server.fast_forward(10.5)
        assert (server.now - before).total_seconds() == 10.5
        assert server.dump() == {}
    with pytest.raises(ValueError, match="not -1"):
        server.fast_forward(-1)


def test_a_waiter_is_waited_for_and_seen(server: Any) -> None:
    with server.client(client_name="ann") as waiter, server.client() as client:
        thread = threading.Thread(target=waiter.blpop, args=["jobs"])
        thread.start()
        server.wait_until(lambda: server.blocked_clients("jobs"))
        assert [(each.name, each.command) for each in server.blocked_clients()] == [("ann", "blpop")]
        with pytest.raises(TimeoutError, match=r"waited 0.01 s; blocked:\n.*name='ann'"):
            server.wait_until(lambda: False, timeout=0.01)
        client.rpush("jobs", "a")
        thread.join()


def test_its_rules_are_added_listed_and_removed(server: Any) -> None:
    with server.client() as client:
        first = server.faults.add(command="get", then="ERR no")
        second = server.faults.add(command="set", times=1, then=faults.cut("before"))
        assert [*server.faults] == [first, second]
        assert first != second
        with pytest.raises(redis.ResponseError, match="no"):
            client.get("k")
        with pytest.raises(redis.ConnectionError):
            client.set("k", "v")
        assert (first.met, second.met, len(server.faults)) == (1, 1, 2)
        assert str(first) == "<Rule get, then ErrorReply(text=b'ERR no'): met 1 times>"
        first.remove()
        assert [*server.faults] == [second]
        with pytest.raises(ValueError, match="there is no command 'nosuch'"):
            server.faults.add(command="nosuch", then="ERR no")


def test_a_client_tries_nothing_twice_unless_it_is_told_to_and_goes_nowhere_else(server: Any) -> None:
    with server.faults.add(command="rpush", then=faults.lose_reply()), server.client() as client:
        with pytest.raises(redis.ConnectionError):
            client.rpush("jobs", "a")
        assert server.content("jobs") == [b"a"]
    with pytest.raises(
        TypeError, match=r"server.client\(\) got an unexpected keyword argument 'host'; it takes"
    ):
        server.client(host="elsewhere")
    with pytest.raises(
        TypeError, match=r"server.client\(\) got an unexpected keyword argument 'nosuch'; it takes"
    ):
        server.client(nosuch=1)


def test_an_asynchronous_client_connects_by_itself(server: Any) -> None:
    import asyncio

    async def main() -> Any:
        async with server.async_client(decode_responses=True) as client:
            await client.set("k", "v")
            return await client.get("k")

    assert asyncio.run(main()) == "v"


def test_calls_are_there_after_their_server_has_stopped(forked: None) -> None:
    with miniredis.spawn() as server, server.client() as client:
        client.ping()
        calls = server.record()
        client.rpush("jobs", "a")
        client.lpop("jobs")
        assert len(calls) == 2
    assert [call.text for call in calls] == ["RPUSH jobs a", "LPOP jobs"]
    assert [call.value for call in calls] == [1, b"a"]
    with pytest.raises(RuntimeError, match="the server has stopped"):
        server.dump()
    assert server.failure is None
    assert str(server.port) in repr(server)


def test_what_cannot_go_to_another_process_is_refused(server: Any) -> None:
    with pytest.raises(TypeError, match="takes no engine"):
        miniredis.spawn(engine=miniredis.Engine())  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"clock must be 'held', a miniredis\.HeldClock or None"):
        miniredis.spawn(clock="follow")
    ours, _theirs = trio.testing.memory_stream_pair()
    with pytest.raises(RuntimeError, match="cannot serve a stream of this one"):
        trio.run(server.serve_stream, ours)
    with pytest.raises(RuntimeError, match="has no event loop here"):
        server.new_event_loop()


def test_it_is_refused_with_the_errors_of_start_and_no_process_stays(
    server: Any, tmp_path: Path, forked: None
) -> None:
    before = open_files()
    for given, error in [
        ({"nosuch": 1}, TypeError),
        ({"port": "x"}, miniredis.ConfigurationError),
        ({"port": server.port}, OSError),
    ]:
        with pytest.raises(error) as here:
            miniredis.start(**given)  # type: ignore[arg-type]
        with pytest.raises(error) as there:
            miniredis.spawn(**given)  # type: ignore[arg-type]
        assert str(there.value) == str(here.value).replace("start()", "spawn()")
    (tmp_path / "dump.rdb").write_bytes(b"REDIS0009nonsense")
    with pytest.raises(miniredis.DamagedFileError, match=r"dump.rdb: ") as damaged:
        miniredis.spawn(dir=tmp_path, dbfilename="dump.rdb")
    assert damaged.value.path == tmp_path / "dump.rdb"
    assert open_files() == before


def test_a_held_clock_begins_when_it_is_told_to(forked: None) -> None:
    with miniredis.spawn(clock=miniredis.HeldClock(miniredis.Instant(wall=10**15, monotonic=0))) as server:
        assert server.now.year == 2001


def refuses(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return True
    return False


def is_gone(pid: int) -> bool:
    """Whether there is no such process, or only what is left of it until its parent asks."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


def test_stop_leaves_no_process_no_port_and_no_descriptor(shared: Any) -> None:
    files, threads = open_files(), {*threading.enumerate()}
    server = miniredis.spawn()
    with server.client() as client:
        assert client.ping()
    server.stop()
    server.stop()
    assert is_gone(server.pid)
    assert refuses(server.port)
    assert open_files() <= files
    assert {*threading.enumerate()} <= threads


def test_stop_ends_a_server_whose_script_does_not_end(forked: None) -> None:
    with (
        miniredis.spawn(busy_reply_threshold=1) as server,
        server.client() as client,
        server.client() as other,
    ):
        thread = threading.Thread(target=ended_by, args=[client])
        thread.start()
        until(lambda: is_busy(other), "the script runs")
        server.stop()
        thread.join()
    assert is_gone(server.pid)


def ended_by(client: redis.Redis) -> None:
    with contextlib.suppress(redis.RedisError):
        client.eval("while true do end", 0)


def is_busy(client: redis.Redis) -> bool:
    try:
        client.get("k")
    except redis.RedisError as error:
        return "BUSY" in str(error)
    return False


def test_a_server_that_was_killed_has_stopped(forked: None) -> None:
    with miniredis.spawn() as server:
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(RuntimeError, match="the server has stopped"):
            server.wait_until(lambda: server.blocked_clients("k"))


KILLED = """
import os, signal, sys
import miniredis

server = miniredis.spawn()
if not os.fork():  # it stays, with a copy of all that its parent had open
    try:
        server.dump()
    except RuntimeError as error:
        print(server.pid, server.port, error, flush=True)
    server.stop()
    sys.stdin.read()
    os._exit(0)
signal.pause()
"""


def test_it_ends_with_a_parent_that_was_killed_though_that_has_forked() -> None:
    with popen(
        [sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdin
        assert parent.stdout
        pid, port, error = parent.stdout.readline().split(maxsplit=2)
        assert error.startswith("the server runs in another process")
        assert not is_gone(int(pid))
        assert not refuses(int(port))
        parent.kill()
        until(lambda: is_gone(int(pid)), "the server's process has ended", PATIENCE)
        assert refuses(int(port))
        parent.stdin.close()
