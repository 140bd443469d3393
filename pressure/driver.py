"""The synchronous driver: runs an operation over one redis-py connection.

Rules:
    - One connection for the whole operation, no retries, each step in one round trip.
    - The operation can be stopped: ``interrupt`` is asked before each wait, and what it returns is thrown
      into the operation in place of the wait. So nothing that the server has sent is dropped, and the
      operation gives its role back.
    - redis-py's pipelines and its packing of commands are passed by: hiredis packs a step, which is sent at
      once, and its replies are read. That is a good deal less Python per operation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

import hiredis
import redis

from pressure.connection import SLICE, Connections, Settings
from pressure.errors import ConnectionFailedError, OutcomeUnknownError, ServerReplyError
from pressure.protocol.steps import Batch, Operation, Pause, Reply, Step, Wait

T = TypeVar("T")

#: Asked before each wait: an exception to stop the operation with, or None to go on.
Interrupt: TypeAlias = Callable[[], BaseException | None]

#: A command as bytes.
_pack: Final[Callable[[Any], bytes]] = hiredis.pack_command

#: Commands that change nothing: when only these were sent, the outcome of an operation is not in doubt.
_HARMLESS: Final = frozenset({b"EXISTS", b"LLEN", b"GET", b"WATCH", b"UNWATCH", b"CLIENT", b"INFO"})

#: redis-py takes the first word off these errors; it is put back.
_CODES: Final = {
    redis.exceptions.OutOfMemoryError: "OOM",
    redis.exceptions.ExecAbortError: "EXECABORT",
    redis.exceptions.NoScriptError: "NOSCRIPT",
    redis.exceptions.ReadOnlyError: "READONLY",
    redis.exceptions.NoPermissionError: "NOPERM",
    redis.exceptions.MovedError: "MOVED",
    redis.exceptions.AskError: "ASK",
    redis.exceptions.TryAgainError: "TRYAGAIN",
    redis.exceptions.ClusterDownError: "CLUSTERDOWN",
    redis.exceptions.ClusterCrossSlotError: "CROSSSLOT",
    redis.exceptions.MasterDownError: "MASTERDOWN",
}


class Driver:
    """Runs operations, one at a time per thread, over the connections of one queue object."""

    def __init__(self, where: Settings) -> None:
        self.connections = Connections(where)

    def run(self, operation: Operation[T], interrupt: Interrupt | None = None) -> T:
        """Run an operation to its end.

        Args:
            operation: A generator that was not started yet.
            interrupt: Asked before each wait; see ``Interrupt``.

        Raises:
            ConnectionFailedError: The server cannot be reached, or was lost before anything was changed.
            OutcomeUnknownError: The connection was lost after commands were sent that change something.
            PressureError: Whatever the operation raises.
        """
        connection = self.connections.take()
        sent: list[Step] = []
        try:
            step = next(operation)
            while True:
                if interrupt is not None and type(step) is not Batch and (stop := interrupt()) is not None:
                    interrupt = None
                    step = operation.throw(stop)
                    continue
                sent.append(step)
                try:
                    replies = self._carry_out(connection, step, interrupt)
                except BaseException as error:
                    connection.disconnect()
                    connection = None
                    operation.close()
                    if isinstance(error, (redis.RedisError, OSError)):
                        raise self._lost(error, sent) from error
                    raise
                step = operation.send(replies)
        except StopIteration as stop_iteration:
            result: T = stop_iteration.value
            return result
        finally:
            if connection is not None:
                self.connections.put_back(connection)

    def _carry_out(self, connection: Any, step: Step, interrupt: Interrupt | None) -> list[Reply]:
        if isinstance(step, Pause):
            _pause(step.seconds, interrupt)
            return []
        packed = b"".join(map(_pack, step.commands))
        connection.send_packed_command((packed,), check_health=False)
        return [_reply(connection) for _ in step.commands]

    def _lost(self, error: Exception, sent: list[Step]) -> Exception:
        where = self.connections.settings.address
        commands = (command[0] for step in sent if isinstance(step, Batch) for command in step.commands)
        if all(command in _HARMLESS for command in commands):
            return ConnectionFailedError(f"lost the Redis server at {where}: {error}")
        return OutcomeUnknownError(
            f"lost the Redis server at {where} in the middle of an operation: {error}; "
            "it may or may not have been carried out, and may have left a role taken, which repair frees"
        )


def _pause(seconds: float, interrupt: Interrupt | None) -> None:
    """Sleep; early when asked to stop, which is then seen before the next wait."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and (interrupt is None or interrupt() is None):
        time.sleep(min(left, SLICE))


def _reply(connection: Any) -> Reply:
    """The next reply; an error reply is a value."""
    try:
        reply = connection.read_response()
    except redis.ResponseError as error:
        return _refusal(error)
    if type(reply) is list:
        return [_refusal(item) if isinstance(item, redis.ResponseError) else item for item in reply]
    return reply


def _refusal(error: redis.ResponseError) -> ServerReplyError:
    text, code = str(error), _CODES.get(type(error))
    return ServerReplyError(f"{code} {text}" if code and not text.startswith(code) else text)


__all__ = ["Driver", "Interrupt", "Wait"]
