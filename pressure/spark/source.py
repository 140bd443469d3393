"""Read a queue as a stream: claim rows, read them in slices as often as needed, and acknowledge them.

Each claimed row has a number. The numbers of a stream increase by one, so an offset is a number. Until they
are acknowledged, the rows between two offsets are the same each time they are read. All this state is on the
server, so a query that is run again finds it unchanged.

Rules:
    - One query reads a queue: the owner (``ownership``). Every change first compares the owner.
    - Rows that were claimed and not acknowledged belong to the stream, also under its next owner.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from pressure.spark.claimed import State, gone_back, problem, read_claimed
from pressure.spark.diverting import Diverted
from pressure.spark.errors import RowsGoneError, ServerRollbackError
from pressure.spark.lua import ACK, CHECKED, CLAIM, LEAVE, OPEN, PAUSE, RENUMBER, Step
from pressure.spark.options import Options
from pressure.spark.ownership import LOOK, Ownership
from pressure.spark.places import new_id
from pressure.spark.rows import READ_TOGETHER, Rows
from pressure.spark.server import QueueServer
from pressure.spark.sink import Sink

#: The most rows that one step claims, and about how many bytes; the server serves no other client meanwhile.
CLAIMED_TOGETHER: Final = 5_000
CLAIMED_BYTES: Final = 1 << 20
#: The most rows and bytes that one step acknowledges. It rarely reads them.
ACKED_TOGETHER: Final = 50_000
ACKED_BYTES: Final = 1 << 24
#: The fewest rows of a slice.
SLICE: Final = 1000


class Source:
    """A queue as a stream.

    Args:
        options: Name the queue and how to read it.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self._server = QueueServer(options)
        places = self._server.places
        self._keys = (places.beside("owner"), places.beside("source"), places.pending)
        self._owner = Ownership(self._server)
        self._me = self._owner.me
        self._state: State | None = None
        self._checked = False

    @property
    def state(self) -> State:
        """The state of the stream. The first access takes the queue.

        Raises:
            QueueInUseError: Another query reads the queue, or another client holds the consumer role.
            QueueDoesNotExistError: The queue does not exist.
        """
        return self._open() if self._state is None else self._state

    def _open(self) -> State:
        self._owner.take()
        deadline = time.monotonic() + self.options.timeout
        while True:
            status, *rest = self._step(OPEN, new_id())
            if status == b"more":
                continue
            if status != b"busy" or time.monotonic() >= deadline:
                break
            self._server.pause(LOOK)
        if status != b"ok":
            self.release()
            raise problem(self._server, status, rest[0])
        self._state, self._checked = State(rest[0].decode(), *map(int, rest[1:])), False
        return self._state

    def _step(self, step: Step, *args: str | int) -> list[Any]:
        reply = self._server.step(step, self._keys, self._me, *args)
        if reply[:2] == [b"lost", b""]:
            self._owner.take_again()
            reply = self._server.step(step, self._keys, self._me, *args)
        return reply

    def check(self, id: str, row: int) -> None:  # noqa: A002, it is one
        """Raises RowsGoneError for an offset that is not of this stream, or whose rows were acknowledged."""
        self.compare(id, row)
        state = self.state
        if id != state.id:
            raise problem(self._server, b"other", b"")
        if state.renumbered <= row < state.first:
            raise RowsGoneError(
                f"queue {self._server.places.keys}: the checkpoint begins at row {row}, but the rows "
                f"before {state.first} were acknowledged already; use a newer checkpoint"
            )

    def compare(self, id: str, row: int) -> None:  # noqa: A002, it is one
        """Notice that the server went back below a row that Spark knows, before it is read or acknowledged.

        Before Spark 4.2, the first rows are claimed before Spark tells a row. They have the numbers of the
        rows that the server has lost, and would be taken for them.
        """
        state = self.state
        if id != state.id:
            return
        known = state.claimed if state.unchecked is None else state.unchecked
        if row > known:
            self._go_on_at(row, known)
        elif state.unchecked is not None:  # else no round trip
            status, detail, *_ = self._step(CHECKED)
            if status != b"ok":
                raise problem(self._server, status, detail)
            self._state = replace(state, unchecked=None)
        self._checked = True

    def _go_on_at(self, row: int, known: int) -> None:
        """Go on after the server went back: it knows the rows before ``known``, and the query more."""
        told, first = gone_back(self._server, row, known), self.state.first
        again = f"those that it has from {first} on, the ones before {row} perhaps for the second time"
        if self.options.rollback != "resume":
            raise ServerRollbackError(f"{told}; onServerRollback=resume reads {again}")
        warnings.warn(f"{told}; the stream reads {again}", stacklevel=1)
        status, after = self._step(RENUMBER, row)[:2]
        if status != b"ok":
            raise problem(self._server, status, after)
        self._state = replace(self.state, first=row, claimed=int(after), renumbered=row, unchecked=None)

    def waiting(self) -> int:
        """How many rows in the queue could be claimed."""
        return self._server.length()

    def advance(
        self, start: int | None, most: int | None, end: int | None = None, most_bytes: int | None = None
    ) -> int:
        """Claim rows.

        Args:
            start: The row to count from; None for the first that is not claimed.
            most: How many rows at most; None for all that are in the queue.
            end: The row to stop before; None for no limit.
            most_bytes: About how many bytes are claimed at most; None for no limit.

        Returns:
            The row after the last one to read.
        """
        state = self.state
        base, checked = (state.claimed, self._checked) if start is None else (start, True)
        self._move_due()
        last = max(base, state.claimed) + self.waiting() if most is None else base + most
        last = last if end is None else min(last, max(end, base))
        left = float("inf") if most_bytes is None else most_bytes
        while left > 0 and (wanted := min(last - self.state.claimed, CLAIMED_TOGETHER)) > 0:
            budget = int(min(CLAIMED_BYTES, left))
            before = self.state.claimed
            status, moved, *rest = self._step(CLAIM, wanted, budget, before, int(checked))
            if status == b"back":  # while this query was running
                self._state = replace(self.state, claimed=moved)
                if moved < base:
                    self._go_on_at(base, moved)
                continue
            if status not in (b"ok", b"closed"):
                raise problem(self._server, status, moved)
            claimed, size = map(int, rest)
            self._state = replace(self.state, claimed=claimed)
            if not checked and self.state.unchecked is None:
                self._state = replace(self.state, unchecked=before)
            left -= size
            if moved < wanted and size < budget:
                break
        return min(last, self.state.claimed)

    def unread(self, start: int | None) -> int:
        """How many rows a batch could have that begins here; None for the first that is not claimed."""
        self._move_due()
        return self.state.claimed + self.waiting() - (self.state.claimed if start is None else start)

    def _move_due(self) -> None:
        if self.options.kind == "reliable":
            self._server.move_due()

    def acknowledge(self, end: int, id: str | None = None, dead: str | None = None) -> int:  # noqa: A002
        """Acknowledge all rows before this one; returns how many are still claimed.

        Args:
            end: The row.
            id: The stream that the caller knows; None for that of the queue.
            dead: The queue for malformed messages of these rows, if the options do not name one.
        """
        stream = self.state.id  # this takes the queue if it is not taken yet
        dead = self.options.dead or dead
        diverted = Diverted(self._server, stream)
        rows = self._put_diverted(diverted, end, dead) if dead else []
        first = -1
        while first < end:
            status, detail, *rest = self._step(ACK, id or stream, end, ACKED_TOGETHER, ACKED_BYTES)
            if status == b"back":
                raise ServerRollbackError(gone_back(self._server, end, detail))
            if status != b"ok":
                raise problem(self._server, status, detail)
            first = int(rest[0])
        self._state = replace(self.state, first=first)
        diverted.forget(rows)
        return int(detail)

    def divert(self, state: State, start: int, end: int, rows: Collection[int]) -> None:
        """Note which of the claimed rows from ``start`` to before ``end`` go to the queue ``dead``."""
        Diverted(self._server, state.id).note(start, end, rows)

    def _put_diverted(self, diverted: Diverted, end: int, dead: str) -> list[int]:
        """Put the diverted rows before this one into the queue ``dead``, each once; returns their numbers."""
        rows = diverted.before(end)
        if not rows:
            return []
        writer = f"malformed-{self.state.id}"
        with Sink(self.options.but(queue=dead, kind="pressure")) as sink:
            first = max(sink.settled(writer), self.state.first)
            values = self._values([row for row in rows if row >= first])
            sink.commit(writer, end, [sink.stage(values, 0, writer)], consecutive=False)
        return rows

    def _values(self, rows: list[int]) -> Iterator[list[bytes]]:
        """The values of claimed rows."""
        at = 0
        while at < len(rows):
            last = at  # one read for rows that are close to each other
            while last + 1 < len(rows) and rows[last + 1] - rows[at] < READ_TOGETHER:
                last += 1
            for start, found in self.read(self.state, rows[at], rows[last] + 1):
                wanted = (row - start for row in rows[at : last + 1])
                yield [found.values[each] for each in wanted if 0 <= each < len(found)]
            at = last + 1

    def pause(self) -> None:
        """Let the stream claim nothing more, until it is opened again. Any process may call this."""
        self._server.script(PAUSE, (self._keys[1],))

    def leave(self) -> int:
        """Release the queue; also the consumer role if no row is claimed. Returns how many are claimed."""
        assert self.state
        status, left, *_ = self._step(LEAVE)
        if status != b"ok":
            raise problem(self._server, status, left)
        self.release()
        return int(left)

    def release(self) -> None:
        """Stop being the owner. Claimed rows stay claimed for the next run of the query."""
        self._state = None
        self._owner.release()
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def read(self, state: State, start: int, end: int) -> Iterator[tuple[int, Rows]]:
        """Yields the number of a row, and some thousand rows from there on. Any process may call this.

        Args:
            state: The state of the stream when the rows were claimed.
            start: The first row.
            end: The row after the last.

        Raises:
            RowsGoneError: The rows are gone.
        """
        yield from read_claimed(self._server, self._keys[1:], state, start, end)


def slices(start: int, end: int, number: int) -> list[tuple[int, int]]:
    """Divide rows into ``number`` slices, or into fewer if the slices would be small."""
    number = max(1, min(number, -(-(end - start) // SLICE)))
    edges = [start + (end - start) * at // number for at in range(number + 1)]
    return [(low, high) for low, high in pairwise(edges) if low < high]


def offset_of(source: Source, row: int) -> dict[str, Any]:
    """An offset: the row number and the id of the stream, and for ``finish`` the queues."""
    options = source.options
    return {
        "pressure": options.queue, "kind": options.kind, "prefix": options.prefix or "",
        "stream": source.state.id, "row": row, **({"dead": options.dead} if options.dead else {}),
    }  # fmt: skip


def offsets_in(offset: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The offset of each queue in an offset of one or several; nothing for one of another source."""
    found = offset.get("pressure", {})
    return {found: offset} if isinstance(found, str) else found
