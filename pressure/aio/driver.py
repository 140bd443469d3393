"""The driver for asyncio: runs operations, each on one connection of redis.asyncio.

Rules:
    - What is under way is never broken off by a cancellation; ``unbroken`` says how. A wait is ended by
      CLIENT UNBLOCK from a second connection, and the operation is stopped before its next wait. If the
      server does not answer within ``STOP_TIMEOUT`` then, the connection is given up.
    - An operation that succeeded all the same returns its result: the value that arrived is the caller's. The
      cancellation is then raised when the task next waits, unless whoever asked for it has taken it back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from math import inf
from typing import Any, TypeAlias, TypeVar

from pressure.aio.connection import Connections, drop, exchange
from pressure.course import AnyCheckout, Ride, grace, is_elsewhere, unblocking
from pressure.errors import PressureError, ServerReplyError
from pressure.finding import failed
from pressure.keys import Located
from pressure.lease import Keeper
from pressure.pool import Member
from pressure.protocol.steps import Batch, Operation, Reply, Wait
from pressure.refusals import LOST, SILENT
from pressure.settings import STOP_TIMEOUT, Settings
from pressure.turns import pause_before_look

T = TypeVar("T")

__all__ = ["Checkout", "Driver"]


class Driver:
    """Runs operations over the connections of one queue object; the tasks of one loop may share it.

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

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation to its end.

        Raises:
            ConnectionFailedError: The server cannot be reached, or was lost before anything was changed.
            OutcomeUnknownError: The connection was lost after commands were sent that change something.
            asyncio.CancelledError: The task was cancelled; the operation gave back what it held.
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

    async def aside(self, operation: Operation[T], within: float) -> T:
        """Run an operation on a connection of its own, which is closed then; it waits for nobody else's.

        Args:
            operation: A generator that was not started yet.
            within: How many seconds it may take in all, connecting included.

        Raises:
            PressureError: As in ``run``.
        """
        try:
            async with asyncio.timeout(within):
                return await self._aside(operation)
        except TimeoutError as error:
            raise failed(self.connections.settings, f"no answer in {within:g} s") from error

    async def _aside(self, operation: Operation[T]) -> T:
        checkout = Checkout(self, Member(), stop=0)
        try:
            return await checkout.run(operation)
        finally:
            await checkout.close()

    async def unblock(self, number: int | None) -> bool | None:
        """End another connection's wait, as far as that can be done; see ``grace``."""
        if number is None:
            return False
        try:
            return await unbroken(self._unblock(number), _ignored, STOP_TIMEOUT)
        except (PressureError, TimeoutError):
            return None

    async def _unblock(self, number: int) -> bool:
        async with self.connections.unblocks:
            return await self._aside(unblocking(number))


class Checkout(AnyCheckout):
    """A connection for several operations, one after the other. ``Driver.checkout`` makes one."""

    def __init__(self, driver: Driver, member: Member, stop: float = STOP_TIMEOUT) -> None:
        super().__init__(member, driver.keeper)
        self.driver = driver
        self.stop = stop

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
        await drop(self.member.take_out())
        if isinstance(error, SILENT):
            await self.driver.connections.disconnect(nowait=True)

    async def look_elsewhere(self) -> None:
        """This server is not, or no longer, the one to ask; the next operation looks for it again."""
        await self.driver.connections.disconnect(nowait=True)
        await drop(self.member.take_out())


