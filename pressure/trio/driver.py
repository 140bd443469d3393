"""The driver for Trio: runs operations, each on one connection.

Rules:
    - Neither a cancellation nor Ctrl-C interrupts an exchange with the server: a shielded child task sends
      and reads, and its parent receives the cancellation. CLIENT UNBLOCK from a second connection then ends a
      wait, and the operation stops before its next wait. If the server does not answer within
      ``STOP_TIMEOUT``, the connection is closed.
    - An operation that succeeds in spite of a cancellation returns its result, so that no value is lost. The
      cancellation is raised at the next checkpoint, as always in Trio.
"""

from __future__ import annotations

import contextlib
import signal
from typing import Any, TypeVar

import trio
from trio.lowlevel import enable_ki_protection

from pressure.connections.discovery import failed
from pressure.connections.error_replies import NotDoneError
from pressure.connections.settings import STOP_TIMEOUT, Settings
from pressure.errors import ConnectionFailedError, PressureError
from pressure.execution.asynchronous import AsyncCheckout, AsyncDriver, AsyncExecution
from pressure.execution.execution import MOVING, client_unblock, grace_period
from pressure.execution.lease import LeaseRenewer
from pressure.keys import QueueKeys
from pressure.protocol.operation import AtNodes, Batch, Operation, Reply, Wait
from pressure.trio.connection import BROKEN, Connection, Connections

T = TypeVar("T")


class _Execution(AsyncExecution[T]):
    """One operation under way, and the KeyboardInterrupt that arrived during it, if any."""

    __slots__ = ("_interrupt",)

    def __init__(self, operation: Operation[T], checkout: AsyncCheckout) -> None:
        super().__init__(operation, checkout)
        self._interrupt: KeyboardInterrupt | None = None

    async def run(self) -> T:
        """Run the operation to its end."""
        try:
            return await super().run()
        except KeyboardInterrupt:
            self._interrupt = None
            raise
        finally:
            if self._interrupt is not None:  # delayed: Trio raises it at the main task's next checkpoint
                signal.raise_signal(signal.SIGINT)

    async def _cancelled(self) -> BaseException | None:
        if self._interrupt is not None:
            return self._interrupt
        try:
            await trio.lowlevel.checkpoint_if_cancelled()
        except (trio.Cancelled, KeyboardInterrupt) as reason:
            return reason
        return None

    async def _pause(self, seconds: float) -> bool:
        lock = self.member.lock if self.shares else None
        if lock is not None:
            lock.release()
        try:
            await trio.sleep(seconds)
        except trio.Cancelled:
            return self._is_stopped  # the next step detects the cancellation again
        except KeyboardInterrupt as error:
            self._interrupt = error
            return False
        finally:
            if lock is not None:
                await self._acquire(lock)
            self.check_connection()
        return True

    async def _acquire(self, lock: Any) -> None:
        while True:
            try:
                with trio.CancelScope(shield=True):
                    return await lock.acquire()  # type: ignore[no-any-return]
            except KeyboardInterrupt as error:  # a shield does not keep it off
                self._interrupt = error

    async def _sent(self, step: Batch) -> list[Reply]:
        try:
            return await self._answered(step)
        except (*BROKEN, ConnectionFailedError) as error:
            await self._checkout.drop_connection(error)
            raise self.lost(error) from error

    async def _answered(self, step: Batch) -> list[Reply]:
        replies = await self._exchanged(step)
        while self.accept_delay(step, replies) and await self._pause(MOVING):
            replies = await self._exchanged(step)
        return replies

    async def _exchanged(self, step: Batch) -> list[Reply]:
        if isinstance(step, AtNodes):
            with trio.CancelScope(shield=True):
                return await self._checkout.driver.connections.ask_nodes(step)
        while True:
            data, count = self.packed(step)
            exchange = _Exchange()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(exchange.run, self.connection, data, count, self.timeout_of(step))
                await self._watch(step, exchange)
            if exchange.error is None:
                if not self.accept_move(step, exchange.replies):
                    return exchange.replies
            elif not (isinstance(exchange.error, NotDoneError) and self.accept_end()):
                raise exchange.error
            with trio.CancelScope(shield=True):
                await self._checkout.driver.connections.reconnect(self.member)
            self.connection = self.member.connection

    async def _watch(self, step: Batch, exchange: _Exchange) -> None:
        """Wait for the replies; after a cancellation or Ctrl-C, end a wait and limit the time."""
        try:
            await exchange.over.wait()
        except (trio.Cancelled, KeyboardInterrupt) as reason:
            if isinstance(reason, KeyboardInterrupt):
                self._interrupt = reason
            limit = self._checkout.stop
            if isinstance(step, Wait):
                self.ended_wait = True
                with trio.CancelScope(shield=True):
                    limit = grace_period(step, await self._checkout.driver.unblock(self.member.number))
            with trio.move_on_after(limit, shield=True):
                await exchange.over.wait()
            exchange.scope.cancel()  # no effect if the exchange is over


class Checkout(AsyncCheckout):
    """A connection for several operations, one after the other. ``Driver.checkout`` makes one."""

    _execution = _Execution
    _silent = (trio.TooSlowError,)

    @enable_ki_protection
    async def run(self, operation: Operation[T]) -> T:  # noqa: D102, as in the base
        return await super().run(operation)


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

    @enable_ki_protection
    async def run(self, operation: Operation[T]) -> T:  # noqa: D102, as in the base
        return await super().run(operation)

    @enable_ki_protection
    async def aside(self, operation: Operation[T], within: float) -> T:  # noqa: D102, as in the base
        try:
            with trio.fail_after(within):
                return await self._aside(operation)
        except trio.TooSlowError as error:
            raise failed(self.connections.settings, f"no answer in {within:g} s") from error

    async def unblock(self, number: int | None) -> bool | None:  # noqa: D102, as in the base
        if number is None:
            return False
        with trio.move_on_after(STOP_TIMEOUT), contextlib.suppress(PressureError):
            async with self.connections.unblocks:
                return await self._aside(client_unblock(number))
        return None


class _Exchange:
    """One exchange: its replies, or the error that ended it."""

    def __init__(self) -> None:
        self.over = trio.Event()
        self.scope = trio.CancelScope(shield=True)
        self.replies: list[Reply] = []
        self.error: BaseException | None = trio.TooSlowError("no answer in time")

    @enable_ki_protection
    async def run(self, connection: Connection, data: bytes, count: int, limit: float) -> None:
        """Send commands and read the replies, shielded from cancellation."""
        try:
            with self.scope:
                self.replies = await connection.exchange(data, count, limit)
                self.error = None
        except BROKEN as error:
            self.error = error
        finally:
            self.over.set()
