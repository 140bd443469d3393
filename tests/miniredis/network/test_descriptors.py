"""File descriptors: maxclients follows the system's limit, and clients beyond it are refused."""

from __future__ import annotations

import contextlib
import errno
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
import trio

from conformance.targets import find_real_redis
from conformance.wire import RawConnection, encode
from miniredis.network.descriptors import Rejection, Spare
from miniredis.testing.real_servers import real_at_free_port

from ...servers import found
from ..loops import started

pytestmark = pytest.mark.usefixtures("forked")

KINDS: Final = ("miniredis", "redis-server")

LAUNCHER: Final = """#!{python}
import ctypes, os, resource, sys
ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # root, too, may not raise the hard limit any more
resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))
command = {command!r}
os.execvp(command[0], command + sys.argv[1:])
"""


def command_of(kind: str) -> list[str]:
    if kind == "miniredis":
        return [sys.executable, "-m", "miniredis"]
    return [str(found(find_real_redis))]


def launcher(folder: Path, kind: str, limit: int) -> Path:
    """A program that becomes a server which may open no more than so many files."""
    path = folder / f"{kind}-{limit}"
    path.write_text(LAUNCHER.format(python=sys.executable, limit=limit, command=command_of(kind)))
    path.chmod(0o700)
    return path


@contextlib.contextmanager
def limited(folder: Path, kind: str, limit: int) -> Iterator[int]:
    with real_at_free_port(launcher(folder, kind, limit), folder) as (_, port):
        yield port


MANY: Final = b"-ERR max number of clients reached\r\n"


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def serves(client: socket.socket) -> bool:
    client.sendall(encode("PING"))
    return client.recv(100) == b"+PONG\r\n"


def configured(client: RawConnection) -> list[bytes]:
    """What is said of ``maxclients`` where there is room for 32."""
    words = [
        "GET maxclients", "SET maxclients 1000", "GET maxclients", "SET hz 11 maxclients 1000", "GET hz",
        "SET maxclients 1000 hz x", "SET maxclients 33", "SET maxclients 20", "GET maxclients",
        "SET maxclients 32", "GET maxclients",
    ]  # fmt: skip
    return [client.command("CONFIG", *line.split()) for line in words]


@pytest.mark.usefixtures("redis_7_0")
def test_maxclients_is_lowered_to_what_the_system_has_room_for(tmp_path: Path) -> None:
    stories = {}
    for kind in KINDS:
        with limited(tmp_path, kind, 64) as port, RawConnection("127.0.0.1", port) as client:
            stories[kind] = configured(client)
            with contextlib.ExitStack() as stack:
                for _ in range(31):
                    assert serves(stack.enter_context(connected(port)))
                for _ in range(40):
                    with connected(port) as refused:
                        assert refused.recv(100) == MANY
                assert b"rejected_connections:40" in client.command("INFO", "stats")
    assert b"$2\r\n32\r\n" in stories["miniredis"][0]
    assert stories["miniredis"] == stories["redis-server"]


