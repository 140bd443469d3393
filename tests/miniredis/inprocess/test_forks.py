"""A process that is forked from the server's: the server, its port and its connections stay the parent's alone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
import trio

import miniredis
from conformance.documents.recorded.player import RawClient
from miniredis.inprocess.local import LocalSocket

from ...waiting import PATIENCE
from ..loops import started

pytestmark = pytest.mark.usefixtures("forked")


@contextmanager
def child(act: Callable[[], object] = lambda: None) -> Iterator[None]:
    """A forked process that does something, and then lives until the block ends; the act must not fail."""
    told, tell = os.pipe()
    stay, end = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            signal.alarm(int(PATIENCE))
            os.close(end)
            act()
            os.write(tell, b".")
            os.read(stay, 1)  # until the parent closes its end
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(tell)
    os.close(stay)
    try:
        assert os.read(told, 1) == b"."
        yield
    finally:
        os.close(told)
        os.close(end)
        os.waitpid(process, 0)


def test_quit_closes_a_connection_that_a_forked_child_inherited(server: miniredis.Server) -> None:
    client, other = RawClient((server.host, server.port)), RawClient((server.host, server.port))
    assert client.ask("PING") == other.ask("PING") == b"+PONG\r\n"
    with child():
        assert client.ask("QUIT") == b"+OK\r\n"
        assert client.socket.recv(1) == b""
        assert other.ask("PING") == b"+PONG\r\n"
        late = RawClient((server.host, server.port))
        assert late.ask("PING") == b"+PONG\r\n"
    for each in (client, other, late):
        each.close()


def test_a_stopped_server_is_gone_although_a_forked_child_lives(tmp_path: Path, loop: str) -> None:
    path = tmp_path / "socket"
    with started(loop, unixsocket=str(path)) as server:
        client = RawClient((server.host, server.port))
        assert client.ask("PING") == b"+PONG\r\n"
        with child():
            assert path.exists()
            server.stop()
            assert client.socket.recv(1) == b""
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((server.host, server.port), PATIENCE)
            with miniredis.start(port=server.port) as next_server:
                assert next_server.port == server.port
        client.close()


PARENT = """
import os, signal, sys, miniredis
server = miniredis.start(loop=sys.argv[1])
print(server.port, flush=True)
sys.stdin.readline()
if os.fork() == 0:
    print("forked", flush=True)
    sys.stdin.read()
    os._exit(0)
signal.pause()
"""


def test_connections_of_a_killed_process_close_although_its_forked_child_lives(loop: str) -> None:
    choice = "streams" if loop == "streams" else "poll"
    command = [sys.executable, "-c", PARENT, choice]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        client = RawClient(("127.0.0.1", int(parent.stdout.readline())))
        assert client.ask("PING") == b"+PONG\r\n"
        print(file=parent.stdin, flush=True)
        assert parent.stdout.readline() == "forked\n"
        parent.kill()
        assert client.socket.recv(1) == b""
        client.close()


def test_a_forked_child_closes_the_socket_of_a_stream_that_the_parent_serves() -> None:
    here, there = socket.socketpair()

    def is_closed_here() -> None:
        assert there.fileno() == -1

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            server = await nursery.start(miniredis.serve)
            nursery.start_soon(server.serve_stream, trio.SocketStream(trio.socket.from_stdlib_socket(there)))
            async with trio.SocketStream(trio.socket.from_stdlib_socket(here)) as stream:
                await stream.send_all(b"PING\r\n")
                assert await stream.receive_some() == b"+PONG\r\n"
                with child(is_closed_here):
                    await stream.send_all(b"QUIT\r\n")
                    assert await stream.receive_some() == b"+OK\r\n"
                    assert await stream.receive_some() == b""
            server.stop()

    trio.run(main)


def is_refused(act: Callable[[], object], kind: type[Exception] = RuntimeError) -> None:
    with pytest.raises(kind, match="runs in another process"):
        act()


@contextmanager
def lock_held(server: miniredis.Server) -> Iterator[None]:
    """Another thread is in the middle of a tick."""
    holds, lets_go = threading.Event(), threading.Event()

    def hold() -> None:
        with server._runner.lock:
            holds.set()
            lets_go.wait(PATIENCE)

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait(PATIENCE)
    try:
        yield
    finally:
        lets_go.set()
        thread.join()


def test_a_child_forked_in_the_middle_of_a_tick_is_refused_at_once(server: miniredis.EmbeddedServer) -> None:
    open_before = LocalSocket(server._runner)

    def use_the_server() -> None:
        is_refused(server.reset)
        is_refused(lambda: server.fast_forward(1))
        is_refused(server.client().ping, redis.ConnectionError)
        with pytest.raises(BrokenPipeError):
            open_before.sendall(b"FLUSHALL\r\n")
        assert open_before.recv(1) == b""
        open_before.close()
        server.stop()

    with server.client() as client:
        client.set("k", "v")
        with lock_held(server), child(use_the_server):
            pass
        assert client.get("k") == b"v"
    assert not open_before.is_over
    open_before.close()


def test_a_forked_child_closes_nothing_for_a_server_that_has_stopped_before(tmp_path: Path) -> None:
    with miniredis.start(appendonly="yes", dir=str(tmp_path)) as server:
        kept = server._runner  # as a program may keep the handle
    files = [
        os.open(tmp_path, os.O_RDONLY) for _ in range(20)
    ]  # some have the numbers of that server's files
    try:
        if not (child := os.fork()):
            try:
                for file in files:
                    os.fstat(file)
            except OSError:
                os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert not kept.is_open
    finally:
        for file in files:
            os.close(file)
