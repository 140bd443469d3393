"""A Trio program on a thread of its own, such as a server, and what became of it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import partial
from typing import Generic, TypeVar

import trio

from .clock import TrioClock

__all__ = ["Launch"]

T = TypeVar("T")


class Launch(Generic[T]):
    """A Trio program that begins on a thread of its own; several threads may wait until it has started.

    Args:
        program: called with ``task_status``, whose ``started`` it calls once it has started.
        name: of the thread.
        when_over: called on the thread at its end, also if the program did not start.

    Attributes:
        started_with: what the program gave to ``started``, or why it did not start.
        thread: the program's.
    """

    def __init__(
        self,
        program: Callable[..., Awaitable[object]],
        name: str = "miniredis",
        when_over: Callable[[], object] = lambda: None,
    ) -> None:
        self.started_with: Future[T] = Future()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._program = partial(program, task_status=self)
        self._when_over = when_over
        self._scope = trio.CancelScope()
        self._token: trio.lowlevel.TrioToken | None = None
        self._is_cancelled = False

    def run(self) -> T:
        """Begins the thread, and waits; returns what the program gave to ``started``, or raises its error.

        Where that fails, and where a signal interrupts it, the program ends first.
        """
        try:
            self.thread.start()
            return self.started_with.result()
        except BaseException:
            self._cancel()
            raise

    def _cancel(self) -> None:
        self._is_cancelled = True  # first: either the thread sees it, or there is a token by now
        if self._token is not None:
            with contextlib.suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._scope.cancel)
        with contextlib.suppress(RuntimeError):  # the thread has not begun; if it still does, it ends at once
            self.thread.join()

    def started(self, value: T) -> None:
        """The program has started."""
        self.started_with.set_result(value)

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        with self._scope:
            if not self._is_cancelled:
                await self._program()

    def _run(self) -> None:
        try:
            try:
                trio.run(self._main, clock=TrioClock())
            finally:
                self._when_over()  # first, so that who hears why there is no server can begin another one
        except BaseException as fault:
            self._tell(fault)

    def _tell(self, fault: BaseException) -> None:
        if not self.started_with.done():
            self.started_with.set_exception(fault)
        elif fault is not getattr(self.started_with.result(), "failure", None):  # of that the log tells
            raise fault
