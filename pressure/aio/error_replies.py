"""Turn the exceptions that redis-py raises for error replies into ``ServerReplyError`` values."""

from __future__ import annotations

from typing import Final

import redis

from pressure.connections import error_replies
from pressure.connections.error_replies import checked
from pressure.errors import ServerReplyError

#: The exceptions that redis-py raises for error replies. Two of them are connection errors to it.
ERROR_REPLIES: Final = (redis.ResponseError, redis.BusyLoadingError, redis.AuthenticationError)

#: The exceptions of a lost connection.
LOST: Final = (redis.RedisError, *error_replies.LOST)

#: The exceptions of a connection whose server is silent for too long.
SILENT: Final = (redis.TimeoutError, *error_replies.SILENT)

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


def error_reply(error: redis.RedisError) -> ServerReplyError:
    """An error reply, with the first word that redis-py has removed.

    Raises:
        NotDoneError: The reply is ``FAREWELL``.
    """
    text, code = str(error), _CODES.get(type(error))
    return checked(ServerReplyError(f"{code} {text}" if code and not text.startswith(code) else text))
