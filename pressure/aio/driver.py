"""The driver for asyncio: runs an operation over one connection of redis.asyncio.

Rules:
    - What is under way is never broken off by a cancellation; ``unbroken`` says how. A wait is ended by
      CLIENT UNBLOCK from a second connection, and the operation is stopped before its next wait.
    - An operation that succeeded all the same returns its result: the value that arrived is the caller's. The
      cancellation is then raised when the task next waits, unless whoever asked for it has taken it back.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, TypeVar

import redis

from pressure.aio.connection import Connections, drop, reply_on
from pressure.aio.unbroken import unbroken
from pressure.course import Course
from pressure.errors import PressureError, ServerReplyError
from pressure.finding import ELSEWHERE
from pressure.keys import Located
from pressure.lease import Begun, Keeper
from pressure.protocol.steps import Batch, Operation, Pause, Reply, Wait
from pressure.refusals import LOST
from pressure.settings import REPLY_TIMEOUT, Settings

T = TypeVar("T")


class Driver:
    """Runs operations, one at a time per task, over the connections of one queue object."""

    def __init__(self, where: Settings, keys: Located | None = None) -> None:
        self.connections = Connections(where, keys)
        self.keeper: Keeper | None = None

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation to its end.

        Raises:
            ConnectionFailedError: The server cannot be reached, or was lost before anything was changed.
            OutcomeUnknownError: The connection was lost after commands were sent that change something.
            asyncio.CancelledError: The task was cancelled; the operation gave back what it held.
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

    async def unblock(self, number: int | None) -> None:
        """End another connection's wait. Where it does not work, the wait ends by itself before long."""
        if number is None:
            return
        with contextlib.suppress(PressureError, redis.RedisError, OSError):
            helper = await self.connections.take()
            try:
                await helper.send_command("CLIENT", "UNBLOCK", number, check_health=False)
                await helper.read_response()
            except BaseException:
                await drop(helper)
                raise
            await self.connections.put_back(helper)


class _Ride:
    """An operation and its connection, with the cancellation that came meanwhile, if any."""

    def __init__(self, driver: Driver, course: Course[Any], connection: Any) -> None:
        self._driver = driver
        self.course = course
        self._cancelled: asyncio.CancelledError | None = None
        self._told = False
        self.connection = connection

    async def whole(self) -> Any:
        """To its end."""
        try:
            await self._steps()
        except asyncio.CancelledError:
            raise
        except BaseException:
            self._deliver_later()
            raise
        self._deliver_later()
        return self.course.result

    async def _steps(self) -> None:
        course = self.course
        course.begin()
        while (step := course.step) is not None:
            if self._cancelled is not None and course.waits and not self._told:
                self._told = True
                course.stop(self._cancelled)
            elif isinstance(step, Batch):
                course.advance(await self._sent(step))
            else:
                await self._pause(step)

    async def _pause(self, step: Pause) -> None:
        try:
            await asyncio.sleep(step.seconds)
        except asyncio.CancelledError as error:
            self._cancelled = error
        else:
            self.course.advance([])

    async def _sent(self, step: Batch) -> list[Reply]:
        limit = REPLY_TIMEOUT + (step.seconds if isinstance(step, Wait) else 0)
        try:
            return await unbroken(self._exchange(step), self._noticed, limit)
        except BaseException as error:
            connection, self.connection = self.connection, None
            await drop(connection)
            if isinstance(error, LOST):
                raise self.course.lost(error) from error
            self.course.abandon()
            raise

    async def _exchange(self, step: Batch) -> list[Reply]:
        connection = self.connection
        await connection.send_packed_command(self.course.packed(step), check_health=False)
        return [await reply_on(connection) for _ in step.commands]

    async def _noticed(self, error: asyncio.CancelledError) -> None:
        if self._cancelled is None:
            self._cancelled = error
            if isinstance(self.course.step, Wait):
                helper = self._driver.unblock(self.connection.pressure_id)
                await unbroken(helper, _ignored, REPLY_TIMEOUT)

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


async def _ignored(_: asyncio.CancelledError) -> None:
    """One is enough."""
