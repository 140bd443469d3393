"""What is recorded about commands that ran: statistics, the slow log, and the lines of MONITOR."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from .histograms import SHORT, Histogram
from .latency import LatencyMonitor

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..config import Config
    from ..declarations.registry import Command
    from ..instant import Instant
    from ..protocol.errors import CommandError

__all__ = ["Calls", "SlowEntry", "SlowLog", "Statistics", "monitor_line"]


@dataclass(slots=True)
class Calls(Histogram):
    """Counts of one command, with how long the calls took.

    Attributes:
        untimed: how often it ran without being counted among those: it waits or has timed out, or
            ``latency-tracking`` was off.
        seconds: how long it ran in total.
        rejected: how often the gate refused it.
        failed: how often it replied with an error.
    """

    untimed: int = 0
    seconds: float = 0.0
    rejected: int = 0
    failed: int = 0

    @property
    def count(self) -> int:
        """How often it ran."""
        return self.untimed + self.timed()


MOST_ARGUMENTS: Final = 32
LONGEST_ARGUMENT: Final = 128


class SlowEntry(NamedTuple):
    """One command in the slow log.

    Attributes:
        number: rising, never used again.
        seconds: when it ran, since the epoch.
        microseconds: how long it took.
        arguments: the request, shortened.
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
    """The latest slow commands, newest first.

    Attributes:
        entries: the commands.
        most: how many entries are kept.
        next_number: the number of the next entry.
    """

    entries: deque[SlowEntry] = field(default_factory=deque)
    most: int = 0
    next_number: int = 0

    def add(self, session: Session, args: list[bytes], microseconds: int) -> None:
        """Adds a command, and drops the oldest entries beyond ``most``."""
        seconds = session.engine.now.wall // 1_000_000
        kept = shortened(args)
        entry = SlowEntry(self.next_number, seconds, microseconds, kept, session.address, session.name)
        self.next_number += 1
        self.entries.appendleft(entry)
        while len(self.entries) > self.most:
            self.entries.pop()


def shortened(args: list[bytes]) -> list[bytes]:
    """Arguments as the slow log keeps them: limited in number and length."""
    if len(args) <= MOST_ARGUMENTS:
        return [cut(argument) for argument in args]
    left = len(args) - MOST_ARGUMENTS + 1
    return [*map(cut, islice(args, MOST_ARGUMENTS - 1)), b"... (%d more arguments)" % left]


def cut(argument: bytes) -> bytes:
    if len(argument) <= LONGEST_ARGUMENT:
        return bytes(argument)
    return b"%b... (%d more bytes)" % (argument[:LONGEST_ARGUMENT], len(argument) - LONGEST_ARGUMENT)


QUICK: Final = 1e-6
BRIEF: Final = 2e-6


