"""A server that sends nothing, or one connection that hangs: no operation waits longer than its timeout.

Where an operation must not wait for the server's answer, the socket timeout is 1000 s: code that waits for it
does not come to an end in the time of a test.
"""

from __future__ import annotations

import contextlib
import os
import pkgutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from conformance.targets import Address
from conformance.wire.gate import Gate
from pressure import ConnectionFailedError, OutcomeUnknownError, Queue
from pressure.sync.connection import TICK, CancelScope
from tests.servers import RealServer

from .conftest import JOBS, StartTask, invariant, server_fixture, until, waiting
from .loops import cancelled, play
from .loops import until as come

LONG = "socket_timeout=1000"


server_address = server_fixture("embedded_server", "real_server")


@pytest.fixture
def gate(empty_server: Address) -> Iterator[Gate]:
    """A way to the server on which a message can be held up; whatever is held up goes on at the end."""
    with Gate(empty_server) as made:
        yield made


class Hang(threading.Event):
    """An act at the gate: the message is held up until the event is set."""

    def __call__(self) -> None:
        self.wait()


@pytest.fixture
def hang() -> Iterator[Hang]:
    """What a message that hangs waits for."""
    event = Hang()
    yield event
    event.set()


@pytest.fixture
def nobody() -> Iterator[str]:
    """Where connections are accepted, and nothing is ever answered."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def dripping() -> Iterator[str]:
    """Where a byte of one reply comes now and then; after a minute the connection ends."""
    is_over = threading.Event()

    def drip(link: socket.socket) -> None:
        with link, contextlib.suppress(OSError):
            link.send(b"+")
            for _ in range(6000):
                link.send(b"x")
                if is_over.wait(0.01):
                    return

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=drip, args=[listener.accept()[0]], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        is_over.set()
        listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def frozen(start_server: Callable[[], RealServer]) -> Iterator[RealServer]:
    """A server that can be stopped by SIGSTOP."""
    server = start_server()
    yield server
    server.process.send_signal(signal.SIGCONT)


def test_a_short_socket_timeout_is_the_one_used(
    flavour: str, gate: Gate, raw: redis.Redis, hang: Hang
) -> None:
    async def main(queue: Any) -> None:
        await queue.create()
        gate.arm(1, hang)
        with pytest.raises(OutcomeUnknownError):
            await queue.put(b"v")
        with contextlib.suppress(Exception):
            await queue.get(timeout=1.5)  # a wait takes longer than the timeout, and is no silence

    play(flavour, main, url=f"{gate.url}?socket_timeout=1")
    hang.set()


def test_a_wait_may_last_longer_than_the_socket_timeout(flavour: str, redis_url: str) -> None:
    async def main(queue: Any) -> None:
        await queue.create()
        assert not await queue.wait_closed(timeout=1.3)

    play(flavour, main, url=f"{redis_url}?socket_timeout=0.9")


#: The function that is told how long to wait for replies, by flavour, and the place of the argument.
LIMITS = {
    "sync": ("pressure.sync.connection.CancelScope.begin_wait", 1),
    "aio": ("pressure.aio.driver.unbroken", 2),
    "trio": ("pressure.trio.connection.Connection.exchange", 3),
}


@pytest.mark.parametrize(("option", "expected"), [("?socket_timeout=30", 30.0), ("", 15.0)])
def test_the_socket_timeout_is_the_users_and_a_waits_own_seconds_are_added(
    flavour: str, redis_url: str, monkeypatch: pytest.MonkeyPatch, option: str, expected: float
) -> None:
    place, number = LIMITS[flavour]
    owner, _, name = place.rpartition(".")
    target: Any = pkgutil.resolve_name(owner)
    real, limits = getattr(target, name), []

    def spy(*args: Any, **options: Any) -> Any:
        limits.append(args[number] if len(args) > number else None)
        return real(*args, **options)

    async def main(queue: Any) -> None:
        await queue.create()
        monkeypatch.setattr(target, name, spy)
        await queue.length()
        await queue.wait_closed(timeout=0.25)

    play(flavour, main, url=redis_url + option)
    found = {round(limit, 1) for limit in limits if limit is not None}
    assert expected in found
    assert any(expected < limit <= expected + 0.3 for limit in found)


def test_connecting_to_a_server_that_never_answers_has_a_limit_of_its_own(flavour: str, nobody: str) -> None:
    async def main(queue: Any) -> None:
        with pytest.raises(ConnectionFailedError, match=r"no answer|[Tt]imeout"):
            await queue.length()

    play(flavour, main, url=f"redis://{nobody}?socket_connect_timeout=0.3&{LONG}")


def test_connecting_to_a_server_that_answers_byte_by_byte_has_the_same_limit(
    flavour: str, dripping: str
) -> None:
    async def main(queue: Any) -> None:
        with pytest.raises(ConnectionFailedError, match=r"no answer|[Tt]imeout"):
            await queue.length()

    play(flavour, main, url=f"redis://{dripping}?socket_connect_timeout=0.3&{LONG}")


def test_a_sentinel_that_never_answers_is_passed_by_and_asked_last_the_next_time(
    flavour: str, nobody: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pressure.connections.arguments import settings
    from pressure.connections.discovery import Discovery

    monkeypatch.setattr("pressure.connections.settings.NODE_TIMEOUT", 1.0)
    where = settings(url=f"redis+cluster://{nobody},{redis_url.partition('://')[2].partition('/')[0]}?{LONG}")
    asked = [node.address for node in where.nodes]

    async def main(queue: Any) -> None:
        assert await queue.length() == 0 if await queue.exists() else True
        connections = (queue.queue if flavour == "sync" else queue)._driver.connections
        first = Discovery(connections._where, None).query
        assert first is not None
        assert first.where.address == asked[1]

    url = f"redis+cluster://{nobody},{redis_url.partition('://')[2].partition('/')[0]}?{LONG}"
    play(flavour, main, url=url)


def test_after_a_silence_no_other_connection_to_that_server_is_used(
    flavour: str, gate: Gate, raw: redis.Redis, hang: Hang
) -> None:
    """They go to the same server, which may be frozen, or no longer the master."""

    async def main(queue: Any) -> None:
        await queue.create()
        pool = (queue.queue if flavour == "sync" else queue)._driver.connections.pool
        members = [pool.take(), pool.take()]
        connections = (queue.queue if flavour == "sync" else queue)._driver.connections
        for member in members:
            if flavour == "sync":
                from pressure.sync.connection import CancelScope

                connections.ready(member, CancelScope(None))
            else:
                await connections.ready(member)
        for member in members:
            given = connections.give_back(member)
            if flavour != "sync":
                await given
        assert len(pool._idle) == 2
        gate.arm(1, hang)
        with pytest.raises(OutcomeUnknownError):
            await queue.put(b"v")
        assert not pool._idle

    play(flavour, main, url=f"{gate.url}?socket_timeout=1")


# Long values on a slow network


def test_only_time_without_progress_counts_as_silence() -> None:
    scope = CancelScope(None)
    scope.begin_wait(2.5 * TICK)
    for _ in range(5):
        scope.tick(is_silent=False)
        scope.tick()
        scope.tick()
    with pytest.raises(TimeoutError):
        scope.tick()


@pytest.fixture
def slow_network(empty_server: Address) -> Iterator[str]:
    """The address of a way to the server that carries the first 4 MB each way slowly, in short bursts.

    What is behind them is carried at once: the system takes so much from a client that the client waits for the
    reply while most of a value is still on its way, which is a silence.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    ends: list[socket.socket] = [listener]
    busy, over = [threading.Thread(target=lambda: accept())], threading.Event()

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection((empty_server.host, empty_server.port))
                for end in (client, server):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
                ends.extend((client, server))
                for pair in ((client, server), (server, client)):
                    busy.append(threading.Thread(target=carry, args=pair))
                    busy[-1].start()

    def carry(source: socket.socket, target: socket.socket) -> None:
        carried = 0
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 18):
                target.sendall(data)
                carried += len(data)
                over.wait(0.03 if len(data) > 1000 and carried < 4_000_000 else 0)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    busy[0].start()
    yield f"redis://127.0.0.1:{listener.getsockname()[1]}"
    over.set()
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
    for thread in busy:
        thread.join()
    for end in ends:
        end.close()


