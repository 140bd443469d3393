"""Error replies as redis-py raises them, as the values that operations are handed."""

from __future__ import annotations

from typing import Final

import redis

from pressure.errors import ServerReplyError

#: How redis-py raises an error reply; two of these are connection errors to it.
ERROR_REPLIES: Final = (redis.ResponseError, redis.BusyLoadingError, redis.AuthenticationError)

#: How a connection is lost. One whose reply did not fit into memory is of no more use either.
LOST: Final = (redis.RedisError, OSError, MemoryError)

#: How a connection is lost on which nothing came for too long.
SILENT: Final = (redis.TimeoutError, TimeoutError)

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
    redis.exceptions.BusyLoadingError: "LOADING",
    redis.exceptions.AuthenticationError: "NOAUTH",
}


#: The last that the server of a directory says when its process ends.
FAREWELL: Final = "LOADING The process that runs this server ends; connect again"


class NotDoneError(ConnectionError):
    """The connection was lost before the server did anything of what was sent last.

    The server of a directory says so when its process ends; or the other end of a Unix socket was gone before
    anything was sent.
    """


#: What the system takes as a whole or not at all, in bytes.
AT_ONCE: Final = 1 << 14


def error_reply(error: redis.RedisError) -> ServerReplyError:
    """An error reply, with the first word that redis-py takes off.

    Raises:
        NotDoneError: It was the server's last.
    """
    text, code = str(error), _CODES.get(type(error))
    return checked(ServerReplyError(f"{code} {text}" if code and not text.startswith(code) else text))


def checked(reply: ServerReplyError) -> ServerReplyError:
    """An error reply; raises ``NotDoneError`` if it was the server's last."""
    if str(reply) == FAREWELL:
        raise NotDoneError(FAREWELL)
    return reply
