"""Running a script where the server runs scripts, which is found out by asking.

A script that the server does not know is sent whole. A server that runs none for us, since it has no such
command or we may not use it, is not asked again (``Server.scripts``). A value of more than ``MOST_BYTES`` is
handed to no script, which would need memory for it a second time: plain commands take it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pressure.errors import ServerReplyError
from pressure.protocol.lua import Script
from pressure.protocol.sizes import MOST_BYTES
from pressure.protocol.steps import Batch, Operation, Reply, Server

__all__ = ["NO_SCRIPTS", "evaluated", "plain_text"]


class _Nothing:
    """The answer of a server that runs no scripts."""


NO_SCRIPTS: Final = _Nothing()


def evaluated(server: Server, script: Script, keys: Sequence[bytes], *args: bytes | int) -> Operation[Reply]:
    """Run a script; ``NO_SCRIPTS`` if the server runs none for us, or an argument is too long for one.

    Raises:
        ServerReplyError: It was refused or failed.
    """
    if not server.scripts or any(isinstance(arg, bytes) and len(arg) > MOST_BYTES for arg in args):
        return NO_SCRIPTS
    operands = (len(keys), *keys, *args)
    (reply,) = yield Batch(((b"EVALSHA", script.sha, *operands),))
    if isinstance(reply, ServerReplyError) and reply.code == "NOSCRIPT":
        (reply,) = yield Batch(((b"EVAL", script.text, *operands),))
    if isinstance(reply, ServerReplyError) and (reply.code == "NOPERM" or "unknown command" in str(reply)):
        server.scripts = False
        return NO_SCRIPTS
    if isinstance(reply, ServerReplyError):
        raise ServerReplyError(plain_text(str(reply)))
    return reply


#: Where a script failed, as Redis 6.2 says it before an error's text, and 7.0 after it; and what 7.0 says for
#: NOPERM.
_BEFORE: Final = re.compile(r"^((ERR )?Error running script \(call to f_\w+\): )?@user_script: ?\d+: ?-?")
_AFTER: Final = re.compile(r" script: \w+, on @user_script:\d+\.$")
_NOT_ALLOWED: Final = re.compile(r"^(ERR )?The user executing the script")


def plain_text(text: str) -> str:
    """The text of an error in a script, as the command would be answered that is sent by itself."""
    return _NOT_ALLOWED.sub("NOPERM the user", _AFTER.sub("", _BEFORE.sub("", text)))
