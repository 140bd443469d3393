"""The driver for Trio: runs operations, each on one connection.

Rules:
    - What is under way is never broken off by a cancellation, nor by Ctrl-C: a child task, shielded, sends
      and reads, and its parent looks out. A wait is ended by CLIENT UNBLOCK from a second connection, and the
      operation is stopped before its next wait. If the server does not answer within ``STOP_TIMEOUT`` then,
      the connection is given up.
    - An operation that succeeded all the same returns its result: the value that arrived is the caller's. The
      cancellation is raised at the next checkpoint, as always in Trio.
"""

from __future__ import annotations

import contextlib
import signal
from typing import TypeVar

import trio
from trio.lowlevel import enable_ki_protection

from pressure.course import AnyCheckout, Ride, grace, is_elsewhere, unblocking
from pressure.errors import PressureError, ServerReplyError
from pressure.finding import failed
from pressure.keys import Located
from pressure.lease import Keeper
from pressure.pool import Member
from pressure.protocol.steps import Batch, Operation, Reply, Wait
from pressure.settings import STOP_TIMEOUT, Settings
from pressure.trio.connection import BROKEN, Connection, Connections, close
from pressure.turns import pause_before_look

T = TypeVar("T")

__all__ = ["Checkout", "Driver"]


class Driver:
    """Runs operations over the connections of one queue object; the tasks of one run may share it.

    Args:
        where: The server.
        keys: The queue; None where any node of a cluster will do.
        keeper: What renews leases, if there are any.

    Attributes:
        connections: The connections.
    """

    def __init__(self, where: Settings, keys: Located | None = None, keeper: Keeper | None = None) -> None:
        self.connections = Connections(where, keys)
        self.keeper = keeper

    @enable_ki_protection
    async def run(self, operation: Operation[T]) -> T:
        """Run an operation to its end.

        Raises:
            ConnectionFailedError: The server cannot be reached, or was lost before anything was changed.
            OutcomeUnknownError: The connection was lost after commands were sent that change something.
            trio.Cancelled: The operation gave back what it held.
            PressureError: Whatever the operation raises.
        """
        checkout = await self.checkout()
        try:
            return await checkout.run(operation)
        finally:
            await checkout.close()

    async def checkout(self) -> Checkout:
        """A connection for several operations, one after the other; the first of them connects it."""
        self.connections.come_home()
        return Checkout(self, self.connections.pool.take())

    @enable_ki_protection
    async def aside(self, operation: Operation[T], within: float) -> T:
        """Run an operation on a connection of its own, which is closed then; it waits for nobody else's.

        Args:
            operation: A generator that was not started yet.
            within: How many seconds it may take in all, connecting included.

        Raises:
            PressureError: As in ``run``.
        """
        try:
            with trio.fail_after(within):
                return await self._aside(operation)
        except trio.TooSlowError as error:
            raise failed(self.connections.settings, f"no answer in {within:g} s") from error

    @enable_ki_protection
    async def _aside(self, operation: Operation[T]) -> T:
        checkout = Checkout(self, Member(), stop=0)
        try:
            return await checkout.run(operation)
        finally:
            await checkout.close()

    @enable_ki_protection
    async def unblock(self, number: int | None) -> bool | None:
        """End another connection's wait, as far as that can be done; see ``grace``."""
        if number is None:
            return False
        with trio.move_on_after(STOP_TIMEOUT), contextlib.suppress(PressureError):
            async with self.connections.unblocks:
                return await self._aside(unblocking(number))
        return None


class Checkout(AnyCheckout):
    """A connection for several operations, one after the other. ``Driver.checkout`` makes one."""

    def __init__(self, driver: Driver, member: Member, stop: float = STOP_TIMEOUT) -> None:
        super().__init__(member, driver.keeper)
        self.driver = driver
        self.stop = stop

    @enable_ki_protection
    async def run(self, operation: Operation[T]) -> T:
        """Run an operation to its end; see ``Driver.run``."""
        self._check()
        turn = self.member.turn
        if turn is not None:
            await turn.acquire()
        try:
            await self.driver.connections.ready(self.member)
            return await _Ride(operation, self).whole()
        finally:
            if turn is not None:
                turn.release()

    async def close(self) -> None:
        """End the holds, and give the connection back."""
        if self._close_once():
            await self.driver.connections.give_back(self.member)

    async def lose(self, error: BaseException) -> None:
        """The connection is of no more use, nor is any other to a server that does not answer."""
        self.end_holds()
        await close(self.member.take_out())
        if isinstance(error, trio.TooSlowError):
            await self.driver.connections.disconnect()

    async def look_elsewhere(self) -> None:
        """This server is not, or no longer, the one to ask; the next operation looks for it again."""
        await self.driver.connections.disconnect()
        await close(self.member.take_out())


