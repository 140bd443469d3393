"""How long it takes until a blocked client has what another one pushes.

All clients are sockets of this process, which waits for one reply at a time; so nothing but the server, and
the system's way there and back, is between the two ends of a measurement.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from statistics import median
from time import perf_counter
from typing import Final

from ..wire import PATIENCE, encode
from .crowds import allow_files, blocked, idle
from .servers import RunningServer
from .timing import percentile, receive_exactly, samples
from .turns import Pair
from .workbench import Measure, Workbench, by_turns

__all__ = ["behind_a_queue", "beside_a_crowd", "round_trip"]

FEW: Final = 10
"""Blocked clients of the side that a crowd is compared with."""

PUSHED: Final = b":1\r\n"


def round_trip(percent: float) -> Measure:
    """A percentile of there and back again, in microseconds.

    Two clients are blocked in BLPOP on a key each. Who gets an element pushes one for the other and blocks
    again, with one write. There and back are two hand-overs.
    """

    def side(bench: Workbench, name: str) -> float:
        with rally(bench.server(name)) as once:
            return percentile(samples(once, bench.effort.seconds), percent) * 1e6

    return by_turns(side)


@contextmanager
def rally(server: RunningServer) -> Generator[Callable[[], float]]:
    """Two clients; a call lets them pass an element there and back, and tells how long that took."""
    with open_socket(server) as here, open_socket(server) as there:
        serve, back = (encode("LPUSH", to, "x") + encode("BLPOP", at, "0") for to, at in ("ba", "ab"))
        arrived = len(PUSHED + popped("a"))
        there.sendall(back)
        receive_exactly(there, len(PUSHED))
        here.sendall(encode("BLPOP", "a", "0"))
        receive_exactly(here, len(popped("a")))
        there_first = [len(popped("b"))]  # its push was answered above

        def once() -> float:
            begin = perf_counter()
            here.sendall(serve)
            receive_exactly(there, there_first.pop() if there_first else arrived)
            there.sendall(back)
            receive_exactly(here, arrived)
            return perf_counter() - begin

        yield once


def beside_a_crowd(crowd: int) -> Measure:
    """Microseconds there and back while others are blocked on keys of their own; and while only a few are."""

    def measure(bench: Workbench) -> Generator[Pair]:
        many = bench.effort.scaled(crowd)
        allow_files(many)
        with ExitStack() as stack:
            rallies = []
            for count in (many, FEW):
                server = stack.enter_context(bench.fresh("miniredis"))
                stack.enter_context(blocked(server, count, "other:{}".format))
                rallies.append(stack.enter_context(rally(server)))
            for _ in bench.turns():
                yield Pair(*(median(samples(once, bench.effort.seconds)) * 1e6 for once in rallies))

    return measure


def behind_a_queue(crowd: int) -> Measure:
    """Microseconds from a push until the first of those blocked on its key has it, by how many they are.

    As many clients take turns on either side, since a connection that rested for long is slow by itself; they
    differ in how many of them are blocked at a time.
    """

    def measure(bench: Workbench) -> Generator[Pair]:
        many = bench.effort.scaled(crowd)
        allow_files(many)
        with ExitStack() as stack:
            services = []
            for count in (many, FEW):
                server = stack.enter_context(bench.fresh("miniredis"))
                clients = [*stack.enter_context(blocked(server, count, lambda _: "queue"))]
                clients += stack.enter_context(idle(server, many - count)) if many > count else []
                services.append(service(stack.enter_context(open_socket(server)), clients, count))
            for _ in bench.turns():
                yield Pair(*(median(samples(once, bench.effort.seconds)) * 1e6 for once in services))

    return measure


def service(producer: socket.socket, clients: list[socket.socket], waiting: int) -> Callable[[], float]:
    """Serves whoever has waited longest, then has the next one wait; clients take turns in their order."""
    push, wait, element = encode("LPUSH", "queue", "x"), encode("BLPOP", "queue", "0"), popped("queue")
    served = 0

    def once() -> float:
        nonlocal served
        first, last = (clients[number % len(clients)] for number in (served, served + waiting))
        served += 1
        begin = perf_counter()
        producer.sendall(push)
        receive_exactly(first, len(element))
        seconds = perf_counter() - begin
        receive_exactly(producer, len(PUSHED))
        last.sendall(wait)
        return seconds

    return once


def popped(key: str) -> bytes:
    """BLPOP's reply to whoever gets x."""
    return b"*2\r\n$%d\r\n%b\r\n$1\r\nx\r\n" % (len(key), key.encode())


def open_socket(server: RunningServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
