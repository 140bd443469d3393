"""The thread of ``appendfsync everysec``, on a disk that is slow or fails."""

from __future__ import annotations

import copy
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from miniredis.persistence import append_only, rewriting
from miniredis.persistence.append_only import AppendOnlyFile

from ...waiting import until
from .memory_disk import MemoryDisk, MemoryFile, failing, works
from .test_journal import Server, elements

T = TypeVar("T")


class Written:
    """A file that is synced all the time, instead of once in a second."""

    def __init__(self) -> None:
        self.disk = MemoryDisk()
        file = self.disk.append(Path("/f"))
        assert isinstance(file, MemoryFile)
        self.inode = file.inode
        self.synced = threading.Event()
        self.file = AppendOnlyFile(file, lambda: "everysec", self.synced.set)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    monkeypatch.setattr(append_only, "EVERY", 0.0)
    written = Written()
    yield written
    written.disk.plan = works
    written.file.close()


def test_what_was_written_reaches_the_disk_by_itself(written: Written) -> None:
    written.file.write(b"a")
    until(lambda: written.inode.durable == b"a", "is it on the disk")
    assert written.synced.wait(60)


def test_a_disk_that_works_again_is_found_though_nothing_more_is_written(written: Written) -> None:
    written.disk.plan = failing("sync")
    written.file.write(b"a")
    until(lambda: written.file.error is not None, "has it failed")
    written.disk.plan = works
    until(lambda: written.file.error is None, "is it known that the disk works")
    assert written.file.may_lack_something


def test_a_slow_disk_delays_a_write_for_as_long_as_there_is_patience(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()
    written.disk.plan = lambda _number, name: (over.wait(60), None)[1] if name == "sync" else None
    written.file.write(b"a")
    until(lambda: written.file.is_syncing, "is it being synced")
    written.file.write(b"b")
    assert (written.file.pending, written.inode.data) == (b"b", b"a")
    monkeypatch.setattr(append_only, "LONGEST_DELAY", 0.0)
    written.file.write(b"c")
    assert (written.file.pending, written.inode.data, written.file.delays) == (b"", b"abc", 1)
    over.set()


def test_what_a_failed_sync_has_lost_is_there_after_the_disk_works_again_and_power_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(append_only, "EVERY", 0.0)
    disk = MemoryDisk()
    server = Server(disk, appendfsync="everysec")
    acknowledged: list[int] = []

    def push(number: int) -> None:
        reply = server.ask("RPUSH", "l", number)
        if reply.startswith(b":"):
            acknowledged.append(number)
        else:
            assert reply.startswith(b"-MISCONF")

    push(1)
    until(lambda: disk.is_durable, "is it on the disk")
    disk.plan = failing("sync")
    push(2)
    until(lambda: server.journal._increments.file.error is not None, "has the disk failed")
    push(3)  # the end of this tick tells the engine
    push(4)
    disk.plan = works
    until(lambda: server.journal._increments.file.error is None, "is it known that the disk works")
    push(5)  # the end of this tick writes all anew
    push(6)
    until(lambda: disk.is_durable, "is it on the disk")
    disk.lose_power(1)
    assert elements(disk) == acknowledged == [1, 2, 3, 6]
    server.journal.close()


class HeldTime:
    """The time of the thread that syncs: it passes only when the test says so.

    Attributes:
        now: seconds.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        held = SimpleNamespace(Condition=lambda: HeldCondition(self), Thread=threading.Thread)
        monkeypatch.setattr(append_only, "threading", held)
        monkeypatch.setattr(append_only, "Machine", SimpleNamespace(monotonic=lambda: self.now))

    def advance(self, seconds: float, server: Server) -> None:
        """Returns when the thread has done all that is due."""
        for passed in (0, seconds):  # first it begins to wait for what it was asked for
            self.now += passed
            syncer: Any = server.journal._increments.file._syncer
            if syncer._thread is not None:
                with syncer._change:
                    syncer._change.notify_all()
                until(syncer._change.is_waiting, "the thread waits for a later time")


class HeldCondition(threading.Condition):
    """A condition whose time limits are those of a held time; one thread waits for it."""

    def __init__(self, time: HeldTime) -> None:
        super().__init__()
        self._time = time
        self._awaited: Callable[[], bool] | None = None

    def wait_for(self, predicate: Callable[[], T], timeout: float | None = None) -> T:
        deadline = float("inf") if timeout is None else self._time.now + timeout
        self._awaited = lambda: bool(predicate()) or self._time.now >= deadline
        super().wait_for(self._awaited)
        self._awaited = None
        return predicate()

    def is_waiting(self) -> bool:
        """Whether the thread waits, and for something that is not true yet."""
        with self:
            return self._awaited is not None and not self._awaited()


@pytest.mark.parametrize("policy", ["everysec", "no"])
def test_a_write_that_failed_is_tried_again_each_second_though_no_client_comes(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    time, disk = HeldTime(monkeypatch), MemoryDisk()
    server = Server(disk, appendfsync=policy)
    disk.plan = failing("write")
    assert server.ask("RPUSH", "l", 1) == b":1\r\n"
    for _ in range(3):
        time.advance(1, server)
        assert server.later, "the thread asks for a tick"
        server.tick()
        assert server.engine.conditions.disk_error == "No space left on device"
    disk.plan = works
    time.advance(1, server)
    server.tick()
    assert (server.engine.conditions.disk_error, elements(copy.deepcopy(disk))) == ("", [1])
    time.advance(2, server)
    server.tick()
    time.advance(2, server)
    assert not server.later, "nothing is left to do"
    server.journal.close()


def test_a_base_that_could_not_be_written_is_tried_again_though_no_client_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    time, disk = HeldTime(monkeypatch), MemoryDisk()
    monkeypatch.setattr(rewriting, "Machine", SimpleNamespace(monotonic=lambda: time.now))
    monkeypatch.setattr(rewriting, "PAUSE", 3.0)
    server = Server(disk, appendfsync="no")
    server.ask("RPUSH", "l", 1)
    disk.plan = failing("sync")
    server.ask("BGREWRITEAOF")
    disk.plan = works
    time.advance(1, server)
    while server.later:
        server.tick()
        time.advance(1, server)
    disk.lose_power(1)
    assert elements(disk) == [1]
    assert time.now < 6, "then nothing is left to do"
    server.journal.close()


@pytest.mark.parametrize("losses", [50, pytest.param(500, marks=pytest.mark.slow)])
def test_a_power_loss_takes_nothing_that_is_older_than_two_seconds(
    losses: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any moment, also around rewritings."""
    luck, time = random.Random(losses), HeldTime(monkeypatch)  # noqa: S311  (nothing here is secret)
    disk = MemoryDisk()
    server = Server(disk, appendfsync="everysec")
    answered: list[float] = []
    for number in range(losses):
        assert server.ask("RPUSH", "l", number) == b":%d\r\n" % (number + 1)
        answered.append(time.now)
        if luck.random() < 0.1:
            server.ask("BGREWRITEAOF")
        time.advance(luck.random() * 0.6, server)
        after = copy.deepcopy(disk)
        after.lose_power(number)
        found = elements(after)
        old = sum(each < time.now - 2 for each in answered)
        assert found == [*range(len(found))]
        assert len(found) >= old, f"{old} of {number + 1} elements are old, and {len(found)} are there"
    server.journal.close()
