"""A read looks for a reply for a moment where the last one came soon, and sleeps otherwise."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from pressure import connection
from pressure.connection import AWAKE, SOON, Lookout, Paced

LOOK = AWAKE / 10


class World:
    """A socket and a clock: a look takes a moment, a sleep lasts until the reply comes."""

    def __init__(self, *, may_look: bool = True) -> None:
        self.now = self.arrival = 0.0
        self.looks = 0
        self.fails = False
        self.lookout = Lookout(self.receive, self.look, lambda: self.now, lambda: may_look)

    def receive(self, buffer: bytearray) -> int:
        self.now = max(self.arrival, self.now)
        if self.fails:
            raise TimeoutError
        return len(buffer)

    def look(self, seconds: float) -> list[tuple[int, int]]:
        assert seconds == 0
        self.looks += 1
        self.now += LOOK
        return [(1, 1)] if self.now >= self.arrival else []

    def looks_until(self, seconds: float) -> int:
        """How often a read looks for a reply that comes so much later."""
        self.arrival, self.looks = self.now + seconds, 0
        assert self.lookout.recv_into(bytearray(3)) == 3
        return self.looks


def test_a_read_sleeps_while_replies_come_late() -> None:
    world = World()
    assert [world.looks_until(SOON) for _ in range(3)] == [0, 0, 0]


def test_a_read_looks_after_a_quick_reply() -> None:
    world = World()
    assert world.looks_until(AWAKE * 1.9) == 0
    assert world.looks_until(AWAKE * 0.55) == 6
    assert world.looks_until(0) == 1


def test_a_read_that_looked_in_vain_for_a_moment_sleeps() -> None:
    world = World()
    world.looks_until(0)
    assert world.looks_until(1000.0) == pytest.approx(AWAKE / LOOK, abs=1)
    assert world.looks_until(0) == 0


def test_a_read_sleeps_after_one_that_failed() -> None:
    world = World()
    world.looks_until(0)
    world.fails = True
    with pytest.raises(TimeoutError):
        world.lookout.recv_into(bytearray(1))
    world.fails = False
    assert world.looks_until(0) == 0
    assert world.looks_until(0) == 1


def test_a_read_sleeps_where_somebody_else_waits_for_the_processor() -> None:
    world = World(may_look=False)
    assert [world.looks_until(0) for _ in range(3)] == [0, 0, 0]


@pytest.mark.parametrize(("threads", "processors", "may_look"), [(1, 2, True), (2, 2, False), (1, 1, False)])
def test_others_are_threads_and_on_one_processor_the_server(
    threads: int, processors: int, may_look: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threading.active_count", lambda: threads)
    monkeypatch.setattr("pressure.connection.PROCESSORS", processors)
    assert connection.nobody_waits() is may_look


class PlainObject:
    """A socket within one process, which has no file descriptor."""

    def recv_into(self, buffer: bytearray) -> int:
        return len(buffer)


class SecureSocket(socket.socket):
    """A socket that may hold deciphered bytes, as that of ``ssl``, which is of a class of its own."""

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        return len(buffer)


def test_only_a_socket_that_a_poll_tells_everything_of_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []

    class Watched(Lookout):
        def __init__(self, receive: Callable[[bytearray], int], look: Callable[[int], object]) -> None:
            super().__init__(receive, look)
            looked_at.append(look)

    monkeypatch.setattr("pressure.connection.Lookout", Watched)
    ours, theirs = socket.socketpair()
    with ours, theirs, SecureSocket() as secure:
        paced, buffer = Paced(ours), bytearray(9)
        [look] = looked_at
        assert not look(0)
        theirs.sendall(b"reply")
        assert look(0)
        assert (paced.recv_into(buffer), bytes(buffer[:5])) == (5, b"reply")
        for other in (PlainObject(), secure):
            assert Paced(other).recv_into(bytearray(4)) == 4
        assert looked_at == [look]