class Statistics(dict["Command", Calls]):
    """Counters since the start, or since CONFIG RESETSTAT: the calls of every command, and more.

    Args:
        stopwatch: returns seconds since some fixed point.

    Attributes:
        stopwatch: the same, and ahead by the seconds that DEBUG SLEEP took.
        lap: the stopwatch when the last command ended, which is when the next one begins.
        quick: a call that took fewer seconds, and did not have to wait, is counted as ``Histogram.quick``.
        brief: the same for ``Histogram.brief``.
        short: the same for ``Histogram.short``.
        slow: seconds at which a command is slow for the slow log or the latency monitor.
        slow_log: the slow commands.
        latency: the spikes of commands.
        tracks: whether the times of single calls are counted.
        errors: error replies, by their code.
        connections: clients that were accepted.
        rejected_connections: clients that were refused.
        input_bytes: received.
        output_bytes: sent.
        replication_input_bytes: of those received, snapshots and streams of a master.
        replication_output_bytes: of those sent, snapshots and the stream for replicas.
        memory_peak: the most memory that INFO has seen, in bytes.
    """

    # Each command uses four attributes; without slots, those of a subclass of dict take four times as long.
    __slots__ = (
        "_slept",
        "_slow_log_from",
        "_stopwatch",
        "brief",
        "connections",
        "errors",
        "input_bytes",
        "lap",
        "latency",
        "memory_peak",
        "output_bytes",
        "quick",
        "rejected_connections",
        "replication_input_bytes",
        "replication_output_bytes",
        "short",
        "slow",
        "slow_log",
        "stopwatch",
        "tracks",
    )  # fmt: skip

    def __init__(self, stopwatch: Callable[[], float]) -> None:
        super().__init__()
        self._slept = 0.0  # by DEBUG SLEEP
        self.use(stopwatch)
        self.lap = 0.0
        self.slow = math.inf
        self.tracks = True
        self.quick, self.brief = QUICK, BRIEF
        self.short = (SHORT - 1) / 1e6
        self.slow_log = SlowLog()
        self.latency = LatencyMonitor()
        self._slow_log_from = math.inf
        self.errors: Counter[bytes] = Counter()
        self.memory_peak = 0
        self.reset()

    def __missing__(self, command: Command) -> Calls:
        calls = self[command] = Calls()
        return calls

    def use(self, stopwatch: Callable[[], float]) -> None:
        """Measures commands by this stopwatch."""
        self._stopwatch = self.stopwatch = stopwatch

    def sleep(self, seconds: float) -> None:
        """Counts DEBUG SLEEP as time of the command, though the server sleeps only after it."""
        self._slept += seconds
        self.stopwatch = self._ahead

    def _ahead(self) -> float:
        return self._stopwatch() + self._slept

    def configure(self, config: Config) -> None:
        """Applies the directives."""
        threshold = config.integer("slowlog-log-slower-than")  # microseconds
        self._slow_log_from = math.inf if threshold < 0 else threshold / 1_000_000
        self.latency.configure(config)
        self.tracks = config["latency-tracking"] == "yes"
        self.slow = min(self._slow_log_from, self.latency.threshold / 1000 or math.inf)
        longest = self.slow if self.tracks else 0
        self.quick, self.brief = min(QUICK, longest), min(BRIEF, longest)
        self.short = min((SHORT - 1) / 1e6, longest)
        self.slow_log.most = config.integer("slowlog-max-len")

    def reset(self) -> None:
        """CONFIG RESETSTAT: resets the counters."""
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
        """Starts timing a command after an idle time."""
        self.lap = self.stopwatch()

    @property
    def total(self) -> int:
        """The number of commands that ran."""
        return sum(calls.count for calls in self.values())

    def count_error(self, error: CommandError) -> CommandError:
        """Counts an error that a client gets; returns it."""
        self.errors[error.message.split(b" ", 1)[0]] += 1
        error.__context__ = None  # its frames, and those of the error, would keep the command's values alive
        return error.with_traceback(None)

    def failed(self, command: Command, error: CommandError) -> CommandError:
        """Counts a command that replied with an error; returns the error."""
        self[command].failed += 1
        return self.count_error(error)

    def rejected(self, command: Command | None, error: CommandError) -> CommandError:
        """Counts a command that the gate refused; returns the error."""
        if command is not None:
            self[command].rejected += 1
        return self.count_error(error)

    def count_call(
        self, calls: Calls, session: Session, command: Command, args: list[bytes], seconds: float
    ) -> None:
        """Counts a call that was not quick; one that waits is timed, and logged, when it is served."""
        if session.waiter is not None:
            calls.untimed += 1
            return
        if self.tracks:
            calls.add(seconds)
        else:
            calls.untimed += 1
        if seconds >= self.slow:
            self.log_slow(session, command, args, seconds)

    def log_slow(self, session: Session, command: Command, args: list[bytes], seconds: float) -> None:
        """Tells the latency monitor of a slow command, and the slow log unless that excludes the command."""
        self.latency.take(command, session.engine.now.wall // 1_000_000, seconds)
        if seconds >= self._slow_log_from and "skip_slowlog" not in command.flags:
            self.slow_log.add(session.client, args, int(seconds * 1_000_000))


SPECIAL: Final = re.compile(rb"[^ !#-\[\]-~]")
NAMED: Final = {
    b"\\": rb"\\", b'"': rb"\"", b"\n": rb"\n", b"\r": rb"\r", b"\t": rb"\t", b"\a": rb"\a", b"\b": rb"\b",
}  # fmt: skip


def quoted(argument: bytes) -> bytes:
    """An argument in quotes, as redis-cli shows it."""

    def escaped(match: re.Match[bytes]) -> bytes:
        return NAMED.get(match[0]) or b"\\x%02x" % ord(match[0])

    return b'"%b"' % SPECIAL.sub(escaped, argument)


def monitor_line(now: Instant, session: Session, args: Iterable[bytes]) -> bytes:
    """A command as MONITOR shows it."""
    seconds, microseconds = divmod(now.wall, 1_000_000)
    source = b"unix:" + session.address.removesuffix(b":0") if session.is_unix else session.address
    words = b" ".join(map(quoted, args))
    return b"+%d.%06d [%d %b] %b\r\n" % (seconds, microseconds, session.db.index, source, words)
