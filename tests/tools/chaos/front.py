"""A way to a server on which connections can hang, and that can be pointed at another server.

To clients it is the server, and its address stays the same when another server takes over.
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Collection
from typing import Final, Self

from conformance.targets import Address

__all__ = ["Front"]

TICK: Final = 0.05
"""Seconds between two looks at what has changed."""

SIZE: Final = 1 << 16
"""Bytes to read at once."""


class Front:
    """A listener on a free port of 127.0.0.1 that passes bytes on between clients and a server.

    Args:
        address: the server.

    Attributes:
        address: the server to which new connections go.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._other: dict[socket.socket, socket.socket] = {}
        self._blocked: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="front", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where the server seems to be."""
        return self.address.at(*self._listener.getsockname()[:2]).url

    def block(self, ports: Collection[int] | None = None) -> None:
        """Has connections hang: nothing is passed on any more, and neither end is told.

        Args:
            ports: those that the server sees as coming from these ports; None for all that there are.
        """
        with self._lock:
            for end, other in self._other.items():
                if ports is None or _port(end) in ports:
                    self._blocked |= {end, other}

    def hang_up(self) -> None:
        """Closes the connections that hang."""
        with self._lock:
            for end in list(self._blocked):
                self._close(end)

    def _work(self) -> None:
        while not self._over.is_set():
            with self._lock:
                ends = [self._listener, *(end for end in self._other if end not in self._blocked)]
            try:
                readable, _, _ = select.select(ends, (), (), TICK)
            except (OSError, ValueError):
                continue  # one was closed meanwhile
            with self._lock:
                for end in readable:
                    if end is self._listener:
                        self._accept()
                    elif end in self._other and end not in self._blocked:
                        self._move(end)
        with self._lock:
            for end in list(self._other):
                self._close(end)
        self._listener.close()

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        try:
            server = socket.create_connection((self.address.host, self.address.port), timeout=1)
        except OSError:
            client.close()  # as a server that is not there hangs up
            return
        for end in (client, server):
            end.settimeout(1)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._other |= {client: server, server: client}

    def _move(self, end: socket.socket) -> None:
        try:
            data = end.recv(SIZE)
            self._other[end].sendall(data)
        except OSError:
            data = b""
        if not data:
            self._close(end)

    def _close(self, end: socket.socket) -> None:
        other = self._other.pop(end, None)
        for each in (end, other):
            if each is not None:
                self._other.pop(each, None)
                self._blocked.discard(each)
                each.close()


def _port(end: socket.socket) -> int:
    try:
        return int(end.getsockname()[1])
    except OSError:
        return 0
