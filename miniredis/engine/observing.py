"""What is told of commands after they ran: statistics, the slow log, and the lines of MONITOR."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from .config import Config
    from .errors import CommandError
    from .instant import Instant
    from .registry import Command
    from .session import Session

__all__ = ["Calls", "SlowEntry", "SlowLog", "Statistics", "monitor_line"]


@dataclass(slots=True)
class Calls:
    """How often one command was called, and how it went.

    Attributes:
        count: how often it ran.
        seconds: how long in all.
        rejected: how often the gate refused it.
        failed: how often it answered with an error.
    """

    count: int = 0
    seconds: float = 0.0
    rejected: int = 0
    failed: int = 0


MOST_ARGUMENTS: Final = 32
LONGEST_ARGUMENT: Final = 128


class SlowEntry(NamedTuple):
    """One command in the slow log.

    Attributes:
        number: rising, never used again.
        seconds: when it ran, since the epoch.
        microseconds: how long it took.
        arguments: as far as they are kept.
        address: of the client.
        name: of the client.
    """

    number: int
    seconds: int
    microseconds: int
    arguments: list[bytes]
    address: bytes
    name: bytes


@dataclass(slots=True)
class SlowLog:
    """The commands that took longest, newest first.

    Attributes:
        entries: of so many commands.
        most: how many are kept.
        next_number: of an entry.
    """

    entries: deque[SlowEntry] = field(default_factory=deque)
    most: int = 0
    next_number: int = 0

    def add(self, session: Session, args: list[bytes], microseconds: int) -> None:
        """Adds a command, and forgets the oldest beyond so many."""
        seconds = session.engine.now.wall // 1_000_000
        kept = shortened(args)
        entry = SlowEntry(self.next_number, seconds, microseconds, kept, session.address, session.name)
        self.next_number += 1
        self.entries.appendleft(entry)
        while len(self.entries) > self.most:
            self.entries.pop()


def shortened(args: list[bytes]) -> list[bytes]:
    """Arguments as the slow log keeps them: not too many, and none too long."""
    if len(args) <= MOST_ARGUMENTS:
        return [cut(argument) for argument in args]
    left = len(args) - MOST_ARGUMENTS + 1
    return [*map(cut, islice(args, MOST_ARGUMENTS - 1)), b"... (%d more arguments)" % left]


def cut(argument: bytes) -> bytes:
    if len(argument) <= LONGEST_ARGUMENT:
        return bytes(argument)
    return b"%b... (%d more bytes)" % (argument[:LONGEST_ARGUMENT], len(argument) - LONGEST_ARGUMENT)


class Statistics(dict["Command", Calls]):
    """What is counted since the start, or since CONFIG RESETSTAT: the calls of every command, and more.

    Args:
        stopwatch: tells seconds since some fixed point.

    Attributes:
        lap: what the stopwatch told when the last command was over: the next one begins then.
        slow: seconds from which on a command is slow.
        slow_log: those that were.
        errors: by their codes, how often each was told.
        connections: how many clients came.
        rejected_connections: how many more were turned away.
        input_bytes: received.
        output_bytes: sent.
        replication_input_bytes: of those received, snapshots and streams of a master.
        replication_output_bytes: of those sent, snapshots and the stream for replicas.
        memory_peak: the most memory that INFO has seen, in bytes.
    """

    def __init__(self, stopwatch: Callable[[], float]) -> None:
        super().__init__()
        self.stopwatch = stopwatch
        self.lap = 0.0
        self.slow = math.inf
        self.slow_log = SlowLog()
        self.errors: Counter[bytes] = Counter()
        self.memory_peak = 0
        self.reset()

    def __missing__(self, command: Command) -> Calls:
        calls = self[command] = Calls()
        return calls

    def configure(self, config: Config) -> None:
        """Takes what the directives say."""
        threshold = config.integer("slowlog-log-slower-than")  # microseconds
        self.slow = math.inf if threshold < 0 else threshold / 1_000_000
        self.slow_log.most = config.integer("slowlog-max-len")

    def reset(self) -> None:
        """CONFIG RESETSTAT: counts from zero again."""
        self.clear()
        self.errors.clear()
        self.connections = self.rejected_connections = 0
        self.input_bytes = self.output_bytes = 0
        self.replication_input_bytes = self.replication_output_bytes = 0

    def count_replication_input(self, size: int) -> None:
        """A master has sent so many bytes of its data."""
        self.input_bytes += size
        self.replication_input_bytes += size

    def start_lap(self) -> None:
        """A command is about to begin, after a time in which there was none."""
        self.lap = self.stopwatch()

    @property
    def total(self) -> int:
        """How many commands ran."""
        return sum(calls.count for calls in self.values())

    def count_error(self, error: CommandError) -> CommandError:
        """Some client is told an error; returns it."""
        self.errors[error.message.split(b" ", 1)[0]] += 1
        return error.with_traceback(None)  # its frames would hold what the command worked on

    def failed(self, command: Command, error: CommandError) -> CommandError:
        """A command ran, and its reply is an error; returns it."""
        self[command].failed += 1
        return self.count_error(error)

    def rejected(self, command: Command | None, error: CommandError) -> CommandError:
        """A command was not run; returns the error that says why."""
        if command is not None:
            self[command].rejected += 1
        return self.count_error(error)

    def log_slow(self, session: Session, command: Command, args: list[bytes], seconds: float) -> None:
        """Keeps a slow command in mind, unless it hides what it is told."""
        if "skip_slowlog" not in command.flags:
            self.slow_log.add(session.client, args, int(seconds * 1_000_000))


SPECIAL: Final = re.compile(rb"[^ !#-\[\]-~]")
NAMED: Final = {
    b"\\": rb"\\", b'"': rb"\"", b"\n": rb"\n", b"\r": rb"\r", b"\t": rb"\t", b"\a": rb"\a", b"\b": rb"\b",
}  # fmt: skip


def quoted(argument: bytes) -> bytes:
    """An argument between quotes, as redis-cli shows it."""

    def escaped(match: re.Match[bytes]) -> bytes:
        return NAMED.get(match[0]) or b"\\x%02x" % ord(match[0])

    return b'"%b"' % SPECIAL.sub(escaped, argument)


def monitor_line(now: Instant, session: Session, args: Iterable[bytes]) -> bytes:
    """A command as MONITOR shows it."""
    seconds, microseconds = divmod(now.wall, 1_000_000)
    source = b"unix:" + session.address.removesuffix(b":0") if session.is_unix else session.address
    words = b" ".join(map(quoted, args))
    return b"+%d.%06d [%d %b] %b\r\n" % (seconds, microseconds, session.db.index, source, words)
