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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import hiredis

from miniredis.testing.address import Address

from .connections import ReplyEnd
from .relay import Relay

__all__ = ["Act", "Gate", "Instead", "full_memory", "loading", "no_scripts"]


@dataclass(frozen=True, slots=True)
class Instead:
    """What a gate answers by itself; the message does not get through then.

    Attributes:
        answer: the reply to a message, or None to let it through.
    """

    answer: Callable[[bytes], bytes | None]


def requests_in(message: bytes) -> list[list[bytes]]:
    """The requests of a message, each as its words."""
    reader = hiredis.Reader()
    reader.feed(message)
    found = []
    while isinstance(words := reader.gets(), list):
        found.append(words)
    return found


ABORTED: Final = b"-EXECABORT Transaction discarded because of previous errors.\r\n"


def loading(message: bytes) -> bytes | None:
    """What a server answers that is loading its data, in transactions, too; None if it would not mind."""
    answers, queued = [], False
    for name, *_ in requests_in(message):
        if name in (b"MULTI", b"WATCH", b"UNWATCH", b"CLIENT"):
            queued = queued or name == b"MULTI"
            answers.append(b"+OK\r\n")
        elif name == b"EXEC" and queued:
            queued = False
            answers.append(ABORTED)
        else:
            answers.append(b"-LOADING Redis is loading the dataset in memory\r\n")
    return b"".join(answers) if any(answer.startswith(b"-") for answer in answers) else None


def full_memory(message: bytes) -> bytes | None:
    """What a server answers to a transaction whose memory is full; None if there is more in the message."""
    names = [words[0] for words in requests_in(message)]
    begin = names.index(b"MULTI") if b"MULTI" in names else len(names)
    if begin == len(names) or names[-1] != b"EXEC" or set(names[:begin]) - {b"WATCH", b"UNWATCH"}:
        return None
    refused = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n" * (len(names) - begin - 2)
    return b"+OK\r\n" * (begin + 1) + refused + ABORTED


def no_scripts(message: bytes) -> bytes | None:
    """What a server answers to a script that the client may not run; None to anything else."""
    (name, *_), *others = requests_in(message)
    if others or name not in (b"EVAL", b"EVALSHA"):
        return None
    return b"-NOPERM this user has no permissions to run the '%s' command\r\n" % name.lower()


Loss: TypeAlias = Literal["lose-message", "cut-message", "lose-reply", "cut-reply"]

Act: TypeAlias = Callable[[], None] | Loss | Instead
"""What happens at a message: something is done before it, it is answered by another, or it or its reply is
lost, whole or from its middle on, and the connection."""

SIZE: Final = 1 << 20
"""Bytes to read at once."""


class Gate(Relay):
    """A way to a server on which things happen at messages that clients send.

    Attributes:
        messages: how many messages came since ``arm``.
    """

    def __init__(self, server: Address) -> None:
        super().__init__(server)
        self._acts: dict[int, Act] = {}
        self._problem: Exception | None = None  # what an act raised, for the thread that leaves the gate
        self.messages = 0

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if self._problem is not None:
            raise self._problem

    @property
    def url(self) -> str:
        """Where the server seems to be."""
        return self.address.url

    def arm(self, at: int, *acts: Act) -> None:
        """Lets something happen, once, at the ``at``-th message from now on, and at those after it."""
        self._acts, self.messages = dict(enumerate(acts, at)), 0

    def disarm(self) -> int:
        """Lets nothing happen any more; how many messages came since ``arm``."""
        self._acts = {}
        return self.messages

    def _pass(self, _number: int, client: socket.socket, server: socket.socket) -> None:
        """Moves bytes both ways until either end hangs up, or a message or its reply is to be lost."""
        with suppress(OSError):
            while True:
                readable, _, _ = select.select((client, server), (), ())
                if server in readable and not move(server, client):
                    return
                if client in readable and not self._message(client, server):
                    return

    def _message(self, client: socket.socket, server: socket.socket) -> bool:
        data = whole_message(client)
        if not data:
            return False
        self.messages += 1
        act = self._acts.get(self.messages)
        if act == "lose-message":
            return False
        if act == "cut-message":
            server.sendall(data[: len(data) // 2])
            return False
        if isinstance(act, Instead) and (answer := act.answer(data)) is not None:
            client.sendall(answer)
            return True
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
        if act == "cut-reply":
            reply = server.recv(SIZE)
            client.sendall(reply[: len(reply) // 2])
            return False
        return True


def whole_message(client: socket.socket) -> bytes:
    """All that a client sends at once, whose last request is whole; nothing where it hung up."""
    data, at, end = bytearray(), 0, ReplyEnd()
    while True:
        piece = client.recv(SIZE)
        if not piece:
            return b""
        data += piece
        while (found := end.find(data)) is not None:  # a request has the form of a reply
            at, end = found, ReplyEnd(found)
        if at == len(data):
            return bytes(data)


def move(source: socket.socket, target: socket.socket) -> bool:
    """Passes on what there is; False when the source has hung up."""
    data = source.recv(SIZE)
    target.sendall(data)
    return bool(data)
