"""A disk in memory on which each operation fails in turn: what is answered is kept, or is not answered."""

from __future__ import annotations

import errno
import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import pytest

from conformance.histories import Facts, History, Operation, judged, worst
from conformance.wire import encode
from miniredis import DamagedFileError
from miniredis.persistence import rewriting

from ...cases import exhaustive
from .memory_disk import MemoryDisk, Plan, failing_at, works
from .test_journal import Server

FULL, BROKEN, READ_ONLY = errno.ENOSPC, errno.EIO, errno.EROFS

MISCONF: Final = b"-MISCONF Errors writing to the AOF file: "

TOGETHER: Final = 3
"""How many elements a transaction and a script push."""


class Work:
    """What a client does on a server, each time with the next numbers, and what was answered.

    Args:
        turns: how many times it does each of them.

    Attributes:
        answered: the numbers that are there, in the order of the list ``l``.
        unanswered: the numbers that the server stopped at, which may be there or not, but only together.
        said: what was answered to writes that were refused.
    """

    def __init__(self, turns: int) -> None:
        self._turns = turns
        self.answered: list[int] = []
        self.unanswered: list[int] = []
        self.said: set[bytes] = set()
        self._next = 0

    def do(self, disk: MemoryDisk, **directives: Any) -> None:
        """Works until the server stops, because it has to or because all is done; raises ``OSError`` then or not."""
        server = Server(disk, **directives)
        for turn in range(self._turns):
            for push in (self._push, self._push_in_transaction, self._push_in_script, self._move):
                self._try(server, push)
            if turn < 2:
                server.ask("BGREWRITEAOF")
        disk.plan = works  # at the end, if not before
        for _ in range(3):
            self._try(server, self._push)
        server.journal.close()

    def _try(self, server: Server, push: Any) -> None:
        count = 1 if push in (self._push, self._move) else TOGETHER
        self.unanswered = [*range(self._next, self._next + count)]
        self._next += count
        reply = push(server, *self.unanswered)
        if reply.startswith(b"-"):
            self.said.add(reply)
        else:
            self.answered += self.unanswered
        self.unanswered = []

    @staticmethod
    def _push(server: Server, number: int) -> bytes:
        return server.ask("RPUSH", "l", number)

    @staticmethod
    def _push_in_transaction(server: Server, *numbers: int) -> bytes:
        server.ask("MULTI")
        for number in numbers:
            server.ask("RPUSH", "l", number)
        return server.ask("EXEC")

    @staticmethod
    def _push_in_script(server: Server, *numbers: int) -> bytes:
        script = "for _, each in ipairs(ARGV) do redis.call('INCR', 'n') redis.call('RPUSH', 'l', each) end"
        return server.ask("EVAL", script, 0, *numbers)

    @staticmethod
    def _move(server: Server, number: int) -> bytes:
        """A client that is blocked moves what another pushes."""
        engine, now = server.engine, server.now
        mover = engine.connect(now)
        engine.receive(mover, encode("BLMOVE", "in", "l", "LEFT", "RIGHT", "0"), now)
        engine.settle(now)
        refused = mover.take_output()  # a server that writes nothing blocks nobody either
        reply = server.ask("RPUSH", "in", number)
        moved = mover.take_output()
        assert refused or reply.startswith(b"-") or moved == b"$%d\r\n%d\r\n" % (len(str(number)), number)
        engine.disconnect(mover, now)
        return reply

    def _history(self, final: list[int]) -> History:
        """What a client says that pushes one after the other, and what the list holds at the end."""
        ends = dict.fromkeys(self.answered, True) | dict.fromkeys(self.unanswered, False)
        puts = [
            Operation(
                "client",
                "l",
                "put",
                (b"%d" % each,),
                None,
                each,
                each if is_over else None,
                "ok" if is_over else "open",
            )
            for each, is_over in ends.items()
        ]
        return History(puts, Facts(final={"l": tuple(b"%d" % each for each in final)}))

    def check(self, disk: MemoryDisk, when: str) -> None:
        """Starts a server, which must have all that was answered, and of the rest all or nothing."""
        disk.plan = works
        try:
            values = Server(disk).engine.keyspace.databases[0].values
        except DamagedFileError as error:
            raise AssertionError(f"{when}: {error}") from error
        found, waiting = ([int(each) for each in values.get(key, ())] for key in (b"l", b"in"))  # type: ignore[arg-type,union-attr]
        whole = [*found, *waiting]  # the push before a move may be there without it
        verdict = worst(judged(self._history(whole)).values())
        assert verdict.answer == "ok", f"{when}: {verdict}"
        assert whole in (self.answered, [*self.answered, *self.unanswered]), (
            f"{when}: {self.answered} and {self.unanswered} became {found} and {waiting}"
        )


def turns(codes: tuple[int, ...]) -> int:
    """How long the work is: longer where several errors, in the slow run, are tried."""
    return 3 if len(codes) == 1 else 5


def operations(turns: int, **directives: str) -> int:
    disk = MemoryDisk()
    Work(turns).do(disk, **directives)
    return len(disk.steps)


def faults(policy: str, codes: tuple[int, ...]) -> Iterator[tuple[Plan, str]]:
    """Each operation fails once, or it and all behind it. With several errors also three of them, by lot."""
    count, luck = operations(turns(codes), appendfsync=policy), random.Random(1)  # noqa: S311
    for at in range(1, count + 1):
        for code in codes:
            yield failing_at({at}, code), f"operation {at} fails with {errno.errorcode[code]}"
            yield (
                failing_at(range(at, 2 * count), code),
                f"from {at} on all fail with {errno.errorcode[code]}",
            )
    for _ in range(10 * count * (len(codes) > 1)):
        several = {luck.randrange(1, count) for _ in range(3)}
        yield failing_at(several, BROKEN), f"the operations {several} fail"


ERRORS: Final = [(BROKEN,), pytest.param((BROKEN, FULL, READ_ONLY), marks=pytest.mark.slow)]


@pytest.mark.parametrize("codes", ERRORS)
@pytest.mark.parametrize("power", [exhaustive(False), True], ids=["kill", "power loss"])
def test_with_always_a_server_keeps_what_it_answered_or_stops(power: bool, codes: tuple[int, ...]) -> None:
    for number, (plan, when) in enumerate(faults("always", codes)):
        disk, work = MemoryDisk(), Work(turns(codes))
        disk.plan = plan
        with suppress(OSError):  # the server stops, and answers nothing more
            work.do(disk)
        assert not work.said, f"{when}: it was refused, and the server went on"
        if power:
            disk.lose_power(number)
        work.check(disk, f"{when}, at {disk.steps[-1]}")


@pytest.mark.parametrize("codes", ERRORS)
def test_without_always_a_server_that_was_stopped_has_kept_what_it_answered(
    codes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the disk failed and works again; a server that cannot close its file says so."""
    monkeypatch.setattr(rewriting, "PAUSE", 0.0)
    said: set[bytes] = set()
    for number, (plan, when) in enumerate(faults("no", codes)):
        disk, work = MemoryDisk(), Work(turns(codes))
        disk.plan = plan
        try:
            work.do(disk, appendfsync="no")
        except OSError:
            continue  # it did not start
        assert not disk.open_files, when
        said |= work.said
        disk.lose_power(number)
        work.check(disk, f"{when}, at {disk.steps[-1]}")
    assert said, "no write was refused"
