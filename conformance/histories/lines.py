"""A run of clients that wait in line for the elements of one list, recorded so that the line is known."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Final

from ..wire import Hangup, RawConnection
from .model import History
from .recorder import Notebook, RecordedConnection, Recorder

__all__ = ["waiting_line"]

PATIENCE: Final = 5.0
"""Seconds until those who are to be served have to be."""

SHORT: Final = "0.02"
"""Seconds for which one waits for nothing."""


def waiting_line(
    connect: Callable[[], RawConnection], key: str, until_blocked: Callable[[int], None], *,
    count: int = 6, seed: int = 0,
) -> History:  # fmt: skip
    """Clients that wait with BLPOP or BRPOP, of whom one hangs up and one has little time, and pushes.

    Args:
        connect: makes a raw connection.
        key: the list, which is empty.
        until_blocked: waits until so many clients are blocked.
        count: how many wait until they are served.
        seed: of who waits how, and of the pushes.
    """
    luck, notebook = random.Random(seed), Notebook()  # noqa: S311  (nothing here is secret)
    with ThreadPoolExecutor(count + 1) as pool:
        waiting, hung_up = [], luck.randrange(count)
        for place in range(count + 1):
            connection, recorder = connect(), Recorder(f"w{place}", notebook)
            name = luck.choice(("BLPOP", "BRPOP"))
            waiting.append(pool.submit(_wait, RecordedConnection(connection, recorder), name, key))
            until_blocked(place + (place <= hung_up))
            recorder.saw(key, "blocked")
            if place == hung_up:
                connection.socket.shutdown(socket.SHUT_RDWR)
                until_blocked(place)
                recorder.saw(key, "gone")
        RecordedConnection(connect(), Recorder("late", notebook)).command("BLPOP", key, SHORT)
        _push(RecordedConnection(connect(), Recorder("pusher", notebook)), key, count, luck)
        done, _ = wait(waiting, PATIENCE)
        for each in done:
            each.result()
        return History(notebook.operations)  # who is not served gives up by itself


def _wait(connection: RecordedConnection, name: str, key: str) -> None:
    with suppress(Hangup, OSError):
        connection.command(name, key, "0")


def _push(connection: RecordedConnection, key: str, count: int, luck: random.Random) -> None:
    """Pushes as many values as there are waiters, some of them together."""
    at = 0
    while at < count:
        most = min(luck.choice((1, 1, 3)), count - at)
        connection.command(luck.choice(("LPUSH", "RPUSH")), key, *(f"v{at + place}" for place in range(most)))
        at += most
