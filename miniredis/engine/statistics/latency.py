"""The latency monitor: spikes of commands that took at least ``latency-monitor-threshold`` milliseconds.

The events are those of Redis that can happen here: ``command``, and ``fast-command`` for commands that should
never be slow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from ..config import Config
    from ..declarations.registry import Command

__all__ = ["LatencyMonitor", "Spikes"]

KEPT: Final = 160
"""How many spikes of an event are kept."""

COLUMNS: Final = 80
ROWS: Final = 4
MARKS: Final = "_o#"
FILL: Final = "|"
"""Of a graph: its width and height, the marks for the height within a row, and what stands below a mark."""


class Spike(NamedTuple):
    """The worst latency of a second.

    Attributes:
        seconds: when, since the epoch.
        milliseconds: how long it took.
    """

    seconds: int
    milliseconds: int


@dataclass(slots=True)
class Spikes:
    """The latest spikes of one event, oldest first.

    Attributes:
        kept: the spikes.
        worst: the longest of all times, in milliseconds.
    """

    kept: deque[Spike] = field(default_factory=lambda: deque(maxlen=KEPT))
    worst: int = 0

    def add(self, spike: Spike) -> None:
        """Adds a spike; of one second, only the worst is kept."""
        self.worst = max(self.worst, spike.milliseconds)
        if self.kept and self.kept[-1].seconds == spike.seconds:
            self.kept[-1] = max(self.kept[-1], spike)
        else:
            self.kept.append(spike)

    def summary(self, now: int) -> str:
        """How many, how long and how often, as LATENCY DOCTOR says it."""
        times = [spike.milliseconds for spike in self.kept]
        average = sum(times) // len(times)
        deviation = sum(abs(average - each) for each in times) // len(times)
        period = max(now - self.kept[0].seconds, 1) / len(times)
        return (
            f"{len(times)} latency spikes (average {average}ms, mean deviation {deviation}ms, period "
            f"{period:.2f} sec). Worst all time event {self.worst}ms."
        )

    def graph(self, event: str, now: int) -> str:
        """A picture of the spikes in ASCII."""
        times = [spike.milliseconds for spike in self.kept]
        low, high = min(times), max(times)
        head = f"{event} - high {high} ms, low {low} ms (all time high {self.worst} ms)\n{'-' * COLUMNS}\n"
        steps = len(MARKS) * ROWS
        heights = [min((each - low) * steps // (high - low or 1), steps - 1) for each in times]
        labels = [age(now - spike.seconds) for spike in self.kept]
        parts = [
            picture(heights[at : at + COLUMNS], labels[at : at + COLUMNS])
            for at in range(0, len(times), COLUMNS)
        ]
        return head + "\n".join(parts)


def picture(heights: list[int], labels: list[str]) -> str:
    """Columns of some heights, with a label below each that is read downwards."""
    lines = [
        "".join(mark(height - (ROWS - 1 - row) * len(MARKS)) for height in heights) for row in range(ROWS)
    ]
    lines.append(" " * len(heights))
    longest = max(map(len, labels))
    lines += ["".join(label[at : at + 1] or " " for label in labels) for at in range(longest)]
    return "".join(f"{line}\n" for line in lines)


def mark(height: int) -> str:
    """What stands in a row, by the height of the column above the row's foot."""
    return " " if height < 0 else MARKS[height] if height < len(MARKS) else FILL


def age(seconds: int) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