class _Ride(Ride[T]):
    """One operation on its way, with the interrupt that came meanwhile, if any."""

    __slots__ = ("_checkout", "_interrupt", "_is_stopped")

    def __init__(self, operation: Operation[T], checkout: Checkout) -> None:
        super().__init__(operation, checkout, checkout.driver.connections.settings)
        self._checkout = checkout
        self._interrupt: KeyboardInterrupt | None = None
        self._is_stopped = False

    @enable_ki_protection
    async def whole(self) -> T:
        """To its end."""
        try:
            await self._steps()
        except KeyboardInterrupt:
            self._interrupt = None
            raise
        except ServerReplyError as error:
            if is_elsewhere(error):
                await self._checkout.look_elsewhere()
            raise
        finally:
            self.member.is_spoiled |= self.course.leaves_a_mess
            if self._interrupt is not None:  # held back; Trio raises it at the main task's next checkpoint
                signal.raise_signal(signal.SIGINT)
        return self.course.result

    @enable_ki_protection
    async def _steps(self) -> None:
        course = self.course
        self.begin()
        while (step := course.step) is not None:
            if course.waits and not await self._may_wait():
                continue
            if isinstance(step, Batch):
                self.advance(step, await self._sent(step))
            elif await self._pause(step.seconds):
                course.advance([])

    @enable_ki_protection
    async def _may_wait(self) -> bool:
        """Whether the next step, which waits, is to be carried out."""
        course = self.course
        if not self._is_stopped and (wish := await self._wish()) is not None:
            self._is_stopped = True
            course.stop(wish)
            return False
        if self.is_crowded_out:
            self.crowd_out()
            return False
        if self.gives_way and isinstance(course.step, Wait):
            return await self._pause(pause_before_look(course.step, self.member))
        return True

    @enable_ki_protection
    async def _wish(self) -> BaseException | None:
        """What to stop the operation with, if it is to be stopped."""
        if self._interrupt is not None:
            return self._interrupt
        try:
            await trio.lowlevel.checkpoint_if_cancelled()
        except (trio.Cancelled, KeyboardInterrupt) as wish:
            return wish
        return None

    @enable_ki_protection
    async def _pause(self, seconds: float) -> bool:
        """Sleep; False if that is to be stopped. Others have the connection meanwhile, if they may."""
        turn = self.member.turn if self.gives_way else None
        if turn is not None:
            turn.release()
        try:
            await trio.sleep(seconds)
        except trio.Cancelled:
            return self._is_stopped  # seen again before the next step
        except KeyboardInterrupt as error:
            self._interrupt = error
            return False
        finally:
            if turn is not None:
                with trio.CancelScope(shield=True):
                    await turn.acquire()
            if self.was_lost:
                raise self.course.lost(ConnectionError("while another operation used it"))
        return True

    @enable_ki_protection
    async def _sent(self, step: Batch) -> list[Reply]:
        connection, under_way = self.connection, _UnderWay()
        data, count = self.packed(step)
        limit = self.reply_timeout + (step.seconds if isinstance(step, Wait) else 0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(under_way.exchange, connection, data, count, limit)
            await self._look_out(step, under_way)
        if under_way.error is None:
            return under_way.replies
        await self._checkout.lose(under_way.error)
        raise self.course.lost(under_way.error) from under_way.error

    @enable_ki_protection
    async def _look_out(self, step: Batch, under_way: _UnderWay) -> None:
        """Wait until the replies are there; a cancellation or an interrupt only ends a wait."""
        try:
            await under_way.over.wait()
        except (trio.Cancelled, KeyboardInterrupt) as wish:
            if isinstance(wish, KeyboardInterrupt):
                self._interrupt = wish
            limit = self._checkout.stop
            if isinstance(step, Wait):
                with trio.CancelScope(shield=True):
                    limit = grace(step, await self._checkout.driver.unblock(self.member.number))
            with trio.move_on_after(limit, shield=True):
                await under_way.over.wait()
            under_way.scope.cancel()  # that has no effect if it is over


class _UnderWay:
    """Commands that were sent, and what became of them."""

    def __init__(self) -> None:
        self.over = trio.Event()
        self.scope = trio.CancelScope(shield=True)
        self.replies: list[Reply] = []
        self.error: BaseException | None = trio.TooSlowError("no answer in time")

    @enable_ki_protection
    async def exchange(self, connection: Connection, data: bytes, count: int, limit: float) -> None:
        """Send, and read the replies, whoever is cancelled meanwhile."""
        try:
            with self.scope:
                self.replies = await connection.exchange(data, count, limit)
                self.error = None
        except BROKEN as error:
            self.error = error
        finally:
            self.over.set()
