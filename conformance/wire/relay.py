"""A way to a server that passes bytes on, both ways; the clients know nothing of it."""

from __future__ import annotations

import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Final, Self

from miniredis.testing.address import Address

__all__ = ["Relay", "hang_up"]

CONNECT_LIMIT: Final = 5.0
"""Seconds that the server may take to accept a connection."""


class Relay(ABC):
    """A listener on a free port of 127.0.0.1 that connects every client to a server, until its block ends.

    Args:
        server: where to.
    """

    def __init__(self, server: Address) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._over = False
        self._made = 0

    def __enter__(self) -> Self:
        self._run(self._accept)
        return self

    def __exit__(self, *error: object) -> None:
        hang_up(self._listener)
        with self._lock:
            self._over, ends = True, list(self._ends)
        for end in ends:
            hang_up(end)
        for thread in list(self._threads):
            thread.join()
        self._listener.close()

    @property
    def address(self) -> Address:
        """Where the server seems to be."""
        return self._server.at(*self._listener.getsockname()[:2])

    @abstractmethod
    def _pass(self, number: int, client: socket.socket, server: socket.socket) -> None:
        """Passes on what both say, on a thread of its own; connections are numbered from 1 on."""

    def _run(self, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, name="relay", daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # it is over
            try:
                server = socket.create_connection((self._server.host, self._server.port), CONNECT_LIMIT)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            ends = (client, server)
            for end in ends:  # what was sent in two parts is not to wait for the other side
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                if self._over:
                    client.close()
                    server.close()
                    return
                self._ends += ends
                self._made += 1
            self._run(partial(self._connected, self._made, *ends))

    def _connected(self, number: int, *ends: socket.socket) -> None:
        try:
            self._pass(number, *ends)
        finally:
            with self._lock:
                for end in ends:
                    hang_up(end)
                    end.close()
                    self._ends.remove(end)
                self._threads.remove(threading.current_thread())


def hang_up(end: socket.socket) -> None:
    """Ends a connection for whoever reads or writes there."""
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was faster
