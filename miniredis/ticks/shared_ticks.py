"""Ticks that threads share: a thread that runs one does for others, too, what they want in the meantime.

While one thread writes to the disk, and waits for it, others come with requests of their own. Whichever of
them has the lock next does what all of them want in one tick: one write, and one wait, serve them all (group
commit). Without a disk, too, a lock that each took in turn would make them wait for each other all the time:
a thread that gets a lock waits for the interpreter then, and keeps others from going on.

A thread runs a script for another one only if that was quick the last time: it may never end, and a thread
that waits for it cannot kill it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from .re_entrance import RE_ENTRANT

if TYPE_CHECKING:
    from ..engine import Instant

__all__ = ["NEVER_WAIT", "SharedTicks", "TickInterruptedError"]

AT_FIRST: Final = 0.001
"""Seconds for which a thread waits for others to run its part, before it waits for the lock."""

PATIENCE: Final = 0.05
"""Seconds after which a thread no longer relies on the one that waits for the lock: that may be gone."""

NEVER_WAIT: Final = (False,)
"""For ``map(lock.acquire, NEVER_WAIT)``, whose one result says whether this thread has the lock.

Unlike after a call of ``acquire``, no signal handler runs before the ``try`` whose ``finally`` gives it up.
"""


class TickInterruptedError(Exception):
    """The thread that ran a tick for others was interrupted; what they wanted may have been done or not."""


class TickRequest:
    """What one thread wants to be done in a tick.

    Args:
        act: does it, and returns the thread's answer.

    Attributes:
        answer: the thread's; it may have it once the tick has ended.
        is_over: the tick has ended.
        was_interrupted: it has ended before its time.
    """

    __slots__ = ("_wakeup", "act", "answer", "is_over", "was_interrupted")

    def __init__(self, act: Callable[[Instant], Any]) -> None:
        self.act = act
        self.answer: Any = None
        self.is_over = self.was_interrupted = False
        self._wakeup = threading.Lock()  # held until there is a reason to wake up
        self._wakeup.acquire()

    def end(self, *, is_interruption: bool) -> None:
        """The tick has ended."""
        self.was_interrupted = is_interruption
        self.is_over = True
        self.wake()

    def wake(self) -> None:
        """Lets the thread look whether it can go on."""
        with suppress(RuntimeError):  # it is awake already
            self._wakeup.release()

    def wait(self, seconds: float) -> None:
        """Waits until the thread is to look again."""
        self._wakeup.acquire(timeout=seconds)


class SharedTicks:
    """The parts that threads have in ticks which other threads may run.

    Args:
        lock: a thread that runs a tick holds it.
        run_tick: runs a whole one, with the lock held.

    Attributes:
        waiting: the parts that are not begun yet.
    """

    def __init__(self, lock: threading.RLock, run_tick: Callable[[], None]) -> None:
        self._lock, self._run_tick = lock, run_tick
        self.waiting: deque[TickRequest] = deque()
        self._is_next = threading.Lock()  # held by the thread that waits for the runner's lock for all others
        self._threads: set[int] = set()  # that wait here

    def take_part(self, act: Callable[[Instant], Any]) -> Any:
        """Lets ``act`` be run in a tick, by this thread or another; returns its answer at the end.

        Raises:
            RuntimeError: the caller is re-entrant: a signal handler, or a finalizer.
            TickInterruptedError: another thread ran the tick, and a signal interrupted that.
        """
        me = threading.get_ident()
        if me in self._threads:
            raise RuntimeError(RE_ENTRANT)
        part = TickRequest(act)
        try:
            self._threads.add(me)
            self.waiting.append(part)
            if not self._run_if_free():
                part.wait(AT_FIRST)
            while not part.is_over:
                if not self._run_if_free():
                    self._wait_for_lock(part)
        except BaseException:  # a signal: what it wanted is not to be done behind what it may do next
            part.act = do_nothing
            raise
        finally:
            self._threads.discard(me)
        if part.was_interrupted:
            raise TickInterruptedError
        return part.answer

    def _run_if_free(self) -> bool:
        """Runs a tick for all that wait, unless another thread has the lock; returns whether it did."""
        (is_free,) = map(self._lock.acquire, NEVER_WAIT)
        if is_free:
            try:
                self._run_tick()
            finally:
                self._lock.release()
                self.hand_over()
        return is_free

    def _wait_for_lock(self, part: TickRequest) -> None:
        """Runs such a tick once another thread gives up the lock; or waits, if a third one waits for that."""
        (is_next,) = map(self._is_next.acquire, NEVER_WAIT)
        if not is_next:
            part.wait(PATIENCE)
            return
        try:
            with self._lock:
                is_next = False
                self._is_next.release()  # who comes from now on may be late for the tick that begins
                self._run_tick()
        finally:
            if is_next:
                self._is_next.release()
            self.hand_over()

    def run(self, now: Instant, end_tick: Callable[[Instant], None]) -> None:
        """Runs all parts that wait at the end of a tick, and lets their threads go on after it."""
        begun: list[TickRequest] = []
        is_whole = False
        try:
            while self.waiting:
                begun.append(self.waiting[0])  # first, so that a signal between two steps loses no part
                part = self.waiting.popleft()
                part.answer = part.act(now)
            end_tick(now)
            is_whole = True
        finally:
            for part in begun:
                part.end(is_interruption=not is_whole)

    def hand_over(self) -> None:
        """This thread has given up the lock: wakes one that came too late for its tick."""
        with suppress(IndexError):
            self.waiting[0].wake()


def do_nothing(_now: Instant) -> None:
    """What a thread wants that no longer waits."""
