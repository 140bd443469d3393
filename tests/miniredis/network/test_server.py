"""A server as programs use it: on a thread, in a Trio program, with many clients."""

from __future__ import annotations

import gc
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
import redis
import trio

import miniredis
from conformance.documents.recorded.player import RawClient
from miniredis.engine import Engine
from miniredis.environment import resident_memory

from ...waiting import until
from ..loops import started

TRIALS = 10
WAITERS = 50


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


# Waiters, on both servers


def blocked(control: RawClient) -> int:
    line = next(
        line for line in control.ask("INFO clients").splitlines() if line.startswith(b"blocked_clients:")
    )
    return int(line.partition(b":")[2])


def until_blocked(control: RawClient, count: int) -> None:
    until(lambda: blocked(control) == count, f"{count} clients are blocked")


def test_waiters_are_served_in_the_order_in_which_they_blocked(empty_address: tuple[str, int]) -> None:
    control = RawClient(empty_address)
    waiters = [RawClient(empty_address) for _ in range(WAITERS)]
    violations = 0
    for _ in range(TRIALS):
        for place, waiter in enumerate(waiters, start=1):
            waiter.send(b"BLPOP k 0\r\n")
            until_blocked(control, place)
        control.ask("RPUSH k " + " ".join(f"{place:02}" for place in range(WAITERS)))
        expected = [b"*2\r\n$1\r\nk\r\n$2\r\n%02d\r\n" % place for place in range(WAITERS)]
        violations += [waiter.get(19) for waiter in waiters] != expected
    for client in (control, *waiters):
        client.close()
    assert violations == 0


# Handles


def test_a_server_handle_has_host_port_and_url(server: miniredis.Server) -> None:
    assert server.host == "127.0.0.1"
    assert server.url == f"redis://127.0.0.1:{server.port}"
    assert server.url in repr(server)
    with redis.Redis(port=server.port) as client:
        assert client.config_get("port") == {"port": str(server.port)}
        assert client.info("server")["tcp_port"] == server.port


def test_reset_empties_every_database_and_keeps_the_clients(server: miniredis.Server) -> None:
    with redis.Redis(port=server.port) as first, redis.Redis(port=server.port, db=1) as second:
        first.set("k", "v")
        second.set("k", "v")
        first_id = first.client_id()
        server.reset()
        assert (first.dbsize(), second.dbsize()) == (0, 0)
        assert first.client_id() == first_id


def test_a_stopped_server_leaves_no_threads_and_no_open_files(tmp_path: Path, loop: str) -> None:
    with started(loop):
        pass  # what the first server of a process loads stays loaded
    gc.collect()  # may close what tests before this one have left
    files, threads = open_files(), {*threading.enumerate()}
    path = tmp_path / "socket"
    with started(loop, unixsocket=str(path)) as server, ExitStack() as clients:
        for _ in range(5):
            clients.enter_context(socket.create_connection((server.host, server.port)))
        blocker, control = RawClient((server.host, server.port)), RawClient((server.host, server.port))
        clients.callback(blocker.close)
        clients.callback(control.close)
        blocker.send(b"BLPOP k 0\r\n")
        until_blocked(control, 1)
        assert path.exists()
    server.stop()
    assert not path.exists()
    assert open_files() <= files  # what other tests have left may end meanwhile
    assert {*threading.enumerate()} <= threads
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((server.host, server.port))


def state() -> tuple[int, int, int]:
    """The open files, threads and objects of this process."""
    gc.collect()
    return open_files(), threading.active_count(), len(gc.get_objects())


def run_servers(loop: str, count: int) -> None:
    for _ in range(count):
        with started(loop) as server:
            client = RawClient((server.host, server.port))
            assert client.ask("SET k v") == b"+OK\r\n"
            client.close()


def test_many_servers_one_after_the_other_leave_nothing_behind(loop: str) -> None:
    run_servers(loop, 3)
    files, threads, objects = state()
    run_servers(loop, 50)
    files_after, threads_after, more = state()
    assert files_after <= files
    assert threads_after <= threads
    assert more - objects < 50, "less than one object of each server is left"


@pytest.mark.slow
def test_a_thousand_servers_take_less_than_five_seconds_and_no_memory() -> None:
    run_servers("poll", 100)
    before, began = resident_memory(), time.process_time()
    run_servers("poll", 1000)
    assert time.process_time() - began < 5, "seconds of a processor"
    assert resident_memory() - before < 10_000_000


