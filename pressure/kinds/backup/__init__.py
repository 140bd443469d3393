"""The queue with an in-progress list, defined once for every flavour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pressure.codecs import Codec
from pressure.errors import ItemLostError, QueueEmptyError
from pressure.keys import as_bytes
from pressure.kinds.backup import operations
from pressure.kinds.backup.operations import BackupKeys
from pressure.kinds.kind import Item, Kind, at_least_one, bytes_of, milliseconds
from pressure.kinds.methods import Span, block, method
from pressure.protocol.steps import Operation, Patience

__all__ = ["BackupKeys", "BackupMethods", "InProgress"]


@dataclass(frozen=True, slots=True)
class InProgress:
    """An item that was claimed and is not completed.

    Attributes:
        item: The item.
        since: When it was claimed, in seconds since 1970 by the server's clock; None if nobody has noted it
            yet.
        age: How many seconds ago that was.
    """

    item: Item
    since: float | None
    age: float | None


class BackupMethods(Kind):
    """A queue whose items are moved to a list of what is in progress while they are worked on; at least once.

    The pattern of the Redis documentation: LPUSH, ``LMOVE queue processing RIGHT LEFT``, LREM. Any client of
    the pattern can take part. A consumer that dies leaves its items in progress; ``requeue_stale``, called
    from time to time by anybody, puts back what was claimed too long ago, and ``requeue`` and ``discard`` do
    so by hand.

    Every method may raise ``ConnectionFailedError``, ``OutcomeUnknownError``, ``ServerReplyError`` and, on a
    Redis Cluster, ``ClusterError``, as those of ``pressure.Queue`` do. A claim whose reply is lost leaves its
    item in progress.

    Args:
        name: The queue's name; the keys are ``queue:<name>``, ``queue:<name>:processing`` (lists) and
            ``queue:<name>:claims`` (a sorted set of the times of claims).
        url: Where the server is; this and the next four are as for ``pressure.Queue``.
        client: A redis-py client whose settings to use.
        host: The server's name or address.
        port: Its port.
        db: Its database number.
        scripts: Whether to run scripts where the server lets us; without them some methods take a round trip
            more.
        codec: What turns objects into bytes and back; without one they are bytes.
        maxlen: How many items may wait. What is pushed beyond that drops the oldest of them.
        envelope: Whether each item travels with an identifier of its own. Without one, equal items cannot be
            told apart: they share the time of their last claim, and one is completed as well as another.
        key: The list of what waits, instead of the one by name.
        processing: The list of what is in progress, likewise.
        claims: The sorted set of claims, likewise.

    Raises:
        ValueError: Arguments that exclude each other or cannot be meant.
        TypeError: A name that is neither ``bytes`` nor ``str``, or a ``client`` that is no redis-py client.
    """

    def __init__(
        self,
        name: bytes | str,
        *,
        url: str | None = None,
        client: Any = None,
        host: str | None = None,
        port: int | None = None,
        db: int | None = None,
        scripts: bool = True,
        codec: Codec | str | None = None,
        maxlen: int | None = None,
        envelope: bool = False,
        key: bytes | str | None = None,
        processing: bytes | str | None = None,
        claims: bytes | str | None = None,
    ) -> None:
        if maxlen is not None and maxlen < 1:
            raise ValueError(f"maxlen must be 1 or more, not {maxlen!r}")
        self._begin(name, key, codec, scripts=scripts, envelope=envelope)
        main = self._context.keys.main
        self.keys = BackupKeys(
            main,
            main + b":processing" if processing is None else as_bytes(processing),
            main + b":claims" if claims is None else as_bytes(claims),
        )
        self._maxlen = maxlen
        self._end(*self.keys.all[1:], url=url, client=client, host=host, port=port, db=db)

    @method
    def push(self, *values: Any) -> Operation[int]:
        """Add values at the end, together. One round trip.

        With ``maxlen`` they may drop the oldest items that wait, or one another.

        Returns:
            How many items wait then.

        Raises:
            TypeError: One of the values cannot be sent; nothing was sent.
        """
        data = [self._wrapping.data(value) for value in values]
        return operations.push(self._context, self.keys, data, self._maxlen)

    @method
    def claim(self, block: bool = True, timeout: float | None = None) -> Operation[Item | None]:
        """Move the item at the front to what is in progress.

        One round trip, or two without scripts; a wait adds two.

        Args:
            block: Whether to wait for an item.
            timeout: How long to wait, in seconds; None for ever.

        Returns:
            The item, to be completed; None if none came in time.
        """
        return self._claim(self._patience(block, timeout))

    def _claim(self, patience: Patience) -> Operation[Item | None]:
        data = yield from operations.claim(self._context, self.keys, patience)
        return None if data is None else self._wrapping.item(data)

    @method
    def complete(self, item: Item | bytes) -> Operation[None]:
        """Remove an item that was worked on. One round trip.

        Raises:
            ItemLostError: It was not in progress any more: somebody put it back, so that it is done twice, or
                completed it.
        """
        return self._complete(item)

    def _complete(self, item: Item | bytes) -> Operation[None]:
        if not (yield from operations.remove(self._context, self.keys, bytes_of(item))):
            raise ItemLostError(f"queue {self}: the item was not in progress any more; it may be done twice")

    @block
    def take(self, block: bool = True, timeout: float | None = None) -> Span[Item]:
        """Claim an item for the length of a ``with`` block: completed when the block ends well.

        When the block ends by an exception the item stays in progress, for ``requeue_stale`` or ``requeue``.

            with queue.take() as item:
                work_on(item.value)

        Args:
            block: Whether to wait for an item.
            timeout: How long to wait, in seconds; None for ever.

        Raises:
            QueueEmptyError: None came in time.
            ItemLostError: At the end: it was not in progress any more.
        """
        patience = self._patience(block, timeout)
        return Span(self._take(patience), lambda item, error: None if error else self._complete(item))

    def _take(self, patience: Patience) -> Operation[Item]:
        item = yield from self._claim(patience)
        if item is None:
            raise QueueEmptyError(f"queue {self} is empty")
        return item

    @method
    def requeue_stale(self, older_than: float) -> Operation[list[Item]]:
        """Put back what was claimed too long ago, to be claimed next, the oldest first; the reaper.

        Any number of clients may do so at the same time. An item of which nobody knows when it was claimed is
        given this moment, and so comes back one period later. One round trip, or two without scripts.

        Args:
            older_than: Seconds; longer than anything takes that is still worked on.

        Returns:
            The items that went back.
        """
        return self._reap(milliseconds(older_than, "older_than"))

    def _reap(self, older: int) -> Operation[list[Item]]:
        back = yield from operations.reap(self._context, self.keys, older)
        return [self._wrapping.item(data) for data in back]

    @method
    def requeue(self, item: Item | bytes) -> Operation[bool]:
        """Put one item that is in progress back, to be claimed next. One round trip, or two without scripts.

        Returns:
            False if it was not in progress, and nothing was done.
        """
        return operations.requeue(self._context, self.keys, bytes_of(item))

    @method
    def discard(self, item: Item | bytes) -> Operation[bool]:
        """Give one item up that is in progress: it is removed. One round trip.

        Returns:
            False if it was not in progress, and nothing was done.
        """
        return operations.remove(self._context, self.keys, bytes_of(item))

    @method
    def in_progress(self) -> Operation[list[InProgress]]:
        """What was claimed and is not completed, at one moment, the oldest first. One round trip."""
        return self._in_progress()

    def _in_progress(self) -> Operation[list[InProgress]]:
        found = yield from operations.in_progress(self._context, self.keys)
        return [
            InProgress(
                self._wrapping.item(data),
                None if since is None else since / 1000,
                None if since is None else (at - since) / 1000,
            )
            for data, since, at in found
        ]

    @method
    def peek(self, count: int = 1) -> Operation[list[Item]]:
        """The items that are claimed next, in order, left where they are. One round trip.

        Args:
            count: How many, at most.
        """
        return self._peek(at_least_one(count, "count"))

    def _peek(self, count: int) -> Operation[list[Item]]:
        found = yield from operations.peek(self._context, self.keys, count)
        return [self._wrapping.item(data) for data in found]

    @method
    def length(self) -> Operation[int]:
        """How many items wait. One round trip."""
        return operations.length(self._context, self.keys)
