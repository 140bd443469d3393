"""The driver for Trio: runs an operation over one connection.

Rules:
    - What is under way is never broken off by a cancellation, nor by Ctrl-C: a child task, shielded, sends
      and reads, and its parent looks out. A wait is ended by CLIENT UNBLOCK from a second connection, and the
      operation is stopped before its next wait.
    - An operation that succeeded all the same returns its result: the value that arrived is the caller's. The
      cancellation is raised at the next checkpoint, as always in Trio.
"""

from __future__ import annotations

import signal
from typing import Any, TypeVar

import trio
from trio.lowlevel import enable_ki_protection

from pressure.course import Course
from pressure.errors import PressureError, ServerReplyError
from pressure.finding import ELSEWHERE
from pressure.keys import Located
from pressure.lease import Begun, Keeper
from pressure.protocol.steps import Batch, Operation, Pause, Reply, Step, Wait
from pressure.settings import REPLY_TIMEOUT, Settings
from pressure.trio.connection import BROKEN, Connection, Connections

T = TypeVar("T")


class Driver:
    """Runs operations, one at a time per task, over the connections of one queue object."""

    def __init__(self, where: Settings, keys: Located | None = None) -> None:
        self.connections = Connections(where, keys)
        self.keeper: Keeper | None = None

    @enable_ki_protection
    async def run(self, operation: Operation[T]) -> T:
        """Run an operation to its end.

        Raises:
            ConnectionFailedError: The server cannot be reached, or was lost before anything was changed.
            OutcomeUnknownError: The connection was lost after commands were sent that change something.
            trio.Cancelled: The operation gave back what it held.
            PressureError: Whatever the operation raises.
        """
        connection = await self.connections.take()
        holds = Begun(connection.client_name, self.keeper)
        course = Course(operation, self.connections.settings.address, holds.begin)
        ride = _Ride(self, course, connection)
        try:
            result: T = await ride.whole()
        except ServerReplyError as error:
            if error.code in ELSEWHERE:  # the next operation looks for the server again
                await self.connections.disconnect()
            raise
        finally:
            holds.end(getattr(course, "result", None))
            if ride.connection is not None:
                await self.connections.put_back(ride.connection, keep=not ride.course.refused)
        return result

    @enable_ki_protection
    async def unblock(self, number: int | None) -> None:
        """End another connection's wait. Where it does not work, the wait ends by itself before long."""
        if number is None:
            return
        try:
            helper = await self.connections.take()
        except PressureError:
            return
        try:
            with trio.fail_after(REPLY_TIMEOUT):
                await helper.exchange(b"CLIENT UNBLOCK %d\r\n" % number, 1)
        except BROKEN:
            await helper.close()
        else:
            await self.connections.put_back(helper)


class _Ride:
    """An operation and its connection, with the interrupt that came meanwhile, if any."""

    def __init__(self, driver: Driver, course: Course[Any], connection: Connection) -> None:
        self._driver = driver
        self.course = course
        self._interrupt: KeyboardInterrupt | None = None
        self.connection: Connection | None = connection

    @enable_ki_protection
    async def whole(self) -> Any:
        """To its end."""
        try:
            await self._steps()
        except KeyboardInterrupt:
            self._interrupt = None
            raise
        finally:
            if self._interrupt is not None:  # held back; Trio raises it at the main task's next checkpoint
                signal.raise_signal(signal.SIGINT)
        return self.course.result

    @enable_ki_protection
    async def _steps(self) -> None:
        course, stopped = self.course, False
        course.begin()
        while (step := course.step) is not None:
            wish = await self._wish() if course.waits and not stopped else None
            if wish is not None:
                stopped = True
                course.stop(wish)
            elif isinstance(step, Batch):
                course.advance(await self._sent(step))
            else:
                await self._pause(step)

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
    async def _pause(self, step: Pause) -> None:
        try:
            await trio.sleep(step.seconds)
        except trio.Cancelled:
            return  # seen again before the next step
        except KeyboardInterrupt as error:
            self._interrupt = error
            return
        self.course.advance([])

    @enable_ki_protection
    async def _sent(self, step: Batch) -> list[Reply]:
        assert self.connection is not None
        connection, under_way = self.connection, _UnderWay()
        data = self.course.packed(step)
        limit = REPLY_TIMEOUT + (step.seconds if isinstance(step, Wait) else 0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(under_way.exchange, connection, data, len(step.commands), limit)
            await self._look_out(step, connection, under_way)
        if under_way.error is None:
            return under_way.replies
        self.connection = None
        await connection.close()
        raise self.course.lost(under_way.error) from under_way.error

    @enable_ki_protection
    async def _look_out(self, step: Step, connection: Connection, under_way: _UnderWay) -> None:
        """Wait until the replies are there; a cancellation or an interrupt only ends a wait."""
        try:
            await under_way.over.wait()
        except (trio.Cancelled, KeyboardInterrupt) as wish:
            if isinstance(wish, KeyboardInterrupt):
                self._interrupt = wish
            with trio.CancelScope(shield=True):
                if isinstance(step, Wait):
                    await self._driver.unblock(connection.id)
                await under_way.over.wait()


class _UnderWay:
    """Commands that were sent, and what became of them."""

    def __init__(self) -> None:
        self.over = trio.Event()
        self.replies: list[Reply] = []
        self.error: BaseException | None = None

    @enable_ki_protection
    async def exchange(self, connection: Connection, data: bytes, count: int, limit: float) -> None:
        """Send, and read the replies, whoever is cancelled meanwhile."""
        try:
            with trio.CancelScope(shield=True):
                self.replies = await connection.exchange(data, count, limit)
        except BROKEN as error:
            self.error = error
        finally:
            self.over.set()
