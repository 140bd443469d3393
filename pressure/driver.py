"""The synchronous driver: runs an operation over one redis-py connection.

Rules:
    - One connection for the whole operation, no retries, each step in one round trip.
    - The operation can be stopped: ``interrupt`` is asked before each wait, and what it returns is thrown
      into the operation in place of the wait. So nothing that the server has sent is dropped, and the
      operation gives its role back. A wait that is under way is ended by CLIENT UNBLOCK, from a thread and a
      connection of its own.
    - redis-py's pipelines and its packing of commands are passed by: hiredis packs a step, which is sent at
      once, and its replies are read. That is a good deal less Python per operation.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import redis

from pressure.connection import SLICE, Connections, Settings
from pressure.course import Course
from pressure.errors import PressureError, ServerReplyError
from pressure.finding import ELSEWHERE
from pressure.keys import Located
from pressure.lease import Begun, Keeper
from pressure.protocol.steps import Batch, Operation, Pause, Reply, Wait
from pressure.refusals import LOST, reply_on

T = TypeVar("T")

#: Asked before each wait: an exception to stop the operation with, or None to go on.
Interrupt: TypeAlias = Callable[[], BaseException | None]


class Waiting:
    """Whom to unblock: the connection on which an operation waits at this moment."""

    __slots__ = ("_connections", "connection")

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self.connection: Any = None

    def end(self) -> None:
        """End the wait, if there is one; a signal handler may call this."""
        if self.connection is not None:
            threading.Thread(target=self._unblock, daemon=True).start()

    def _unblock(self) -> None:
        """Where it does not work the wait ends by itself, in ``SLICE`` seconds at most."""
        number = getattr(self.connection, "pressure_id", None)
        if number is None:
            return
        with contextlib.suppress(PressureError, redis.RedisError, OSError):
            helper = self._connections.take()
            helper.send_command("CLIENT", "UNBLOCK", number, check_health=False)
            helper.read_response()
            self._connections.put_back(helper)


class Driver:
    """Runs operations, one at a time per thread, over the connections of one queue object."""

    def __init__(self, where: Settings, keys: Located | None = None) -> None:
        self.connections = Connections(where, keys)
        self.keeper: Keeper | None = None

    def run(
        self, operation: Operation[T], interrupt: Interrupt | None = None, waiting: Waiting | None = None
    ) -> T:
        """Run an operation to its end.

        Args:
            operation: A generator that was not started yet.
            interrupt: Asked before each wait; see ``Interrupt``.
            waiting: Told of each wait, so that another thread or a signal handler can end it.

        Raises:
            ConnectionFailedError: The server cannot be reached, or was lost before anything was changed.
            ClusterError: It is a cluster's, and the queue's name has no hash tag.
            OutcomeUnknownError: The connection was lost after commands were sent that change something.
            PressureError: Whatever the operation raises.
        """
        try:
            return self._whole(operation, interrupt, waiting or Waiting(self.connections))
        except ServerReplyError as error:
            if error.code in ELSEWHERE:  # the next operation looks for the server again
                self.connections.disconnect()
            raise

    def _whole(self, operation: Operation[T], interrupt: Interrupt | None, waiting: Waiting) -> T:
        connection = self.connections.take()
        holds = Begun(connection.client_name, self.keeper)
        course = Course(operation, self.connections.settings.address, holds.begin)
        try:
            course.begin()
            while (step := course.step) is not None:
                if interrupt is not None and course.waits and (stop := interrupt()) is not None:
                    interrupt = None
                    course.stop(stop)
                    continue
                waiting.connection = connection if type(step) is Wait else None
                try:
                    replies = _carry_out(connection, course, step, interrupt)
                except BaseException as error:
                    connection.disconnect()
                    connection = None
                    if isinstance(error, LOST):
                        raise course.lost(error) from error
                    course.abandon()
                    raise
                finally:
                    waiting.connection = None
                course.advance(replies)
            return course.result
        finally:
            holds.end(getattr(course, "result", None))
            if connection is not None:
                self.connections.put_back(connection, keep=not course.refused)


def _carry_out(
    connection: Any, course: Course[Any], step: Batch | Pause, interrupt: Interrupt | None
) -> list[Reply]:
    if isinstance(step, Pause):
        _pause(step.seconds, interrupt)
        return []
    connection.send_packed_command((course.packed(step),), check_health=False)
    return [reply_on(connection) for _ in step.commands]


def _pause(seconds: float, interrupt: Interrupt | None) -> None:
    """Sleep; early when asked to stop, which is then seen before the next wait."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and (interrupt is None or interrupt() is None):
        time.sleep(min(left, SLICE))