class LatencyMonitor:
    """The monitor of one server.

    Attributes:
        threshold: milliseconds from which on a command counts as a spike; 0 if none does.
        events: the spikes, by event.
    """

    def __init__(self) -> None:
        self.threshold = 0
        self.events: dict[str, Spikes] = {}

    def configure(self, config: Config) -> None:
        """Applies the directive."""
        self.threshold = config.integer("latency-monitor-threshold")

    def take(self, command: Command, now: int, seconds: float) -> None:
        """Adds a command that was slow, if it was slow enough."""
        milliseconds = round(seconds * 1_000_000) // 1000
        if self.threshold and milliseconds >= self.threshold:
            event = "fast-command" if "fast" in command.flags else "command"
            self.events.setdefault(event, Spikes()).add(Spike(now, milliseconds))

    def reset(self, names: list[str]) -> int:
        """Forgets some events, or all if none is named; returns how many there were."""
        return sum(self.events.pop(name, None) is not None for name in names or list(self.events))

    # What LATENCY DOCTOR says

    def report(self, now: int, slower_than: int, disabled: str) -> Iterator[str]:
        """Its paragraphs.

        Args:
            now: the time in seconds.
            slower_than: the directive ``slowlog-log-slower-than``.
            disabled: what is said without ``latency-monitor-threshold``.
        """
        if not self.threshold:
            yield disabled
            return
        if not self.events:
            yield NO_SPIKE
            return
        yield OPENING
        for number, (event, spikes) in enumerate(self.events.items(), start=1):
            yield f"{number}. {event}: {spikes.summary(now)}\n"
        yield ADVICE
        if "fast-command" in self.events:
            yield SYSTEM_IS_SLOW
        if "command" in self.events:
            if slower_than < 0:
                yield TURN_SLOW_LOG_ON.format(self.threshold * 1000)
            elif slower_than // 1000 > self.threshold:
                yield TUNE_SLOW_LOG.format(self.threshold * 1000)
            yield READ_SLOW_LOG
            yield LARGE_OBJECTS


DISABLED: Final = (
    "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this Redis instance. You may use "
    '"CONFIG SET latency-monitor-threshold <milliseconds>." in order to enable it. If we weren\'t in a deep '
    "space mission I'd suggest to take a look at https://redis.io/topics/latency-monitor.\n"
)
NO_SPIKE: Final = (
    "Dave, no latency spike was observed during the lifetime of this Redis instance, not in the slightest "
    "bit. I honestly think you ought to sit down calmly, take a stress pill, and think things over.\n"
)
OPENING: Final = (
    "Dave, I have observed latency spikes in this Redis instance. You don't mind talking about it, do you "
    "Dave?\n\n"
)
ADVICE: Final = "\nI have a few advices for you:\n\n"
SYSTEM_IS_SLOW: Final = (
    "- The system is slow to execute Redis code paths not containing system calls. This usually means the "
    "system does not provide Redis CPU time to run for long periods. You should try to:\n"
    "  1) Lower the system load.\n"
    "  2) Use a computer / VM just for Redis if you are running other software in the same system.\n"
    '  3) Check if you have a "noisy neighbour" problem.\n'
    "  4) Check with 'redis-cli --intrinsic-latency 100' what is the intrinsic latency in your system.\n"
    "  5) Check if the problem is allocator-related by recompiling Redis with MALLOC=libc, if you are using "
    "Jemalloc. However this may create fragmentation problems.\n"
)
TURN_SLOW_LOG_ON: Final = (
    "- There are latency issues with potentially slow commands you are using. Try to enable the Slow Log "
    "Redis feature using the command 'CONFIG SET slowlog-log-slower-than {}'. If the Slow log is disabled "
    "Redis is not able to log slow commands execution for you.\n"
)
TUNE_SLOW_LOG: Final = (
    "- Your current Slow Log configuration only logs events that are slower than your configured latency "
    "monitor threshold. Please use 'CONFIG SET slowlog-log-slower-than {}'.\n"
)
READ_SLOW_LOG: Final = (
    "- Check your Slow Log to understand what are the commands you are running which are too slow to "
    "execute. Please check https://redis.io/commands/slowlog for more information.\n"
)
LARGE_OBJECTS: Final = (
    "- Deleting, expiring or evicting (because of maxmemory policy) large objects is a blocking operation. "
    "If you have very large objects that are often deleted, expired, or evicted, try to fragment those "
    "objects into multiple smaller objects.\n"
)
"""Redis's words."""
