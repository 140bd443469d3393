"""Which claimed rows of a stream go to its queue ``dead``, since their payload is not in the format.

The tasks that read rows note their numbers; the acknowledgement puts these rows into the queue. A row may be
read several times before that, and perhaps with another schema: the last reader decides.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from pressure.protocol.commands import atomic, check
from pressure.spark.server import QueueServer

#: The most numbers that one command reads or removes.
TOGETHER: Final = 5_000


class Diverted:
    """The numbers of the rows, on the server.

    Args:
        server: The server of the queue.
        stream: The id of the stream.
    """

    def __init__(self, server: QueueServer, stream: str) -> None:
        self._server = server
        self._key = server.places.beside("malformed", stream)

    def note(self, start: int, end: int, rows: Collection[int]) -> None:
        """Note which of the rows from ``start`` to before ``end`` are diverted; none of the others is."""
        forget = (b"ZREMRANGEBYSCORE", self._key, start, end - 1)
        if rows:
            words = (word for row in rows for word in (row, row))
            check(self._server.ask(*atomic(forget, (b"ZADD", self._key, *words)))[-1])
        else:
            self._server.ask(forget)

    def before(self, end: int) -> list[int]:
        """The numbers before this one, sorted."""
        found: list[int] = []
        while True:
            after = b"(%d" % found[-1] if found else b"-inf"
            most: tuple[bytes | int, ...] = b"LIMIT", 0, TOGETHER
            (some,) = self._server.ask((b"ZRANGEBYSCORE", self._key, after, b"(%d" % end, *most))
            found += map(int, some)
            if len(some) < TOGETHER:
                return found

    def forget(self, rows: Sequence[int]) -> None:
        """Forget these numbers, which are all that there are up to the last one."""
        for last in (*rows[TOGETHER - 1 :: TOGETHER], *rows[-1:]):
            self._server.ask((b"ZREMRANGEBYSCORE", self._key, b"-inf", last))