def test_the_end_of_a_server_is_told_to_clients_behind_all_replies(loop: str) -> None:
    with started(loop) as server, socket.create_connection((server.host, server.port)) as client:
        server._runner.farewell = b"-LOADING It ends\r\n"
        client.sendall(b"PING\r\nBLPOP list 0\r\n")
        assert client.recv(7, socket.MSG_WAITALL) == b"+PONG\r\n"
        server.stop()
        assert b"".join(iter(lambda: client.recv(1000), b"")) == b"-LOADING It ends\r\n"


def test_start_on_a_port_in_use_fails_and_leaves_no_thread(server: miniredis.Server) -> None:
    threads = {*threading.enumerate()}
    with pytest.raises(
        OSError, match=rf"could not listen on 127.0.0.1:{server.port}: Address already in use"
    ):
        miniredis.start(port=server.port)
    assert {*threading.enumerate()} <= threads


def test_start_refuses_unknown_and_unsupported_directives() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'nosuch'"):
        miniredis.start(nosuch=1)  # type: ignore[call-arg]
    with pytest.raises(miniredis.ConfigurationError, match="maxmemory='5': not supported by miniredis"):
        miniredis.start(maxmemory=5)


def test_several_addresses_share_the_port() -> None:
    with miniredis.start(bind="127.0.0.1 127.0.0.2 -203.0.113.1") as server:
        for host in ("127.0.0.1", "127.0.0.2"):
            with redis.Redis(host, server.port) as client:
                assert client.ping()


def test_start_fails_when_no_address_can_be_listened_on() -> None:
    with pytest.raises(OSError, match="could not listen on any address"):
        miniredis.start(bind="-203.0.113.1")


def test_a_server_listens_on_a_unix_socket_with_its_permissions(tmp_path: Path, loop: str) -> None:
    path = str(tmp_path / "socket")
    with started(loop, unixsocket=path, unixsocketperm="700") as server:
        assert server.unixsocket == path
        assert (tmp_path / "socket").stat().st_mode & 0o777 == 0o700
        with redis.Redis(unix_socket_path=path) as client:
            assert client.rpush("k", "v") == 1
            assert client.client_info()["addr"] == f"{path}:0"
    with miniredis.start(unixsocket=path):
        pass


def test_shutdown_stops_the_server(server: miniredis.Server) -> None:
    client = RawClient((server.host, server.port))
    client.send(b"SHUTDOWN NOSAVE\r\n")
    assert client.get(1) == b""
    client.close()
    assert not still_listens(server)


