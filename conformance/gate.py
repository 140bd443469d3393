"""A way to a server on which something can happen between any two messages of a client.

A gate stands between one client and a server and passes bytes on, both ways. Before it passes on the n-th
message of the client it runs what it was told to; or it hangs up, before the message gets through or when the
server has answered it and the answer has not. A message is what the client sends before it waits for
replies, so that "n = 1, 2, ..." walks through every moment at which others may come in between.

The client knows nothing of it: it is given the gate's URL.
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable
from typing import Final, Literal, Self, TypeAlias

from .targets import Address

__all__ = ["Act", "Gate"]

Act: TypeAlias = Callable[[], None] | Literal["lose-message", "lose-reply"]
"""What happens at a message: something is done before it, or it or its reply is lost, and the connection."""

SIZE: Final = 1 << 20
"""Bytes to read at once; a message has to fit."""


class Gate:
    """A listener on a free port of 127.0.0.1 that connects every client to a server.

    Args:
        address: the server.

    Attributes:
        messages: how many messages came since ``arm``.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = [self._listener]
        self._threads: list[threading.Thread] = []
        self._at, self._act = 0, None  # type: tuple[int, Act | None]
        self._problem: Exception | None = None  # what an act raised, for the thread that leaves the gate
        self.messages = 0
        self._run(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for end in self._ends:
            hang_up(end)
        for thread in self._threads:
            thread.join()
        for end in self._ends:
            end.close()
        if self._problem is not None:
            raise self._problem

    @property
    def url(self) -> str:
        """Where the server seems to be."""
        return self._address.at(*self._listener.getsockname()[:2]).url

    def arm(self, at: int, act: Act) -> None:
        """Lets something happen, once, at the ``at``-th message from now on."""
        self._at, self._act, self.messages = at, act, 0

    def _run(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name="gate", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                self._ends.append(client)
                server = socket.create_connection((self._address.host, self._address.port))
            except OSError:
                return  # the gate is closed
            self._ends.append(server)
            self._run(lambda client=client, server=server: self._pass(client, server))  # type: ignore[misc]

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        """Moves bytes both ways until either end hangs up, or a message or its reply is to be lost."""
        try:
            while True:
                readable, _, _ = select.select((client, server), (), ())
                if server in readable and not move(server, client):
                    return
                if client in readable and not self._message(client, server):
                    return
        except OSError:
            return
        finally:
            hang_up(client)
            hang_up(server)

    def _message(self, client: socket.socket, server: socket.socket) -> bool:
        data = client.recv(SIZE)
        self.messages += 1
        act = self._act if self.messages == self._at else None
        if not data or act == "lose-message":
            return False
        if callable(act):
            try:
                act()
            except Exception as problem:
                self._problem = problem
                return False
        server.sendall(data)
        if act == "lose-reply":
            server.recv(SIZE)
            return False
        return True


def move(source: socket.socket, target: socket.socket) -> bool:
    """Passes on what there is; False when the source has hung up."""
    data = source.recv(SIZE)
    target.sendall(data)
    return bool(data)


def hang_up(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was faster
