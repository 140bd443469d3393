"""The server's sources of time: the machine's clocks, those that a test has replaced, or one that it moves.

Tests replace the functions of ``time``: freezegun in the modules that refer to them, time-machine the
functions themselves. A server whose time stands still hangs, so this package reads the clocks of ``Machine``.
Only a ``FollowingClock`` reads what a test has put in their place.
"""

from __future__ import annotations

import datetime as dt
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal, Protocol, TypeAlias

import trio

from .arguments import kind
from .engine import Instant

__all__ = [
    "Clock",
    "ClockChoice",
    "FollowingClock",
    "HeldClock",
    "Machine",
    "MockedClock",
    "RealClock",
    "TrioClock",
    "chosen",
    "chosen_in_run",
    "time_until",
]


def _unfrozen(name: str) -> Any:
    """A function of ``time``, also if freezegun has replaced it before this module was imported."""
    return getattr(sys.modules.get("freezegun.api"), f"real_{name}", getattr(time, name))


class Machine:
    """The machine's clocks. freezegun looks for functions of ``time`` in modules; it does not find these."""

    time_ns: Final[Callable[[], int]] = staticmethod(_unfrozen("time_ns"))
    monotonic_ns: Final[Callable[[], int]] = staticmethod(_unfrozen("monotonic_ns"))
    monotonic: Final[Callable[[], float]] = staticmethod(_unfrozen("monotonic"))
    perf_counter: Final[Callable[[], float]] = staticmethod(_unfrozen("perf_counter"))
    perf_counter_ns: Final[Callable[[], int]] = staticmethod(_unfrozen("perf_counter_ns"))


new_instant: Final = partial(tuple.__new__, Instant)
"""Makes an ``Instant`` of a pair of numbers, in fewer steps than the class does by itself."""


def machine_wall() -> Callable[[], int]:
    """The machine's wall clock, in nanoseconds; time-machine, if it is imported, has the real one."""
    hatch = getattr(sys.modules.get("time_machine"), "escape_hatch", None)
    if hatch is None:
        return Machine.time_ns
    return lambda: hatch.time.time_ns() if hatch.is_travelling() else Machine.time_ns()


class TrioClock(trio.abc.Clock):
    """Trio's time on a server's own thread."""

    def start_clock(self) -> None:
        """Nothing is to be done."""

    def current_time(self) -> float:
        """Seconds since some fixed point."""
        return Machine.monotonic()

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Seconds until a deadline."""
        return deadline - self.current_time()


HOW_TO_BEGIN: Final = (
    "; to begin at a date of your choice: "
    "start(clock=miniredis.HeldClock(datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)))"
)

MICROSECOND: Final = dt.timedelta(microseconds=1)

EPOCH: Final = dt.datetime.fromtimestamp(0, dt.UTC)

EXPECTED: Final = "'held', 'follow', a miniredis.HeldClock or None"


class Clock(Protocol):
    """A server's source of time: any object with these methods."""

    @property
    def stands_still(self) -> bool:
        """Whether time passes only through ``advance``."""

    def now(self) -> Instant:
        """The current time."""

    def advance(self, microseconds: int) -> None:
        """Moves both the wall clock and the monotonic clock forward."""


