"""Large replies, and replies that a client does not read: they are not copied and do not delay other clients."""

from __future__ import annotations

import random
import socket
import threading
import time

import pytest

import miniredis
from conformance.bench.servers import miniredis as started_command
from conformance.wire import RawConnection, encode
from miniredis.engine import Engine
from miniredis.engine.protocol.replies import LARGE, Encoded, Pieces
from miniredis.engine.protocol.unsent import SENT_AT_ONCE, Unsent
from miniredis.inprocess.local import LocalSocket
from tests.tools.hostile.floods import many, set_large

from ..engine.test_listeners_cost import NOW

MEGABYTE = 1 << 20
FAR_TOO_LONG = 30
"""Seconds; what is tried here takes minutes where it is quadratic, and milliseconds where it is not."""


def pieces_of(chance: random.Random, count: int) -> list[bytes]:
    sizes = [1, 7, 100, LARGE - 1, LARGE, 3 * LARGE, SENT_AT_ONCE, SENT_AT_ONCE + 1]
    return [chance.randbytes(chance.choice(sizes)) for _ in range(count)]


def test_the_output_buffer_returns_all_bytes_in_order() -> None:
    chance = random.Random(7)  # noqa: S311
    unsent, sent, whole = Unsent(), bytearray(), bytearray()

    def transmit(views: list[memoryview]) -> int:
        data = b"".join(views)
        assert len(data) <= SENT_AT_ONCE
        taken = chance.choice([0, 1, len(data) // 2, len(data)])
        sent.extend(data[:taken])
        return taken

    def refuse(_views: list[memoryview]) -> int:
        raise BlockingIOError

    for piece in pieces_of(chance, 100):
        unsent.add(piece)
        unsent.add(Pieces([b"$", piece, b"\r\n"]))
        whole += b"%b$%b\r\n" % (piece, piece)
        unsent.send(chance.choice([transmit, refuse]))
        sent += unsent.take(chance.choice([1, 1000, LARGE, MEGABYTE]))
        assert len(sent) + len(unsent) == len(whole)
    while unsent:
        sent += unsent.take(MEGABYTE)
    assert sent == whole
    assert unsent.take(10) == b""


def test_a_large_string_is_sent_without_a_copy() -> None:
    engine = Engine(now=NOW)
    session = engine.connect(NOW)
    value = b"x" * LARGE
    for request in ([b"SET", b"k", value], [b"MULTI"], [b"GET", b"k"], [b"PING"], [b"EXEC"], [b"GET", b"k"]):
        engine.receive(session, encode(*request), NOW)
    kept = engine.keyspace.databases[0].lookup_write(b"k")
    output = session.take_pieces()
    assert isinstance(output, Pieces)
    assert sum(part is kept for part in output.parts) == 2
    string = b"$%d\r\n%b\r\n" % (LARGE, value)
    assert bytes(output) == b"+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n" + string + b"+PONG\r\n" + string
    assert len(output) == len(bytes(output))


def test_unread_replies_of_one_large_value_share_its_memory() -> None:
    with started_command() as server:
        address = ("127.0.0.1", server.port)
        set_large(address, "k", 20)
        before = server.resident_bytes()
        with many(address, 20) as clients:
            for client in clients:
                client.sendall(encode("GET", "k"))
                assert client.recv(1) == b"$"
            assert server.resident_bytes() - before < 150 * MEGABYTE


def test_large_and_small_replies_arrive_whole_and_in_order(server: miniredis.EmbeddedServer) -> None:
    values = {b"small": b"s" * 10, b"large": b"l" * LARGE, b"huge": b"h" * 5 * MEGABYTE}
    names = [*values] * 10
    random.Random(3).shuffle(names)  # noqa: S311
    asked = b"".join(encode("GET", name) + encode("MGET", name, "nosuch") for name in names)
    due = b"".join(
        b"$%d\r\n%b\r\n*2\r\n$%d\r\n%b\r\n$-1\r\n" % (len(value), value, len(value), value)
        for value in map(values.__getitem__, names)
    )
    with socket.create_connection((server.host, server.port), timeout=60) as client:
        for name, value in values.items():
            client.sendall(encode("SET", name, value))
            assert client.recv(5) == b"+OK\r\n"
        assert all_heard(client, asked, due)
    local = LocalSocket(server._runner)
    assert all_heard(local, asked, due)
    local.close()


def all_heard(client: socket.socket | LocalSocket, asked: bytes, due: bytes) -> bool:
    client.sendall(asked)
    heard = bytearray()
    while len(heard) < len(due) and (data := client.recv(300_000)):
        heard += data
    return heard == due


def test_a_large_reply_in_this_process_may_be_received_in_small_pieces(
    server: miniredis.EmbeddedServer,
) -> None:
    client = LocalSocket(server._runner)
    client.sendall(encode("SETRANGE", "k", str(32 * MEGABYTE - 1), "x") + encode("GET", "k"))
    began, size = time.monotonic(), 0
    while size < 32 * MEGABYTE:
        size += len(client.recv(1000))
        assert time.monotonic() - began < FAR_TOO_LONG
    client.close()


@pytest.mark.slow
def test_a_subscriber_in_this_process_may_leave_many_messages_unread() -> None:
    request = encode("PUBLISH", "news", "x")
    with miniredis.start() as server:
        subscriber, publisher = LocalSocket(server._runner), LocalSocket(server._runner)
        subscriber.sendall(encode("SUBSCRIBE", "news"))
        began = time.monotonic()
        for _ in range(40_000):
            publisher.sendall(request)
        assert time.monotonic() - began < FAR_TOO_LONG
        for client in (subscriber, publisher):
            client.close()


def test_a_long_pipeline_in_this_process_does_not_starve_other_clients() -> None:
    with miniredis.start() as server:
        assert any(are_ten_served_meanwhile(server) for _ in range(10)), (
            "a busy machine may starve others, too"
        )


def are_ten_served_meanwhile(server: miniredis.EmbeddedServer) -> bool:
    """Whether ten requests of another client are answered before a pipeline in this process is."""
    hasty = LocalSocket(server._runner)
    sending = threading.Thread(target=hasty.sendall, args=(encode("PING") * 100_000,))
    served = 0
    with RawConnection(server.host, server.port) as other:
        sending.start()
        while sending.is_alive() and served < 10:
            assert other.command("PING") == b"+PONG\r\n"
            served += 1
    sending.join()
    assert len(hasty.recv(10_000_000)) == 700_000
    hasty.close()
    return served == 10


def test_a_pipeline_in_this_process_ends_at_quit() -> None:
    with miniredis.start() as server:
        client = LocalSocket(server._runner)
        client.sendall(encode("PING") + encode("QUIT") + encode("PING") * 10_000)
        assert client.recv(100) == b"+PONG\r\n+OK\r\n"
        with pytest.raises(BrokenPipeError):
            client.sendall(b"PING\r\n")


def test_the_output_buffer_keeps_replies_that_are_already_encoded() -> None:
    unsent = Unsent()
    parts = [Encoded(b"+OK\r\n"), b"+QUEUED\r\n", b"x" * LARGE, Encoded(b"+OK\r\n"), b"+PONG\r\n"]
    unsent.add(Pieces(parts))
    assert unsent.take(len(unsent)) == b"".join(parts)
    assert len(unsent) == 0
