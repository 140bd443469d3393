"""What is asked of the real server beside a conversation, by a client of its own."""

from __future__ import annotations

import re
from typing import Final

from ..judging.limits import pauses
from ..wire import RawConnection
from .rival import Rival

__all__ = ["BLOCKED", "PACKING", "PATIENCE", "Control"]

PACKING: Final = {
    "hash-max-ziplist-entries": "3", "set-max-intset-entries": "3", "hll-sparse-max-bytes": "30",
    "zset-max-ziplist-entries": "3", "stream-node-max-entries": "3",
}  # fmt: skip
"""Little room, so that some keys outgrow it."""

FRESH: Final = {"requirepass": "", "slowlog-max-len": "128", "notify-keyspace-events": ""}
"""Directives that conversations change."""

UNKNOWN: Final = (b"-ERR Unsupported CONFIG parameter", b"-ERR unknown command", b"-ERR Unknown subcommand")
"""What a server answers that is older, and has less to reset."""

PATIENCE: Final = 5.0
"""Seconds to wait for a reply that the engine says is due."""

CALM: Final = 60.0
"""Seconds in which a real server has forgotten what large requests left behind."""

OFFSET: Final = re.compile(rb"\r\nmaster_repl_offset:(\d+)\r\n")
BLOCKED: Final = re.compile(rb"\r\nblocked_clients:(\d+)\r\n")
CONNECTED: Final = re.compile(rb"\r\nconnected_clients:(\d+)\r\n")


class Control:
    """The client that asks.

    Args:
        rival: the real server.
    """

    def __init__(self, rival: Rival) -> None:
        self._connection = rival.connect()
        self._connection.socket.settimeout(CALM)
        self.command = self._connection.command
        self.close = self._connection.close

    def reset(self, *, keys_may_end_unasked: bool) -> None:
        """Makes the server as a fresh one.

        Args:
            keys_may_end_unasked: it deletes keys whose time has come before anybody asks for them.
        """
        for words in (
            *(["CONFIG", "SET", name, value] for name, value in (PACKING | FRESH).items()),
            ["DEBUG", "SET-ACTIVE-EXPIRE", str(int(keys_may_end_unasked))],
            ["CLIENT", "UNPAUSE"],
            ["FLUSHALL"],
            ["SCRIPT", "FLUSH"],
            ["FUNCTION", "FLUSH"],
            ["SELECT", "0"],
        ):
            reply = self.command(*words)
            assert reply == b"+OK\r\n" or reply.startswith(UNKNOWN), reply
        alone = any(self.counted(CONNECTED) == 1 for _ in pauses(PATIENCE))
        assert alone, "somebody else uses this server"

    def clear_errno(self) -> None:
        """SORT looks at C's ``errno`` without clearing it; an earlier number out of range would fail it."""
        self.command("SCAN", "x")  # reading a cursor clears it

    def counted(self, number: re.Pattern[bytes]) -> int:
        """A number that INFO tells of the server's clients."""
        match = number.search(self.command("INFO", "clients"))
        assert match
        return int(match[1])

    def offset(self) -> int:
        """How far the stream to replicas is; it only rises."""
        match = OFFSET.search(self.command("INFO", "replication"))
        assert match
        return int(match[1])

    def number_of(self, client: RawConnection) -> int:
        """A client's number, asked of another: it may not be allowed to ask itself."""
        address = b" addr=127.0.0.1:%d " % client.socket.getsockname()[1]
        for _ in pauses(PATIENCE):
            for line in self.command("CLIENT", "LIST").splitlines():
                if address in line:
                    return int(line.partition(b" ")[0].removeprefix(b"id="))
        raise AssertionError("the real server does not know its client")