class _Ride(Ride[T]):
    """One operation on its way, with the cancellation that came meanwhile, if any."""

    __slots__ = ("_cancelled", "_checkout", "_is_stopped")

    def __init__(self, operation: Operation[T], checkout: Checkout) -> None:
        super().__init__(operation, checkout, checkout.driver.connections.settings)
        self._checkout = checkout
        self._cancelled: asyncio.CancelledError | None = None
        self._is_stopped = False

    async def whole(self) -> T:
        """To its end."""
        try:
            await self._steps()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._deliver_later()
            if isinstance(error, ServerReplyError) and is_elsewhere(error):
                await self._checkout.look_elsewhere()
            raise
        finally:
            self.member.is_spoiled |= self.course.leaves_a_mess
        self._deliver_later()
        return self.course.result

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

    async def _may_wait(self) -> bool:
        """Whether the next step, which waits, is to be carried out."""
        course = self.course
        if self._cancelled is not None and not self._is_stopped:
            self._is_stopped = True
            course.stop(self._cancelled)
            return False
        if self.is_crowded_out:
            self.crowd_out()
            return False
        if self.gives_way and isinstance(course.step, Wait):
            return await self._pause(pause_before_look(course.step, self.member))
        return True

    async def _pause(self, seconds: float) -> bool:
        """Sleep; False if the task was cancelled. Others have the connection meanwhile, if they may."""
        turn = self.member.turn if self.gives_way else None
        if turn is not None:
            turn.release()
        before = self._cancelled
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError as error:
            self._cancelled = self._cancelled or error
        finally:
            if turn is not None:
                await unbroken(turn.acquire(), self._noticed_in_turn)
        if self.was_lost:
            raise self.course.lost(ConnectionError("while another operation used it"))
        return self._cancelled is before

    async def _noticed_in_turn(self, error: asyncio.CancelledError) -> float:
        self._cancelled = self._cancelled or error
        return inf

    async def _sent(self, step: Batch) -> list[Reply]:
        limit = self.reply_timeout + (step.seconds if isinstance(step, Wait) else 0)
        work = exchange(self.connection, *self.packed(step))
        try:
            return await unbroken(work, self._noticed, limit)
        except BaseException as error:
            await self._checkout.lose(error)
            if isinstance(error, LOST):
                raise self.course.lost(error) from error
            self.course.abandon()
            raise

    async def _noticed(self, error: asyncio.CancelledError) -> float:
        first, self._cancelled = self._cancelled is None, self._cancelled or error
        step = self.course.step
        if first and isinstance(step, Wait):
            return grace(step, await self._checkout.driver.unblock(self.member.number))
        return self._checkout.stop

    def _deliver_later(self) -> None:
        """A cancellation that was held back is raised when the task next waits."""
        task, stop = asyncio.current_task(), self._cancelled
        if stop is None or task is None:
            return

        def deliver() -> None:
            if not task.done() and task.cancelling():  # nobody has taken it back, as asyncio.timeout() does
                task.uncancel()
                task.cancel(*stop.args)

        asyncio.get_running_loop().call_soon(deliver)


async def _ignored(_: asyncio.CancelledError) -> float:
    """A second cancellation changes nothing."""
    return inf


Noticed: TypeAlias = Callable[[asyncio.CancelledError], Awaitable[float]]


async def unbroken(work: Coroutine[Any, Any, T], noticed: Noticed, limit: float = inf) -> T:
    """Run a coroutine to its end, whoever cancels the task meanwhile.

    A task that is cancelled has CancelledError raised in whatever it awaits; in the middle of a reply that
    would lose a value or a role. asyncio's own ``shield`` needs a task of its own, which is cancelled like
    any other when the loop shuts down. Here the coroutine is run step by step, and what it waits for is
    waited for on its behalf, so that it never hears of the cancellation.

    Args:
        work: The coroutine; no timeout of its own may run out in it, since that is a cancellation, too.
        noticed: Told of a cancellation. It returns how many seconds the coroutine still has, until
            TimeoutError is raised in it.
        limit: Seconds after which TimeoutError is raised in the coroutine, if nothing has come meanwhile.
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
                left = await noticed(error)
                stop_by = min(stop_by, loop.time() + left)


def _future(awaited: asyncio.Future[Any] | None) -> asyncio.Future[Any]:
    """What a coroutine waits for, to be waited for on its behalf; its result is left alone."""
    if awaited is None:  # as in asyncio.sleep(0)
        awaited = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(awaited.set_result, None)
    awaited._asyncio_future_blocking = False
    return awaited
