"""The event loops: output buffer limits, streams of any kind, pollers of any kind."""

from __future__ import annotations

import selectors
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import trio
import trio.testing
import trustme

import miniredis
from conformance.documents.recorded.player import RawClient
from miniredis.network import poll_loop
from miniredis.network.poll_loop import PollLoop
from miniredis.network.pollers import READ, WRITE, Poller, SelectorPoller, new_poller
from miniredis.ticks.re_entrance import holds

from ...waiting import until
from ..loops import started

MEGABYTE = 1_000_000
HARD = "normal 1mb 0 0"


def bulk(size: int) -> bytes:
    return b"$%d\r\n" % size + b"x" * size + b"\r\n"


@contextmanager
def holding(address: tuple[str, int], size: int) -> Iterator[RawClient]:
    """A client of a server where the key ``k`` is so long."""
    client = RawClient(address)
    try:
        client.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n" + bulk(size))
        assert client.get(5) == b"+OK\r\n"
        yield client
    finally:
        client.close()


# client-output-buffer-limit


def test_a_reply_beyond_the_hard_limit_is_not_sent(empty_address: tuple[str, int]) -> None:
    with holding(empty_address, 3 * MEGABYTE) as control:
        assert control.ask(f'CONFIG SET client-output-buffer-limit "{HARD}"') == b"+OK\r\n"
        greedy = RawClient(empty_address)
        greedy.send(b"GET k\r\n")
        assert greedy.get(1) == b""
        assert control.ask("CONFIG SET client-output-buffer-limit 'normal 0 0 0'") == b"+OK\r\n"
        assert control.ask("PING") == b"+PONG\r\n"
        greedy.close()


def test_a_reply_within_the_hard_limit_is_sent(empty_address: tuple[str, int]) -> None:
    """Well within: Redis counts what its allocator rounds up, too."""
    size = MEGABYTE // 2
    with holding(empty_address, size) as control:
        assert control.ask(f'CONFIG SET client-output-buffer-limit "{HARD}"') == b"+OK\r\n"
        control.send(b"GET k\r\n")
        assert control.get(len(bulk(size))) == bulk(size)
        assert control.ask("CONFIG SET client-output-buffer-limit 'normal 0 0 0'") == b"+OK\r\n"


