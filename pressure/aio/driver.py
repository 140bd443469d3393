"""The driver for asyncio: runs operations, each on one connection of redis.asyncio.

Rules:
    - A cancellation never interrupts an exchange with the server (``unbroken``). Instead, CLIENT UNBLOCK from
      a second connection ends a wait, and the operation stops before its next wait. If the server then does
      not answer within ``STOP_TIMEOUT``, the connection is closed.
    - An operation that succeeds in spite of a cancellation returns its result, so that no value is lost. The
      cancellation is raised at the task's next wait, unless it was withdrawn (``uncancel``) before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from math import inf
from typing import Any, TypeAlias, TypeVar

from pressure.aio.connection import Connections, exchange
from pressure.aio.error_replies import LOST, SILENT
from pressure.connections.discovery import failed
from pressure.connections.error_replies import NotDoneError
from pressure.connections.settings import STOP_TIMEOUT, Settings
from pressure.errors import ConnectionFailedError, PressureError
from pressure.execution.asynchronous import AsyncCheckout, AsyncDriver, AsyncExecution
from pressure.execution.execution import MOVING, client_unblock, grace_period
from pressure.execution.lease import LeaseRenewer
from pressure.keys import QueueKeys
from pressure.protocol.operation import AtNodes, Batch, Operation, Reply, Wait

T = TypeVar("T")


class _Execution(AsyncExecution[T]):
    """One operation under way, and the first cancellation that arrived during it, if any."""

    __slots__ = ("_cancellation",)

    def __init__(self, operation: Operation[T], checkout: AsyncCheckout) -> None:
        super().__init__(operation, checkout)
        self._cancellation: asyncio.CancelledError | None = None

    async def run(self) -> T:
        """Run the operation to its end."""
        try:
            return await super().run()
        except asyncio.CancelledError:
            self._cancellation = None
            raise
        finally:
            self._deliver_later()

    async def _cancelled(self) -> BaseException | None:
        task = asyncio.current_task()
        if task is not None and not task.cancelling():  # withdrawn, as by a timeout of a new connection
            self._cancellation = None
        return self._cancellation

    async def _pause(self, seconds: float) -> bool:
        lock = self.member.lock if self.shares else None
        if lock is not None:
            lock.release()
        before = self._cancellation
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError as error:
            self._cancellation = self._cancellation or error
        finally:
            if lock is not None:
                await self._acquire(lock)
        self.check_connection()
        return self._cancellation is before

    async def _acquire(self, lock: Any) -> None:
        await unbroken(lock.acquire(), self._on_cancel_of_lock)

    async def _on_cancel_of_lock(self, error: asyncio.CancelledError) -> float:
        self._cancellation = self._cancellation or error
        return inf

    async def _sent(self, step: Batch) -> list[Reply]:
        try:
            return await self._answered(step)
        except BaseException as error:
            await self._checkout.drop_connection(error)
            if isinstance(error, (*LOST, ConnectionFailedError)):
                raise self.lost(error) from error
            self.abandon()
            raise

    async def _answered(self, step: Batch) -> list[Reply]:
        replies = await self._unbroken(step)
        while self.accept_delay(step, replies) and await self._pause(MOVING):
            replies = await self._unbroken(step)
        return replies

    async def _unbroken(self, step: Batch) -> list[Reply]:
        return await unbroken(self._exchanged(step), self._on_cancel, self.timeout_of(step))

    async def _exchanged(self, step: Batch) -> list[Reply]:
        if isinstance(step, AtNodes):
            return await self._checkout.driver.connections.ask_nodes(step)
        while True:
            data, count = self.packed(step)
            try:
                replies = await exchange(self.connection, data, count)
            except NotDoneError:
                if not self.accept_end():
                    raise
            else:
                if not self.accept_move(step, replies):
                    return replies
            await self._checkout.driver.connections.reconnect(self.member)
            self.connection = self.member.connection

    async def _on_cancel(self, error: asyncio.CancelledError) -> float:
        first, self._cancellation = self._cancellation is None, self._cancellation or error
        if first and isinstance(self.step, Wait):
            self.ended_wait = True
            return grace_period(self.step, await self._checkout.driver.unblock(self.member.number))
        return self._checkout.stop

    def _deliver_later(self) -> None:
        """Raise a delayed cancellation when the task next waits."""
        task, cancellation = asyncio.current_task(), self._cancellation
        if cancellation is None or task is None:
            return

        def deliver() -> None:
            if not task.done() and task.cancelling():  # not withdrawn, as asyncio.timeout() does
                task.uncancel()
                task.cancel(*cancellation.args)

        asyncio.get_running_loop().call_soon(deliver)


class Checkout(AsyncCheckout):
    """A connection for several operations, one after the other. ``Driver.checkout`` makes one."""

    _execution = _Execution
    _silent = SILENT


class Driver(AsyncDriver):
    """Runs operations; see ``AsyncDriver``.

    Args:
        where: The server.
        keys: The keys of the queue; None if any node of a cluster can run the operations.
        renewer: Renews leases; None if the queue has no leases.
    """

    _checkout = Checkout

    def __init__(
        self, where: Settings, keys: QueueKeys | None = None, renewer: LeaseRenewer | None = None
    ) -> None:
        super().__init__(Connections(where, keys), renewer)

    async def aside(self, operation: Operation[T], within: float) -> T:  # noqa: D102, as in the base
        try:
            async with asyncio.timeout(within):
                return await self._aside(operation)
        except TimeoutError as error:
            raise failed(self.connections.settings, f"no answer in {within:g} s") from error

    async def unblock(self, number: int | None) -> bool | None:  # noqa: D102, as in the base
        if number is None:
            return False
        try:
            return await unbroken(self._unblock(number), _ignored, STOP_TIMEOUT)
        except (PressureError, TimeoutError):
            return None

    async def _unblock(self, number: int) -> bool:
        async with self.connections.unblocks:
            return await self._aside(client_unblock(number))


async def _ignored(_: asyncio.CancelledError) -> float:
    """Ignore a cancellation."""
    return inf


OnCancel: TypeAlias = Callable[[asyncio.CancelledError], Awaitable[float]]


async def unbroken(work: Coroutine[Any, Any, T], on_cancel: OnCancel, limit: float = inf) -> T:
    """Run a coroutine to its end, even if the task is cancelled meanwhile.

    A cancellation raises CancelledError in the coroutine that the task awaits; in the middle of a reply, that
    would lose a value or a role. ``asyncio.shield`` would need a second task, which is cancelled like any
    other when the event loop shuts down. Instead, this function runs the coroutine step by step, and waits
    itself for each future that the coroutine awaits. So the coroutine never receives a cancellation.

    Args:
        work: The coroutine. It must not use ``asyncio.timeout``, which is a cancellation, too.
        on_cancel: Called with a cancellation; returns after how many seconds TimeoutError is raised in the
            coroutine.
        limit: For how many seconds the coroutine may wait for one future before TimeoutError is raised in it.
    """
    loop, stop_by = asyncio.get_running_loop(), inf
    proceed: Callable[[], Any] = lambda: work.send(None)  # noqa: E731, it changes
    while True:
        try:
            future = _future(proceed())
        except StopIteration as end:
            result: T = end.value
            return result
        proceed, silent_by = lambda: work.send(None), loop.time() + limit
        while not future.done():
            left = min(silent_by, stop_by) - loop.time()
            if left <= 0:
                proceed = lambda: work.throw(TimeoutError("no answer in time"))  # noqa: E731
                break
            try:
                await asyncio.wait((future,), timeout=None if left == inf else left)
            except asyncio.CancelledError as error:
                left = await on_cancel(error)
                stop_by = min(stop_by, loop.time() + left)


def _future(awaited: asyncio.Future[Any] | None) -> asyncio.Future[Any]:
    """The future that a coroutine awaits, as one that ``unbroken`` can wait for."""
    if awaited is None:  # as in asyncio.sleep(0)
        awaited = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(awaited.set_result, None)
    awaited._asyncio_future_blocking = False
    return awaited
