"""Hostile clients that a server feels by their number or size, and what an honest one waits meanwhile.

A flood is a function that does its worst to a server and returns when the server is done with it; one that
needs something there first says so. To add one, write a function and add a row to ``FLOODS``.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Final, NamedTuple, TypeAlias

from conformance.wire import encode

from .honest import Honest

__all__ = ["FLOODS", "Flood", "worst_ping"]

MEGABYTE: Final = 1 << 20
PIECE: Final = b"x" * MEGABYTE
LIMIT: Final = 600.0
"""Seconds that a server may take for anything at all."""

Address: TypeAlias = tuple[str, int]


def nothing(_address: Address) -> None:
    """Needs nothing."""


class Flood(NamedTuple):
    """One kind of attack.

    Attributes:
        attack: does it, and returns when the server is done.
        prepare: makes what it needs, while nobody measures.
    """

    attack: Callable[[Address], None]
    prepare: Callable[[Address], None] = nothing


def worst_ping(flood: Flood, address: Address) -> float:
    """For how many seconds an honest client waited longest while a server was attacked."""
    flood.prepare(address)
    with Honest(*address) as honest:
        flood.attack(address)
    return honest.worst


# Clients


def connect(address: Address) -> socket.socket:
    return socket.create_connection(address, timeout=LIMIT)


@contextlib.contextmanager
def many(address: Address, count: int) -> Iterator[list[socket.socket]]:
    """So many clients."""
    with ExitStack() as stack:
        yield [stack.enter_context(connect(address)) for _ in range(count)]


def ask(address: Address, *words: str | bytes) -> None:
    """Sends one command, and waits for the beginning of its reply."""
    with connect(address) as client:
        client.sendall(encode(*words))
        client.recv(64)


def pipelined(address: Address, request: bytes, count: int, *before: bytes) -> None:
    """Sends a request again and again, and reads until ``ECHO`` at their end is answered."""
    end = b"the end"
    with connect(address) as client:

        def send() -> None:
            with contextlib.suppress(OSError):
                for each in before:
                    client.sendall(each)
                block = min(count, 10_000)
                for _ in range(count // block):
                    client.sendall(request * block)
                client.sendall(encode("DISCARD") + encode("CLIENT", "REPLY", "ON") + encode("ECHO", end))

        sender = threading.Thread(target=send)
        sender.start()
        tail = b""
        while not tail.endswith(end + b"\r\n") and (data := client.recv(MEGABYTE)):
            tail = (tail + data)[-64:]
        sender.join()


def send_large(client: socket.socket, head: bytes, megabytes: int) -> None:
    client.sendall(head)
    for _ in range(megabytes):
        client.sendall(PIECE)


def set_large(address: Address, key: str, megabytes: int) -> None:
    with connect(address) as client:
        head = b"*3\r\n$3\r\nSET\r\n$%d\r\n%b\r\n$%d\r\n" % (len(key), key.encode(), megabytes * MEGABYTE)
        send_large(client, head, megabytes)
        client.sendall(b"\r\n")
        client.recv(64)


def read_all(address: Address, request: bytes, size: int) -> None:
    """Sends a request, and reads so many bytes; raises ``ConnectionResetError`` if fewer come."""
    with connect(address) as client:
        client.sendall(request)
        while size > 0:
            data = client.recv(MEGABYTE)
            if not data:
                raise ConnectionResetError(f"the server hung up, {size} bytes before the end")
            size -= len(data)


# Requests


def large_argument(address: Address) -> None:
    set_large(address, "large", 500)


def large_arguments_that_never_end(address: Address) -> None:
    with many(address, 4) as clients:
        for client in clients:
            send_large(client, b"*2\r\n$4\r\nECHO\r\n$300000000\r\n", 150)
        ask(address, "PING")


def input_of_blocked_clients(address: Address) -> None:
    with many(address, 4) as clients:
        for client in clients:
            client.sendall(encode("BLPOP", "empty", "0"))
            send_large(client, b"", 150)
        ask(address, "PING")


def more_input_than_allowed(address: Address) -> None:
    with many(address, 3) as clients:
        for client in clients:
            client.sendall(encode("BLPOP", "empty", "0"))
            with contextlib.suppress(OSError):
                send_large(client, b"", 80)
        ask(address, "PING")


def small_query_buffers(address: Address) -> None:
    ask(address, "CONFIG", "SET", "client-query-buffer-limit", str(64 * MEGABYTE))


def million_commands(address: Address) -> None:
    pipelined(address, encode("SET", "k", "v"), 1_000_000)


def million_lines(address: Address) -> None:
    pipelined(address, b"PING\r\n", 1_000_000)


def million_replies_off(address: Address) -> None:
    pipelined(address, encode("INCR", "k"), 1_000_000, encode("CLIENT", "REPLY", "OFF"))


def million_queued(address: Address) -> None:
    pipelined(address, encode("SET", "k", "v"), 1_000_000, encode("MULTI"))


def million_arguments(address: Address) -> None:
    pipelined(address, encode("DEL", *map(str, range(1_000_000))), 3)


# Replies


def large_value(address: Address) -> None:
    set_large(address, "value", 100)


def unread_large_replies(address: Address) -> None:
    with many(address, 60) as clients:
        for client in clients:
            client.sendall(encode("GET", "value"))
        for client in clients:
            client.recv(64)  # it is on its way
        ask(address, "PING")


def very_large_value(address: Address) -> None:
    set_large(address, "value", 500)


def very_large_reply(address: Address) -> None:
    for _ in range(3):
        read_all(address, encode("GET", "value"), 500 * MEGABYTE)


def long_list(address: Address) -> None:
    words = [f"element:{number}" for number in range(10_000)]
    pipelined(address, encode("RPUSH", "list", *words), 100)


def long_ranges(address: Address) -> None:
    for _ in range(3):
        read_all(address, encode("LRANGE", "list", "0", "-1"), 18_000_000)


def million_keys(address: Address) -> None:
    for block in range(100):
        words = [word for number in range(10_000) for word in (f"key:{block * 10_000 + number}", "v")]
        ask(address, "MSET", *words)


def all_keys(address: Address) -> None:
    for _ in range(2):
        read_all(address, encode("KEYS", "*"), 15_000_000)


def flush_all(address: Address) -> None:
    ask(address, "FLUSHALL")


def subscribers_that_never_read(address: Address) -> None:
    with many(address, 500) as clients:
        for client in clients:
            client.sendall(encode("SUBSCRIBE", "news"))
            client.recv(64)
        for _ in range(100):
            ask(address, "PUBLISH", "news", PIECE[:100_000])


def monitors_of_large_commands(address: Address) -> None:
    with many(address, 20) as clients:
        for client in clients:
            client.sendall(encode("MONITOR"))
            client.recv(5)
        for _ in range(3):
            set_large(address, "large", 10)


# Connections


def client_list_of_a_crowd(address: Address) -> None:
    with many(address, 3_000):
        for _ in range(5):
            read_all(address, encode("CLIENT", "LIST"), 3_000 * 100)


def come_and_go(address: Address) -> None:
    for _ in range(10):
        with many(address, 1_000):
            pass
    ask(address, "PING")


def half_frames(address: Address) -> None:
    with many(address, 2_000) as clients:
        for byte in encode("ECHO", "x" * 20):
            for client in clients:
                client.sendall(bytes([byte]))
        for client in clients:
            client.recv(64)


FLOODS: Final = {
    "an argument of 500 MB": Flood(large_argument),
    "four arguments of 300 MB that never end": Flood(large_arguments_that_never_end),
    "four times 150 MB behind a command that blocks": Flood(input_of_blocked_clients),
    "more input than the query buffer may hold": Flood(more_input_than_allowed, small_query_buffers),
    "a pipeline of a million": Flood(million_commands),
    "a million lines": Flood(million_lines),
    "a million commands without replies": Flood(million_replies_off),
    "a transaction of a million, left": Flood(million_queued),
    "a million arguments": Flood(million_arguments),
    "60 replies of 100 MB that nobody reads": Flood(unread_large_replies, large_value),
    "replies of 500 MB": Flood(very_large_reply, very_large_value),
    "LRANGE of a million": Flood(long_ranges, long_list),
    "KEYS of a million": Flood(all_keys, million_keys),
    "FLUSHALL of a million": Flood(flush_all, million_keys),
    "500 subscribers that never read": Flood(subscribers_that_never_read),
    "20 monitors of 10 MB": Flood(monitors_of_large_commands),
    "CLIENT LIST of 3,000": Flood(client_list_of_a_crowd),
    "10,000 clients that come and go": Flood(come_and_go),
    "2,000 clients that send byte by byte": Flood(half_frames),
}
"""All of them by name."""
