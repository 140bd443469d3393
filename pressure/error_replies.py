"""Turn the exceptions that redis-py raises for error replies into ``ServerReplyError`` values."""

from __future__ import annotations

from typing import Final

import redis

from pressure.errors import ServerReplyError

#: The exceptions that redis-py raises for error replies. Two of them are connection errors to it.
ERROR_REPLIES: Final = (redis.ResponseError, redis.BusyLoadingError, redis.AuthenticationError)

#: The exceptions of a lost connection. After a reply that did not fit into memory it is lost, too.
LOST: Final = (redis.RedisError, OSError, MemoryError)

#: The exceptions of a connection whose server is silent for too long.
SILENT: Final = (redis.TimeoutError, TimeoutError)

#: The first word of an error reply, which redis-py removes, by its exception.
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


#: The last reply of the server of a directory when its process ends.
FAREWELL: Final = "LOADING The process that runs this server ends; connect again"


class NotDoneError(ConnectionError):
    """The connection was lost before the server executed any of the commands that were sent last.

    The server of a directory has said so, when its process ended; or the other end of a Unix socket was
    closed before anything was sent.
    """


#: How many bytes a socket accepts as a whole or not at all.
AT_ONCE: Final = 1 << 14


def error_reply(error: redis.RedisError) -> ServerReplyError:
    """An error reply, with the first word that redis-py has removed.

    Raises:
        NotDoneError: The reply is ``FAREWELL``.
    """
    text, code = str(error), _CODES.get(type(error))
    return checked(ServerReplyError(f"{code} {text}" if code and not text.startswith(code) else text))


def checked(reply: ServerReplyError) -> ServerReplyError:
    """The error reply; raises ``NotDoneError`` if it is ``FAREWELL``."""
    if str(reply) == FAREWELL:
        raise NotDoneError(FAREWELL)
    return reply