def still_listens(server: miniredis.Server) -> bool:
    """Whether it goes on listening for as long as anyone would wait."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            socket.create_connection((server.host, server.port)).close()
        except ConnectionRefusedError:
            return False
        except ConnectionResetError:
            continue  # it was accepting just then
    return True


def test_start_can_serve_an_engine_of_the_caller() -> None:
    engine = Engine()
    engine.config.learn("port", "0")
    with miniredis.start(engine=engine) as server, redis.Redis(port=server.port) as client:
        client.set("k", "v")
    assert engine.keyspace.databases[0].values == {b"k": b"v"}


def test_serve_answers_clients_in_a_trio_program_until_it_is_stopped() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            server = await nursery.start(miniredis.serve)
            stream = await trio.open_tcp_stream(server.host, server.port)
            async with stream:
                await stream.send_all(b"PING\r\n")
                assert await stream.receive_some() == b"+PONG\r\n"
                server.stop()
                assert await stream.receive_some() == b""

    trio.run(main)


def test_serve_takes_directives_as_a_config_or_as_keywords() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            config = miniredis.Config({"port": "0", "databases": "3"})
            first = await nursery.start(miniredis.serve, config)
            second = await nursery.start(partial(miniredis.serve, databases=2))
            for server, databases in ((first, 3), (second, 2)):
                stream = await trio.open_tcp_stream(server.host, server.port)
                async with stream:
                    await stream.send_all(b"SELECT %d\r\n" % databases)
                    assert await stream.receive_some() == b"-ERR DB index is out of range\r\n"
                server.stop()

    trio.run(main)


def test_serve_closes_its_files_when_its_nursery_is_cancelled() -> None:
    async def main() -> str:
        async with trio.open_nursery() as nursery:
            server: miniredis.Server = await nursery.start(miniredis.serve)
            nursery.cancel_scope.cancel()
        return server.url

    files = open_files()
    trio.run(main)
    assert open_files() <= files


# Clients


def test_a_long_pipeline_gets_all_replies_when_the_client_reads_only_at_its_end(
    server: miniredis.Server,
) -> None:
    value = "x" * 10_000
    with redis.Redis(port=server.port) as client:
        pipeline = client.pipeline(transaction=False)
        for _ in range(1500):
            pipeline.set("k", value)
            pipeline.get("k")
        assert pipeline.execute() == [True, value.encode()] * 1500


def test_a_client_that_does_not_read_does_not_delay_others(server: miniredis.Server) -> None:
    slow, other = RawClient((server.host, server.port)), RawClient((server.host, server.port))
    other.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n" + b"x" * 1_000_000 + b"\r\n")
    assert other.get(5) == b"+OK\r\n"
    slow.send(b"GET k\r\n" * 20 + b"QUIT\r\n")
    for _ in range(10):
        assert other.ask("PING") == b"+PONG\r\n"
    one = b"$1000000\r\n" + b"x" * 1_000_000 + b"\r\n"
    assert slow.get(len(one) * 20 + 5) == one * 20 + b"+OK\r\n"
    assert slow.get(1) == b""
    slow.close()
    other.close()


def test_a_long_pipeline_does_not_starve_other_clients(server: miniredis.Server) -> None:
    busy, other = RawClient((server.host, server.port)), RawClient((server.host, server.port))
    other.ask("RPUSH l " + " ".join("x" * 5000))
    count = 4000
    busy.send(b"LPOS l nosuch\r\n" * count)
    stats = other.ask("INFO commandstats")
    calls = re.search(rb"cmdstat_lpos:calls=(\d+)", stats)
    assert int(calls[1] if calls else 0) < count
    busy.close()
    other.close()


def test_a_client_that_closes_with_unread_replies_is_removed(server: miniredis.Server) -> None:
    rude, other = RawClient((server.host, server.port)), RawClient((server.host, server.port))
    rude.send(b"SET k " + b"x" * 60_000 + b"\r\n" + b"GET k\r\n" * 1000)
    rude.close()
    until(lambda: other.ask("CLIENT LIST").count(b"id=") == 1, "the client is gone")
    other.close()


def test_an_idle_client_is_disconnected_and_one_that_waits_or_listens_is_not(loop: str) -> None:
    with started(loop, clock="held", timeout="10") as server:
        idle, busy, waiter, listener = (RawClient((server.host, server.port)) for _ in range(4))
        assert listener.ask("SUBSCRIBE news").startswith(b"*3")
        for client in (idle, busy):
            assert client.ask("PING") == b"+PONG\r\n"
        waiter.send(b"BLPOP k 0\r\n")
        until_blocked(busy, 1)
        server.fast_forward(9)
        assert busy.ask("PING") == b"+PONG\r\n"
        server.fast_forward(0.9)
        assert busy.ask("CLIENT LIST").count(b"id=") == 4
        server.fast_forward(0.2)
        assert idle.get(1) == b""
        assert busy.ask("RPUSH k v") == b":1\r\n"
        assert waiter.get(18) == b"*2\r\n$1\r\nk\r\n$1\r\nv\r\n"
        server.fast_forward(9)
        assert waiter.ask("PING") == b"+PONG\r\n"  # it got something when it was served
        server.fast_forward(100)
        assert (busy.get(1), waiter.get(1)) == (b"", b"")
        listener.send(b"PING\r\n")
        assert listener.get(7)
        for client in (idle, busy, waiter, listener):
            client.close()


@pytest.mark.slow
def test_an_idle_client_is_disconnected_by_redis_too(empty_address: tuple[str, int]) -> None:
    waiter, idle = RawClient(empty_address), RawClient(empty_address)
    assert idle.ask("CONFIG SET timeout 1") == b"+OK\r\n"
    waiter.send(b"BLPOP k 0\r\n")
    assert idle.get(1) == b""
    control = RawClient(empty_address)
    try:
        assert blocked(control) == 1
    finally:
        control.ask("CONFIG SET timeout 0")
        for client in (waiter, idle, control):
            client.close()


def test_a_waiter_that_half_closes_its_connection_is_disconnected(server: miniredis.Server) -> None:
    waiter, control = RawClient((server.host, server.port)), RawClient((server.host, server.port))
    waiter.send(b"BLPOP k 0\r\n")
    until_blocked(control, 1)
    waiter.socket.shutdown(socket.SHUT_WR)
    until_blocked(control, 0)
    assert control.ask("RPUSH k v") == b":1\r\n"
    assert control.ask("LLEN k") == b":1\r\n"
    waiter.close()
    control.close()


def test_client_unblock_and_client_kill_end_blocking_commands(empty_address: tuple[str, int]) -> None:
    a, b, control = (RawClient(empty_address) for _ in range(3))
    ids = [int(client.ask("CLIENT ID")[1:]) for client in (a, b)]
    for client in (a, b):
        client.send(b"BLMOVE k t LEFT LEFT 0\r\n")
    until_blocked(control, 2)
    assert control.ask(f"CLIENT UNBLOCK {ids[0]}") == b":1\r\n"
    assert a.get(5) == b"*-1\r\n"
    assert control.ask(f"CLIENT UNBLOCK {ids[0]}") == b":0\r\n"
    assert control.ask(f"CLIENT UNBLOCK {ids[1]} ERROR") == b":1\r\n"
    unblocked = b"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"
    assert b.get(len(unblocked)) == unblocked
    a.send(b"BLPOP k 0\r\n")
    until_blocked(control, 1)
    assert control.ask(f"CLIENT KILL ID {ids[0]}") == b":1\r\n"
    assert a.get(1) == b""
    assert control.ask("RPUSH k v") == b":1\r\n"
    assert control.ask("LLEN k") == b":1\r\n"
    host, port = b.socket.getsockname()
    assert control.ask(f"CLIENT KILL {host}:{port}") == b"+OK\r\n"
    assert b.get(1) == b""
    own = int(control.ask("CLIENT ID")[1:])
    assert control.ask(f"CLIENT KILL ID {own}") == b":0\r\n"
    assert control.ask(f"CLIENT KILL ID {own} SKIPME no") == b":1\r\n"
    assert control.get(1) == b""
    for client in (a, b, control):
        client.close()


def test_push_and_unblock_in_one_exec_leave_the_item(empty_address: tuple[str, int]) -> None:
    waiter, other = RawClient(empty_address), RawClient(empty_address)
    number = int(waiter.ask("CLIENT ID")[1:])
    waiter.send(b"BLPOP k 0\r\n")
    until_blocked(other, 1)
    other.send(b"MULTI\r\nRPUSH k v\r\n" + f"CLIENT UNBLOCK {number}\r\n".encode() + b"EXEC\r\n")
    assert other.get(31) == b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:1\r\n"[:31]
    assert waiter.get(5) == b"*-1\r\n"
    other.get(4)
    assert other.ask("LLEN k") == b":1\r\n"
    waiter.close()
    other.close()


def test_client_list_shows_name_database_and_user_of_each_client(empty_address: tuple[str, int]) -> None:
    with redis.Redis(*empty_address, db=3, client_name="worker") as client:
        mine = client.client_info()
        assert (mine["name"], int(mine["db"]), mine["user"]) == ("worker", 3, "default")
        assert mine["cmd"] in {"client|info", "client"}, "7.0 names the subcommand, 6.2 does not"
        assert [each["name"] for each in client.client_list(client_id=[str(client.client_id())])] == [
            "worker"
        ]
        assert "worker" in {each["name"] for each in client.client_list(_type="normal")}


def test_hello_in_a_transaction_changes_the_protocol_of_later_replies(empty_address: tuple[str, int]) -> None:
    client = RawClient(empty_address)
    client.send(b"MULTI\r\nHELLO 3\r\nGET nokey\r\nEXEC\r\nGET nokey\r\n")
    data = b""
    while not data.endswith(b"_\r\n_\r\n"):
        data += client.get(1) or pytest.fail(repr(data))
    assert b"*2\r\n%7\r\n" in data
    client.close()


# The process


def test_shutdown_works_from_a_client_whose_blocking_pop_timed_out(server: miniredis.Server) -> None:
    client = RawClient((server.host, server.port))
    client.send(b"BLPOP k 0.02\r\nSHUTDOWN\r\n")
    assert client.get(6) == b"*-1\r\n"
    client.close()
    assert not still_listens(server)


def test_importing_the_core_loads_no_extras() -> None:
    program = (
        "import sys, miniredis, pressure; print(*{'pyspark', 'lupa', 'pytest', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("loop", ["poll", "streams"])
def test_a_client_that_comes_when_the_server_has_stopped_is_hung_up_on(
    monkeypatch: pytest.MonkeyPatch, loop: str
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise ConnectionRefusedError("the server has stopped")

    with miniredis.start(loop=loop) as server:  # type: ignore[arg-type]
        with monkeypatch.context() as patched:
            patched.setattr("miniredis.ticks.tick_runner.TickRunner.connect", refused)
            with socket.create_connection((server.host, server.port), timeout=10) as client:
                assert client.recv(1) == b""
        with redis.Redis(server.host, server.port) as client:
            assert client.ping()
