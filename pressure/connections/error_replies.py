"""Error replies and lost connections: what an exchange with a server may end with."""

from __future__ import annotations

from typing import Final

from pressure.errors import ServerReplyError

#: The exceptions of a lost connection. After a reply that did not fit into memory it is lost, too.
LOST: Final = (OSError, MemoryError)

#: The exceptions of a connection whose server is silent for too long.
SILENT: Final = (TimeoutError,)

#: The last reply of the server of a directory when its process ends.
FAREWELL: Final = "LOADING The process that runs this server ends; connect again"


class NotDoneError(ConnectionError):
    """The connection was lost before the server executed any of the commands that were sent last.

    The server of a directory has said so, when its process ended; or the other end of a Unix socket was
    closed before anything was sent.
    """


#: How many bytes a socket accepts as a whole or not at all.
AT_ONCE: Final = 1 << 14


def checked(reply: ServerReplyError) -> ServerReplyError:
    """The error reply; raises ``NotDoneError`` if it is ``FAREWELL``."""
    if str(reply) == FAREWELL:
        raise NotDoneError(FAREWELL)
    return reply
