"""A stream on the server: its state, its claimed rows, and what may be wrong with it. ``source`` changes it.

Rows and the number of the first row are read in one transaction, so a slice never has wrong rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pressure.errors import PressureError, QueueDoesNotExistError, QueueInUseError
from pressure.protocol.commands import atomic
from pressure.spark.errors import RowsGoneError, ServerRollbackError
from pressure.spark.ownership import in_use
from pressure.spark.rows import Pace, Rows, rows_of
from pressure.spark.server import QueueServer
from pressure.text import printable


@dataclass(frozen=True, slots=True)
class State:
    """The state of a stream at one moment.

    Attributes:
        id: Identifies the stream among all streams of this queue.
        first: The number of the first row that is not acknowledged.
        claimed: The number of the next row that will be claimed.
        renumbered: The row from which on rows were numbered anew after a rollback of the server; else 0.
            There are no rows before it.
        unchecked: The first row that was claimed before the query told a row that it knows; None if there is
            none, or if it has told one meanwhile.
    """

    id: str
    first: int
    claimed: int
    renumbered: int = 0
    unchecked: int | None = None


def problem(server: QueueServer, status: bytes, detail: Any) -> PressureError:
    """The error for a status that a step of a stream returns, and the detail beside it."""
    queue = server.places.keys
    held = detail if isinstance(detail, bytes) else b""
    who = printable(held) or "nobody"
    if status == b"gone":
        return QueueDoesNotExistError(f"queue {queue} does not exist; create it first")
    if status == b"lost":
        return in_use(server, held)
    if status == b"busy":
        return QueueInUseError(f"queue {queue}: the consumer role is held by {who}", "consumer")
    if status == b"unknown":
        return ServerRollbackError(
            f"queue {queue}: the server does not know the stream any more: it has lost it, as after a "
            "restart without its data; start with a new checkpoint"
        )
    if status == b"other":
        return RowsGoneError(
            f"queue {queue}: the checkpoint belongs to another stream, not to the one that the queue has "
            "now; start with a new checkpoint"
        )
    return RowsGoneError(
        f"queue {queue}: a repair or another consumer put the claimed rows back into the queue; start "
        "with a new checkpoint"
    )


def gone_back(server: QueueServer, row: int, claimed: int) -> str:
    """The beginning of what is said when the server knows the rows before ``claimed``, and Spark more."""
    return (
        f"queue {server.places.keys}: the server has gone back, as after a power loss: Spark has "
        f"seen the rows before {row}, and the server knows those before {claimed}; the rows {claimed} to "
        f"{row - 1} are in the queue again, unless the server has lost them, too"
    )


def read_claimed(
    server: QueueServer, keys: Sequence[bytes], state: State, start: int, end: int
) -> Iterator[tuple[int, Rows]]:
    """Yields the number of a row, and some thousand rows from there on.

    Args:
        server: The server of the queue.
        keys: The key of the stream's state, and that of its claimed rows.
        state: The state of the stream when the rows were claimed.
        start: The first row.
        end: The row after the last.

    Raises:
        RowsGoneError: The rows are gone.
    """
    source, pending = keys
    first, pace = state.first, Pace(_noted(server, source))
    while start < end:
        after = pace.after(start, end)
        look = (b"HMGET", source, b"id", b"first", b"claimed"), (b"LLEN", pending)
        oldest = (b"LRANGE", pending, -(after - first), -(start - first) - 1)
        (known, length, found) = server.ask(*atomic(*look, oldest))[-1]
        now, claimed = int(known[1] or 0), int(known[2] or 0)
        if known[0] != state.id.encode() or start < now:
            raise problem(server, b"unknown" if known[0] is None else b"other", b"")
        if after > claimed:
            raise ServerRollbackError(gone_back(server, after, claimed))
        if length != claimed - now:
            raise problem(server, b"taken", b"")
        if now != first:
            first = now
            continue
        found.reverse()
        pace.learn(found)
        yield start, rows_of(server.options.kind, server.options.envelope, found)
        start = after


def _noted(server: QueueServer, source: bytes) -> dict[int, tuple[int, int]]:
    """The first row of each claim that is noted, the row after its last one, and its bytes."""
    (found,) = server.ask((b"HGETALL", source))
    fields = (name.split() for name in found[::2])
    sizes = zip(fields, found[1::2], strict=True)
    return {int(name[1]): _after_and_bytes(text) for name, text in sizes if name[0] == b"bytes"}


def _after_and_bytes(text: bytes) -> tuple[int, int]:
    after, _, size = text.partition(b" ")
    return int(after), int(size)