class RealClock:
    """The machine's clocks, plus the time that ``advance`` added."""

    stands_still = False

    def __init__(self) -> None:
        self._ahead = 0
        self._wall, self._monotonic = machine_wall(), Machine.monotonic_ns

    def now(self) -> Instant:
        """The current time."""
        ahead = self._ahead
        return new_instant((self._wall() // 1000 + ahead, self._monotonic() // 1000 + ahead))

    def advance(self, microseconds: int) -> None:
        """Moves the clock forward; it runs on from there."""
        self._ahead += microseconds


class FollowingClock(RealClock):
    """The date and time that the program around the server sees, also those of freezegun and time-machine.

    Keys expire by it, and TIME tells it. How long clients stay blocked is measured by the machine's clock,
    which does not stand still.
    """

    def __init__(self) -> None:
        super().__init__()
        self._wall = lambda: time.time_ns()  # what ``time`` has at the moment


class MockedClock:
    """The time of a ``trio.testing.MockClock``, from the machine's time at the start of the server.

    Args:
        source: that clock.
    """

    stands_still = False

    def __init__(self, source: trio.abc.Clock) -> None:
        self._source, self._start, self._ahead = source, RealClock().now(), -source.current_time()

    def now(self) -> Instant:
        """The current time."""
        passed = round((self._source.current_time() + self._ahead) * 1_000_000)
        return Instant(self._start.wall + passed, self._start.monotonic + passed)

    def advance(self, microseconds: int) -> None:
        """Moves the time of the server forward; that of the clock stays."""
        self._ahead += microseconds / 1_000_000


class HeldClock:
    """A clock that stands still until it is told to move: for a server, by ``server.fast_forward``.

    ``miniredis.start(clock="held")`` makes one that begins at the real time. To begin at another time::

        clock = HeldClock(datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC))

    Args:
        start: the date at which it begins, with its time zone, or an ``Instant``; the real time if omitted.

    Raises:
        TypeError: ``start`` is neither.
        ValueError: the date has no time zone.
    """

    stands_still = True

    def __init__(self, start: Instant | dt.datetime | None = None) -> None:
        if isinstance(start, dt.datetime):
            start = Instant(wall=time_until("HeldClock", start, EPOCH) // MICROSECOND, monotonic=0)
        if start is not None and not isinstance(start, Instant):
            raise TypeError(f"HeldClock() takes a datetime or an Instant, not {kind(start)}{HOW_TO_BEGIN}")
        self._now = start or RealClock().now()

    def now(self) -> Instant:
        """The time at which it stands."""
        return self._now

    def advance(self, microseconds: int) -> None:
        """Moves both the wall clock and the monotonic clock forward."""
        self._now = Instant(self._now.wall + microseconds, self._now.monotonic + microseconds)


ClockChoice: TypeAlias = Clock | Literal["held", "follow"] | None

CHOICES: Final[dict[Any, Callable[[], Clock]]] = {
    None: RealClock,
    "held": HeldClock,
    "follow": FollowingClock,
}


def chosen(clock: ClockChoice) -> Clock:
    """The clock that the argument ``clock`` of ``start`` and ``serve`` means.

    Raises:
        TypeError: it is not a clock.
        ValueError: it is another str.
    """
    if clock is None or isinstance(clock, str):
        if (make := CHOICES.get(clock)) is None:
            raise ValueError(f"clock must be {EXPECTED}, not {clock!r}")
        return make()
    if not all(hasattr(clock, name) for name in ("now", "advance", "stands_still")):
        raise TypeError(f"clock must be {EXPECTED}, not {kind(clock)}{HOW_TO_BEGIN}")
    return clock


def chosen_in_run(clock: ClockChoice) -> Clock:
    """As ``chosen``; None is the ``MockClock`` of the Trio program that runs here, if it has one."""
    source, testing = trio.lowlevel.current_clock(), sys.modules.get("trio.testing")
    if clock is None and testing is not None and isinstance(source, testing.MockClock):
        return MockedClock(source)
    return chosen(clock)


def time_until(caller: str, moment: dt.datetime, now: dt.datetime) -> dt.timedelta:
    """The time from now to a date that a caller was given.

    Raises:
        TypeError: it is not a date.
        ValueError: it has no time zone, or it is over.
    """
    if not isinstance(moment, dt.datetime):
        raise TypeError(f"{caller}() takes a datetime, not {kind(moment)}")
    if moment.utcoffset() is None:
        raise ValueError(f"{caller}() takes a date with a time zone (tzinfo=datetime.UTC), not {moment}")
    if moment < now:
        raise ValueError(f"{caller}() cannot move the time back from {now} to {moment}{HOW_TO_BEGIN}")
    return moment - now