def test_replies_that_are_not_read_add_up_to_the_hard_limit(server: miniredis.Server) -> None:
    with holding((server.host, server.port), MEGABYTE // 2) as control:
        assert control.ask('CONFIG SET client-output-buffer-limit "normal 20mb 0 0"') == b"+OK\r\n"
        slow = RawClient((server.host, server.port))
        for _ in range(60):
            try:
                slow.send(b"GET k\r\n")
            except OSError:
                break
            assert control.ask("PING") == b"+PONG\r\n"
        assert len(slow.get(60 * MEGABYTE)) < 30 * MEGABYTE
        slow.close()


def test_a_client_over_the_soft_limit_for_too_long_is_disconnected(loop: str) -> None:
    with (
        started(loop, clock="held", client_output_buffer_limit="normal 0 1mb 10") as server,
        holding((server.host, server.port), 30 * MEGABYTE) as control,
    ):
        slow = RawClient((server.host, server.port))
        slow.send(b"GET k\r\n")
        assert slow.get(11) == b"$30000000\r\n"
        server.fast_forward(10)
        assert control.ask("CLIENT LIST").count(b"id=") == 2
        server.fast_forward(0.1)
        assert control.ask("CLIENT LIST").count(b"id=") == 1
        slow.close()


def test_a_client_that_reads_in_time_stays_connected(loop: str) -> None:
    with (
        started(loop, clock="held", client_output_buffer_limit="normal 0 1mb 10") as server,
        holding((server.host, server.port), 30 * MEGABYTE),
    ):
        slow = RawClient((server.host, server.port))
        slow.send(b"GET k\r\n")
        server.fast_forward(9)
        assert slow.get(len(bulk(30 * MEGABYTE))) == bulk(30 * MEGABYTE)
        assert slow.ask("PING") == b"+PONG\r\n"
        server.fast_forward(9)
        assert slow.ask("PING") == b"+PONG\r\n"
        slow.close()


# Streams


def in_memory(_server: miniredis.Server) -> tuple[trio.abc.Stream, trio.abc.Stream]:
    return trio.testing.memory_stream_pair()


def over_tls(_server: miniredis.Server) -> tuple[trio.abc.Stream, trio.abc.Stream]:
    authority = trustme.CA()
    here, there = ssl.create_default_context(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.configure_trust(here)
    authority.issue_cert("redis.example").configure_cert(there)
    near, far = trio.testing.memory_stream_pair()
    return (
        trio.SSLStream(near, here, server_hostname="redis.example"),
        trio.SSLStream(far, there, server_side=True),
    )


Pair = Callable[[miniredis.Server], tuple[trio.abc.Stream, trio.abc.Stream]]


async def receive(stream: trio.abc.Stream, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := await stream.receive_some()):
        data += more
    return data


@pytest.mark.parametrize("pair", [in_memory, over_tls])
def test_clients_can_connect_over_memory_streams_and_tls(pair: Pair) -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            server = await nursery.start(miniredis.serve)
            (one, one_there), (two, two_there) = pair(server), pair(server)
            nursery.start_soon(server.serve_stream, one_there)
            nursery.start_soon(server.serve_stream, two_there)
            await one.send_all(b"BLPOP k 0\r\nPING\r\n")
            while b"blocked_clients:1" not in await ask_info(two):
                pass
            await two.send_all(b"*3\r\n$5\r\nLPUSH\r\n$1\r\nk\r\n" + bulk(100_000))
            assert await receive(two, 4) == b":1\r\n"
            expected = b"*2\r\n$1\r\nk\r\n" + bulk(100_000) + b"+PONG\r\n"
            assert await receive(one, len(expected)) == expected
            await two.send_all(b"QUIT\r\n")
            assert await receive(two, 5) == b"+OK\r\n"
            await one.aclose()
            server.stop()

    async def ask_info(stream: trio.abc.Stream) -> bytes:
        await stream.send_all(b"INFO clients\r\n")
        head = await stream.receive_some()
        return bytes(head)

    trio.run(main)


def test_an_hour_takes_no_time_with_trios_mock_clock() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            server = await nursery.start(miniredis.serve)
            here, there = trio.testing.memory_stream_pair()
            nursery.start_soon(server.serve_stream, there)
            began, now = trio.current_time(), server.now
            await here.send_all(b"SET k v EX 5400\r\nBLPOP empty 3600\r\n")
            with trio.fail_after(7200):
                assert await receive(here, 10) == b"+OK\r\n*-1\r\n"
            assert trio.current_time() - began == pytest.approx(3600)
            assert (server.now - now).total_seconds() == pytest.approx(3600)
            with server.client() as client:
                server.fast_forward(1750)
                assert client.get("k") == b"v"
                await trio.sleep(60)
                assert client.get("k") is None
            nursery.cancel_scope.cancel()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_serve_stream_on_a_stopped_server_is_refused() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            server = await nursery.start(miniredis.serve)
            nursery.cancel_scope.cancel()
        _, there = trio.testing.memory_stream_pair()
        with pytest.raises(ConnectionRefusedError, match="the server has stopped"):
            await server.serve_stream(there)

    trio.run(main)


def test_a_stream_is_closed_when_its_server_stops() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            server = await nursery.start(miniredis.serve)
            here, there = trio.testing.memory_stream_pair()
            nursery.start_soon(server.serve_stream, there)
            await here.send_all(b"PING\r\n")
            assert await receive(here, 7) == b"+PONG\r\n"
            server.stop()
            assert await receive(here, 1) == b""

    trio.run(main)


# Pollers


@pytest.fixture(params=["the platform's", "a selector"])
def poller(request: pytest.FixtureRequest) -> Iterator[Poller]:
    poller = (
        new_poller() if request.param == "the platform's" else SelectorPoller(selectors.DefaultSelector())
    )
    yield poller
    poller.close()


def test_a_poller_returns_the_descriptors_that_are_ready(poller: Poller) -> None:
    here, there = socket.socketpair()
    with here, there:
        number = here.fileno()
        poller.add(number, READ)
        assert poller.wait(0) == []
        there.send(b"x")
        assert poller.wait(0) == [(number, READ)]
        poller.change(number, READ | WRITE)
        assert poller.wait(0) == [(number, READ | WRITE)]
        poller.change(number, 0)
        assert poller.wait(0) == []
        poller.change(number, WRITE)
        assert poller.wait(0) == [(number, WRITE)]
        poller.remove(number)
        assert poller.wait(0) == []


def test_a_pollers_own_descriptor_is_readable_when_one_of_its_descriptors_is(poller: Poller) -> None:
    here, there = socket.socketpair()
    with here, there, selectors.DefaultSelector() as outer:
        outer.register(poller.fileno(), selectors.EVENT_READ)
        poller.add(here.fileno(), READ)
        assert outer.select(0) == []
        there.send(b"x")
        assert outer.select(0) != []


def test_a_loop_accepts_again_with_the_lock_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that refuses connections may come or go on another thread at the same time."""
    accept_on, had_lock = PollLoop._accept_on, list[bool]()

    def noted(loop: PollLoop) -> None:
        had_lock.append(holds(loop._runner.lock))
        accept_on(loop)

    monkeypatch.setattr(PollLoop, "_accept_on", noted)
    monkeypatch.setattr(poll_loop, "PAUSE", 0)
    with miniredis.start() as server:
        until(lambda: len(had_lock) == 1, "does it accept")
        (loop,) = server._runner.loops
        server._runner.call_soon(loop._pause_accepting)  # type: ignore[attr-defined]
        until(lambda: len(had_lock) == 2, "does it accept again")
    assert had_lock == [True, True]
