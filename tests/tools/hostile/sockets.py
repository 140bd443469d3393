"""The same frames over TCP: a server must outlive clients that cut, reset, flood and never say goodbye."""

from __future__ import annotations

import logging
import random
import traceback
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Final

from conformance.wire import Hangup, RawConnection, encode

from .case import Case
from .fuzz import command_names
from .mutation import Frames
from .play import Hostile

__all__ = ["fuzz_sockets"]

CLIENTS: Final = 4
TURN: Final = 500
"""Frames after which the server is asked whether it serves others."""

LEAVES: Final = Case("leaves", (), "closes"), Case("resets", (), "resets")


class Faults(logging.Handler):
    """Keeps what the server reports."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.stories: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps one report."""
        story = record.getMessage()
        if record.exc_info:
            story += "\n" + "".join(traceback.format_exception(*record.exc_info))
        self.stories.append(story)


def fuzz_sockets(frames: int, seed: int, progress: Callable[[int], None] = lambda _: None) -> list[str]:
    """Sends so many frames to a miniredis of its own; returns what went wrong, as text.

    Args:
        frames: how many.
        seed: where the randomness comes from.
        progress: told now and then how many were sent.
    """
    import miniredis  # only those who ask for it need it

    faults, log = Faults(), logging.getLogger("miniredis")
    log.addHandler(faults)
    try:
        with (
            TemporaryDirectory() as folder,  # BGREWRITEAOF is among the frames
            miniredis.start(proto_max_bulk_len="1mb", dir=folder, appendonly=False) as server,
        ):
            supply = Frames(seed, command_names())
            crowd = Crowd((server.host, server.port), random.Random(seed))  # noqa: S311
            for done in range(0, frames, TURN):
                for _ in range(min(TURN, frames - done)):
                    crowd.send(supply.cut(supply.next()))
                crowd.leave()
                faults.stories += unserved(server.host, server.port)
                progress(min(done + TURN, frames))
    finally:
        log.removeHandler(faults)
    return faults.stories


class Crowd:
    """Clients that send by turns, and go as they like."""

    def __init__(self, address: tuple[str, int], chance: random.Random) -> None:
        self._address = address
        self._random = chance
        self._clients: list[Hostile] = []

    def send(self, pieces: list[bytes]) -> None:
        """One of them sends a frame."""
        while len(self._clients) < CLIENTS:
            self._clients.append(Hostile(self._address))
        client = self._random.choice(self._clients)
        for piece in pieces:
            client.send(piece, read=True)
        client.read()
        client.reply.clear()
        if client.hung_up or self._random.random() < 0.02:
            self._clients.remove(client)
            client.leave(self._random.choice(LEAVES))

    def leave(self) -> None:
        """All of them go."""
        for client in self._clients:
            client.leave(self._random.choice(LEAVES))
        self._clients.clear()


def unserved(host: str, port: int) -> list[str]:
    """What newcomers find wrong."""
    try:
        with RawConnection(host, port) as blocked, RawConnection(host, port) as other:
            blocked.send("BLPOP", "newcomers", "0")
            replies = [
                other.command("FLUSHALL"),
                other.command("PING"),
                other.command("RPUSH", "newcomers", "x"),
            ]
            served = blocked.reply()
    except (Hangup, OSError) as error:
        return [f"not served: {error!r}"]
    if (replies, served) != ([b"+OK\r\n", b"+PONG\r\n", b":1\r\n"], encode("newcomers", "x")):
        return [f"not served: {replies!r}, {served!r}"]
    return []
