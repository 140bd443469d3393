"""A read spins for a moment where the last reply came soon, and sleeps at once otherwise."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from pressure.sync import connection
from pressure.sync.connection import AWAKE, SOON, SpinningReader, first_read

POLL = AWAKE / 10


class World:
    """A socket and a clock: a poll takes a moment, a sleep lasts until the reply comes."""

    def __init__(self, *, is_alone: bool = True) -> None:
        self.now = self.arrival = 0.0
        self.polls = 0
        self.fails = False
        self.reader = SpinningReader(self.receive, self.poll, lambda: self.now, lambda: is_alone)

    def receive(self, buffer: bytearray) -> int:
        self.now = max(self.arrival, self.now)
        if self.fails:
            raise TimeoutError
        return len(buffer)

    def poll(self, seconds: float) -> list[tuple[int, int]]:
        assert seconds == 0
        self.polls += 1
        self.now += POLL
        return [(1, 1)] if self.now >= self.arrival else []

    def polls_until(self, seconds: float) -> int:
        """How often a read polls for a reply that comes so much later."""
        self.arrival, self.polls = self.now + seconds, 0
        assert self.reader.recv_into(bytearray(3)) == 3
        return self.polls


def test_a_read_sleeps_while_replies_come_late() -> None:
    world = World()
    assert [world.polls_until(SOON) for _ in range(3)] == [0, 0, 0]


def test_a_read_spins_after_a_quick_reply() -> None:
    world = World()
    assert world.polls_until(AWAKE * 1.9) == 0
    assert world.polls_until(AWAKE * 0.55) == 6
    assert world.polls_until(0) == 1


def test_a_read_that_spun_in_vain_sleeps() -> None:
    world = World()
    world.polls_until(0)
    assert world.polls_until(1000.0) == pytest.approx(AWAKE / POLL, abs=1)
    assert world.polls_until(0) == 0


def test_a_read_sleeps_after_one_that_failed() -> None:
    world = World()
    world.polls_until(0)
    world.fails = True
    with pytest.raises(TimeoutError):
        world.reader.recv_into(bytearray(1))
    world.fails = False
    assert world.polls_until(0) == 0
    assert world.polls_until(0) == 1


def test_a_read_sleeps_where_somebody_else_waits_for_the_processor() -> None:
    world = World(is_alone=False)
    assert [world.polls_until(0) for _ in range(3)] == [0, 0, 0]


@pytest.mark.parametrize(("threads", "processors", "is_alone"), [(1, 2, True), (2, 2, False), (1, 1, False)])
def test_others_are_threads_and_on_one_processor_the_server(
    threads: int, processors: int, is_alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threading.active_count", lambda: threads)
    monkeypatch.setattr("pressure.sync.connection.PROCESSORS", processors)
    assert connection.is_alone() is is_alone


class PlainObject:
    """A socket within one process, which has no file descriptor."""

    def recv_into(self, buffer: bytearray) -> int:
        return len(buffer)


class SecureSocket(socket.socket):
    """A socket that may hold decrypted bytes, as that of ``ssl``, which is of a class of its own."""

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        return len(buffer)


def test_only_a_socket_whose_poll_tells_everything_is_polled(monkeypatch: pytest.MonkeyPatch) -> None:
    polls = []

    class Watched(SpinningReader):
        def __init__(self, receive: Callable[[bytearray], int], poll: Callable[[int], object]) -> None:
            super().__init__(receive, poll)
            polls.append(poll)

    monkeypatch.setattr("pressure.sync.connection.SpinningReader", Watched)
    ours, theirs = socket.socketpair()
    with ours, theirs, SecureSocket() as secure:
        read, buffer = first_read(ours), bytearray(9)
        [poll] = polls
        assert not poll(0)
        theirs.sendall(b"reply")
        assert poll(0)
        assert (read(buffer), bytes(buffer[:5])) == (5, b"reply")
        for other in (PlainObject(), secure):
            assert first_read(other)(bytearray(4)) == 4
        assert polls == [poll]