@pytest.mark.exhaustive
def test_a_long_value_may_take_longer_than_the_socket_timeout(
    flavour: str, slow_network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pressure.sync.connection.TICK", 0.01)
    value = bytes(10_000_000)

    async def main(queue: Any) -> None:
        await queue.create()
        await queue.put(value)
        assert await queue.get() == value

    play(flavour, main, url=f"{slow_network}?socket_timeout=1.2")


# Stopping


def test_a_cancelled_operation_gives_a_frozen_server_up(flavour: str, frozen: RealServer) -> None:
    async def main(queue: Any) -> None:
        await queue.create()
        with redis.Redis(port=frozen.port) as look:

            def is_waiting() -> bool:
                return bool(look.info("clients")["blocked_clients"])

            def freeze() -> bool:
                if not is_waiting():
                    return False
                frozen.process.send_signal(signal.SIGSTOP)
                return True

            assert await cancelled(queue.get, freeze) == "OutcomeUnknownError"

    play(flavour, main, url=f"{frozen.url}?{LONG}")


def test_a_wait_that_the_server_does_not_end_ends_by_itself_and_leaves_no_role_held(
    flavour: str, redis_url: str, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a user who may not send CLIENT UNBLOCK or CLIENT ID."""

    async def nothing(*_: object) -> bool:
        return False

    unblock = (lambda *_: False) if flavour == "sync" else nothing
    monkeypatch.setattr(f"pressure.{flavour}.driver.Driver.unblock", unblock)

    async def main(queue: Any) -> None:
        await queue.create()
        assert await cancelled(queue.get, lambda: raw.info("clients")["blocked_clients"]) == "cancelled"

    play(flavour, main, url=redis_url)
    invariant(raw)


def test_sigint_ends_an_operation_on_a_frozen_server(frozen: RealServer, task: StartTask) -> None:
    with Queue("jobs", url=f"{frozen.url}?{LONG}") as queue, redis.Redis(port=frozen.port) as look:
        queue.create()

        def interrupt() -> None:
            waiting(look)
            frozen.process.send_signal(signal.SIGSTOP)
            os.kill(os.getpid(), signal.SIGINT)

        stopper = task(interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            queue.get()
        stopper.result()
        assert isinstance(caught.value.__cause__, OutcomeUnknownError)


def test_sigint_ends_an_operation_that_connects_to_a_frozen_server(
    frozen: RealServer, task: StartTask
) -> None:
    frozen.process.send_signal(signal.SIGSTOP)
    with Queue("jobs", url=f"{frozen.url}?{LONG}&socket_connect_timeout=1000") as queue:

        def interrupt() -> None:
            until(lambda: any(member._socket for member in queue._driver.connections.pool._members))
            os.kill(os.getpid(), signal.SIGINT)

        stopper = task(interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            queue.length()
        stopper.result()
        assert isinstance(caught.value.__cause__, ConnectionFailedError)


def test_sigint_ends_an_operation_whose_reply_comes_byte_by_byte(
    dripping: str, task: StartTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pressure.sync.connection.STOP_TIMEOUT", 0.1)
    with Queue("jobs", url=f"redis://{dripping}?{LONG}&socket_connect_timeout=1000") as queue:

        def interrupt() -> None:
            until(lambda: any(member._socket for member in queue._driver.connections.pool._members))
            os.kill(os.getpid(), signal.SIGINT)

        stopper = task(interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            queue.length()
        stopper.result()
        assert "no answer in time to an operation that was to be stopped" in str(caught.value.__cause__)


@pytest.mark.parametrize("wish", [signal.SIGINT, signal.SIGTERM])
def test_a_command_on_a_frozen_server_ends_when_it_is_told_to(
    frozen: RealServer, cli: Callable[..., subprocess.Popen[bytes]], wish: signal.Signals
) -> None:
    with Queue("jobs", url=frozen.url) as queue, redis.Redis(port=frozen.port) as look:
        queue.create()
        command = cli("--url", f"{frozen.url}?{LONG}", "get", "jobs")
        waiting(look)
        frozen.process.send_signal(signal.SIGSTOP)
        command.send_signal(wish)
        _, complaint = command.communicate(timeout=600)
        assert command.returncode == 10, complaint
        assert b"may or may not have been done" in complaint
        frozen.process.send_signal(signal.SIGCONT)


# Leases


def test_a_connection_that_hangs_does_not_end_a_lease(
    flavour: str, gate: Gate, raw: redis.Redis, hang: Hang
) -> None:
    """The first attempt to renew hangs; the next has a connection of its own, and comes in time."""

    async def main(queue: Any) -> None:
        await queue.create()
        await queue.put(b"v")
        async with queue.receive():
            gate.arm(1, hang)
            await come(lambda: gate.messages >= 1, "did it renew")
            before = raw.pttl(f"{JOBS}:consumer")
            await come(lambda: raw.pttl(f"{JOBS}:consumer") > before, "did another attempt succeed")
            assert not hang.is_set()

    play(flavour, main, url=f"{gate.url}?{LONG}", lease=4)
