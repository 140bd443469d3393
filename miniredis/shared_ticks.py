"""Ticks that threads share, where what was done has to be on the disk before anybody hears of it.

While one thread writes, and waits for the disk, others come with requests of their own. Whichever of them has
the lock next does what all of them want in one tick: one write, and one wait, serve them all (group commit).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .engine import Instant
    from .tick_runner import TickRunner

__all__ = ["RE_ENTRANT", "SharedTicks", "TickInterruptedError"]

RE_ENTRANT: Final = (
    "the server is in the middle of a command on this thread: a signal handler or a __del__ method cannot "
    "use server.client(); let it set a flag, and run its commands later"
)

PATIENCE: Final = 0.05
"""Seconds after which a thread no longer relies on another one, which may be interrupted or run a script."""


class TickInterruptedError(Exception):
    """The thread that ran a tick for others was interrupted; what they wanted may have been done or not."""


class Part:
    """What one thread wants to be done in a tick.

    Args:
        act: does it, and returns the thread's answer.

    Attributes:
        answer: the thread's; it may have it once the tick has ended.
        is_over: the tick has ended.
        was_interrupted: it has ended before its time.
    """

    __slots__ = ("_tick_lasts", "act", "answer", "is_over", "was_interrupted")

    def __init__(self, act: Callable[[Instant], Any]) -> None:
        self.act = act
        self.answer: Any = None
        self.is_over = self.was_interrupted = False
        self._tick_lasts = threading.Lock()
        self._tick_lasts.acquire()

    def end(self, *, is_interruption: bool) -> None:
        """Lets the thread go on."""
        self.was_interrupted = is_interruption
        self.is_over = True
        self._tick_lasts.release()

    def wait(self) -> None:
        """Returns once the tick has ended, or after some time."""
        self._tick_lasts.acquire(timeout=PATIENCE)


class SharedTicks:
    """The parts that threads have in ticks, each of which is run by one thread for all that wait.

    Args:
        runner: whose ticks these are.
    """

    def __init__(self, runner: TickRunner) -> None:
        self._runner = runner
        self._parts: deque[Part] = deque()  # not begun yet
        self._is_next = threading.Lock()  # held by the thread that waits for the runner's lock for all others
        self._threads: set[int] = set()  # that take part

    def take_part(self, act: Callable[[Instant], Any]) -> Any:
        """Runs ``act`` in a tick, alone or beside parts of other threads; returns its answer at the end.

        Raises:
            RuntimeError: the caller is re-entrant: a signal handler, or a finalizer.
            TickInterruptedError: another thread ran the tick, and a signal interrupted that.
        """
        lock, me = self._runner.lock, threading.get_ident()
        if me in self._threads:
            raise RuntimeError(RE_ENTRANT)
        self._threads.add(me)
        try:
            part = Part(act)
            if lock.acquire(blocking=False):  # no other thread runs a tick
                try:
                    self._run_parts(part)
                finally:
                    lock.release()
            else:
                self._parts.append(part)
                self._await(part)
        finally:
            self._threads.discard(me)
        if part.was_interrupted:
            raise TickInterruptedError
        return part.answer

    def _await(self, part: Part) -> None:
        while not part.is_over:
            if self._is_next.acquire(blocking=False):
                try:
                    self._runner.lock.acquire()
                finally:
                    self._is_next.release()  # who comes from now on may be late for the tick that begins
                try:
                    self._run_parts()
                finally:
                    self._runner.lock.release()
            else:
                part.wait()

    def _run_parts(self, *more: Part) -> None:
        """Runs a tick for all parts that wait, and more of them; with the lock held."""
        runner, parts = self._runner, self._parts
        begun: list[Part] = []
        is_whole = False
        now = runner.begin_tick()
        try:
            parts.extend(more)
            while parts:  # one by one: while a script lets others in, another thread can run those behind it
                begun.append(parts[0])
                part = parts.popleft()
                part.answer = part.act(now)
            runner.end_tick(now)
            is_whole = True
        finally:
            runner.in_tick = False
            for part in begun:
                part.end(is_interruption=not is_whole)