def test_a_maxclients_that_no_system_allows_is_refused(tmp_path: Path) -> None:
    """A real server takes it, overflows, and hangs at the first client beyond."""
    with limited(tmp_path, "miniredis", 64) as port, RawConnection("127.0.0.1", port) as client:
        assert b"try with 32\r\n" in client.command("CONFIG", "SET", "maxclients", "4294967295")


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_without_free_descriptors_does_not_start(tmp_path: Path, kind: str) -> None:
    command = [str(launcher(tmp_path, kind, 32)), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "Your current 'ulimit -n' of 32 is not enough for the server to start." in said
    assert "Please increase your open file limit to at least 10032. Exiting." in said
    assert "Traceback" not in said


def test_the_soft_limit_of_descriptors_is_raised(tmp_path: Path) -> None:
    path = launcher(tmp_path, "miniredis", 300)
    path.write_text(path.read_text().replace("(300, 300)", "(64, 300)"))
    with (
        real_at_free_port(path, tmp_path, "--maxclients", "200") as (_, port),
        RawConnection("127.0.0.1", port) as client,
    ):
        assert b"200" in client.command("CONFIG", "GET", "maxclients")
        assert client.command("CONFIG", "SET", "maxclients", "268") == b"+OK\r\n"
        assert b"try with 268" in client.command("CONFIG", "SET", "maxclients", "269")


HOST: Final = """
import logging.handlers, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
import miniredis
said = logging.handlers.BufferingHandler(1000)
logging.getLogger("miniredis").addHandler(said)
with miniredis.start(loop=sys.argv[1]) as server, server.client() as client:
    client.ping()  # loads all it needs
    print(server.port, flush=True)
    for line in sys.stdin:
        print(client.ping(), resource.getrlimit(resource.RLIMIT_NOFILE)[0], len(said.buffer), flush=True)
"""


@contextlib.contextmanager
def hosted(loop: str, program: str = HOST) -> Iterator[tuple[int, Callable[[], str]]]:
    """A program of 64 files with a server in it: where that listens, and a question to the program."""
    with subprocess.Popen(
        [sys.executable, "-c", program, loop], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as host:
        asked, answers = host.stdin, host.stdout
        assert asked is not None
        assert answers is not None

        def ask() -> str:
            print(file=asked, flush=True)
            return answers.readline()

        try:
            yield int(answers.readline()), ask
        finally:
            host.kill()


@pytest.mark.parametrize("loop", ["poll", "streams"])
def test_an_embedded_server_refuses_clients_when_the_process_has_no_descriptor_left(loop: str) -> None:
    with hosted(loop) as (port, ask), contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(connected(port)) for _ in range(120)]
        assert crowd[-1].recv(100) == MANY
        refused = set(select.select(crowd[:-1], [], [])[0])
        served = [client for client in crowd[:-1] if client not in refused]
        assert all(client.recv(100) == MANY for client in refused)
        assert len(served) > 32
        assert all(serves(client) for client in served)
        assert ask() == "True 64 0\n"  # nothing was logged: that nobody waits any more is no trouble
        for client in served[:10]:
            client.close()
        assert any(is_served(port) for _ in range(1000))


TAKER: Final = """
import os, resource, sys, threading
import miniredis, trio
class Taker:
    def started(self, server):
        self.taken = []
        try:
            while True:
                self.taken.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            print(server.port, flush=True)
        threading.Thread(target=self.give_back).start()
    def give_back(self):
        for line in sys.stdin:
            os.close(self.taken.pop())
            print(flush=True)
def run():
    return miniredis.serve(loop=sys.argv[1], task_status=Taker())
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
trio.run(run)
"""


@pytest.mark.parametrize("loop", ["poll", "streams"])
def test_a_server_survives_a_process_without_free_descriptors(loop: str) -> None:
    with hosted(loop, TAKER) as (port, ask):
        with connected(port) as client:
            assert client.recv(100) == MANY
        ask()
        assert is_served(port)


def is_served(port: int) -> bool:
    with connected(port) as client, contextlib.suppress(ConnectionError):
        return serves(client)
    return False


def test_a_client_that_could_not_be_refused_is_served_later(
    loop: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As where another thread is quicker to use the spare descriptor."""
    tries: list[OSError] = []
    accept, accept_stream = socket.socket.accept, trio.SocketListener.accept

    def fail_at_first() -> None:
        if len(tries) < 3:
            raise OSError(errno.EMFILE, "Too many open files")

    def accept_later(listening: socket.socket) -> tuple[socket.socket, object]:
        fail_at_first()
        return accept(listening)

    async def accept_stream_later(listener: trio.SocketListener) -> trio.SocketStream:
        fail_at_first()
        return await accept_stream(listener)

    def refuse(_spare: Spare, _listening: socket.socket, trouble: OSError) -> Rejection:
        tries.append(trouble)
        return Rejection.FAILED

    monkeypatch.setattr(socket.socket, "accept", accept_later)
    monkeypatch.setattr(trio.SocketListener, "accept", accept_stream_later)
    monkeypatch.setattr(Spare, "refuse", refuse)
    with started(loop) as server:
        assert is_served(server.port)
    assert len(tries) == 3
    assert caplog.text.count("cannot accept connections, will try again in 0.1 s: Too many open files") == 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGPIPE])
def test_a_server_survives_sighup_and_sigpipe(tmp_path: Path, kind: str, number: signal.Signals) -> None:
    with real_at_free_port(launcher(tmp_path, kind, 300), tmp_path) as (process, port):
        with RawConnection("127.0.0.1", port) as client:
            assert client.command("SET", "k", "v") == b"+OK\r\n"
            process.send_signal(number)
            assert client.command("GET", "k") == b"$1\r\nv\r\n"
            assert client.command("DEL", "k") == b":1\r\n"
        assert process.poll() is None
