"""The methods of backup queues, defined once for every flavour; ``operations`` has what they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

from pressure.checks import milliseconds, whole
from pressure.codecs import Codec, Sendable, V
from pressure.errors import ItemLostError, QueueEmptyError
from pressure.keys import as_bytes
from pressure.kinds.backup import operations
from pressure.kinds.backup.operations import BackupKeys
from pressure.kinds.kind import Item, Kind, bytes_of
from pressure.methods.methods import Block, context_manager, method
from pressure.protocol.operation import Deadline, Operation

__all__ = ["BackupKeys", "BackupMethods", "InProgress"]


@dataclass(frozen=True, slots=True)
class InProgress(Generic[V]):
    """An item that a worker has claimed and not completed yet.

    Attributes:
        item: The item.
        since: When it was claimed, in seconds since 1970 by the server's clock; None if that is not known.
        age: How many seconds ago that was; None if that is not known.
    """

    item: Item[V]
    since: float | None
    age: float | None


class BackupMethods(Kind[V]):
    """A queue that keeps claimed items in a second list until they are completed; at-least-once delivery.

    This is the reliable queue of the Redis documentation (LMOVE): LPUSH, ``LMOVE queue processing RIGHT
    LEFT``, LREM. Any other client of that pattern can take part. A worker that dies leaves its items in
    progress. ``requeue_stale``, which any client may call from time to time, puts back the items that were
    claimed too long ago; ``requeue`` and ``discard`` put back, or remove, a single item.

    Every method may raise ``ConnectionFailedError``, ``OutcomeUnknownError``, ``ServerReplyError`` and, on a
    Redis Cluster, ``ClusterError``, as those of ``pressure.Queue`` do. If the reply to a claim is
    lost, its item stays in progress.

    Args:
        name: The queue's name; the keys are ``queue:<name>``, ``queue:<name>:processing`` (lists) and
            ``queue:<name>:claims`` (a sorted set of the times of claims).
        url: Where the server is; this and the next four are as for ``pressure.Queue``.
        client: A redis-py client whose settings to use.
        host: The server's name or address.
        port: Its port.
        db: Its database number.
        scripts: Whether to run scripts if the server allows them; without scripts, some methods take one
            more round trip.
        codec: Converts objects to bytes and back; without a codec, values are bytes.
        maxlen: How many items may wait. A push beyond that drops the oldest waiting items. Default: no limit.
        envelope: Whether to store each item with an id of its own. Without ids, equal items cannot be told
            apart: they share the time of the last claim, and ``complete`` removes any one of them.
        key: The key of the list of waiting items, instead of ``queue:<name>``.
        processing: The key of the list of items in progress, instead of ``<key>:processing``.
        claims: The key of the sorted set of claims, instead of ``<key>:claims``.

    Raises:
        ValueError: Arguments exclude each other, or one is out of range.
        TypeError: The name is neither ``bytes`` nor ``str``, or ``client`` is not a redis-py client.
    """

    _kind = "backup"

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
        codec: Codec[V] | str | None = None,
        maxlen: int | None = None,
        envelope: bool = False,
        key: bytes | str | None = None,
        processing: bytes | str | None = None,
        claims: bytes | str | None = None,
    ) -> None:
        self._init_context(name, key, codec, scripts=scripts, envelope=envelope)
        main = self._context.keys.main
        self.keys = BackupKeys(
            main,
            main + b":processing" if processing is None else as_bytes(processing, "processing"),
            main + b":claims" if claims is None else as_bytes(claims, "claims"),
        )
        self._maxlen = None if maxlen is None else whole(maxlen, "maxlen")
        self._connect_to(*self.keys.all[1:], url=url, client=client, host=host, port=port, db=db)

    @method
    def push(self, *values: Sendable[V]) -> Operation[int]:
        """Add values at the end of the queue, in one atomic step (LPUSH). One round trip.

        With ``maxlen``, the oldest waiting items beyond it are dropped.

        Returns:
            How many items wait now.

        Raises:
            TypeError: A value cannot be sent; nothing was sent.
        """
        data = [self._item_codec.data(value) for value in values]
        return operations.push(self._context, self.keys, data, self._maxlen)

    @method
    def claim(self, block: bool = True, timeout: float | None = None) -> Operation[Item[V] | None]:
        """Take the item at the front; it is in progress until it is completed (LMOVE).

        One round trip, or two without scripts; a wait adds two.

        Args:
            block: Whether to wait for an item.
            timeout: How long to wait, in seconds; None for no limit.

        Returns:
            The item, which the worker has to complete; None if no item arrived in time.
        """
        return self._claim(self._deadline(block, timeout))

    @method
    def claim_nowait(self) -> Operation[Item[V] | None]:
        """``claim`` without waiting. One round trip, or two without scripts."""
        return self._claim(self._deadline(False, None))

    def _claim(self, deadline: Deadline) -> Operation[Item[V] | None]:
        data = yield from operations.claim(self._context, self.keys, deadline)
        return None if data is None else self._item_codec.item(data)

    @method
    def complete(self, item: Item[V] | bytes) -> Operation[None]:
        """Remove a processed item from the items in progress (LREM). One round trip.

        Raises:
            ItemLostError: The item is no longer in progress: another client has put it back, so it may be
                processed twice, or has completed it.
        """
        return self._complete(item)

    def _complete(self, item: Item[V] | bytes) -> Operation[None]:
        if not (yield from operations.remove(self._context, self.keys, bytes_of(item))):
            raise ItemLostError(
                f"queue {self}: the item is not in progress any more, so it may be done twice"
            )

    @context_manager
    def take(self, block: bool = True, timeout: float | None = None) -> Block[Item[V]]:
        """Claim an item for a ``with`` block, and complete it when the block ends without an exception.

        After an exception the item stays in progress, for ``requeue_stale`` or ``requeue``.

            with queue.take() as item:
                work_on(item.value)

        Args:
            block: Whether to wait for an item.
            timeout: How long to wait, in seconds; None for no limit.

        Raises:
            QueueEmptyError: No item arrived in time.
            ItemLostError: At the end of the block: the item was no longer in progress.
        """
        deadline = self._deadline(block, timeout)
        return Block(self._take(deadline), lambda item, error: None if error else self._complete(item))

    def _take(self, deadline: Deadline) -> Operation[Item[V]]:
        item = yield from self._claim(deadline)
        if item is None:
            raise QueueEmptyError(f"queue {self} is empty")
        return item

    @method
    def requeue_stale(self, older_than: float) -> Operation[list[Item[V]]]:
        """Put back the items that were claimed too long ago; they are claimed next, the oldest first.

        Several clients may call this at the same time. If the time of a claim is not known, it counts from
        this call. One round trip, or two without scripts.

        Args:
            older_than: Age of a claim in seconds. Make it longer than any worker needs for an item.

        Returns:
            The items that were put back.
        """
        return self._reap(milliseconds(older_than, "older_than"))

    def _reap(self, older: int) -> Operation[list[Item[V]]]:
        back = yield from operations.reap(self._context, self.keys, older)
        return [self._item_codec.item(data) for data in back]

    @method
    def requeue(self, item: Item[V] | bytes) -> Operation[bool]:
        """Put one item in progress back, to be claimed next. One round trip, or two without scripts.

        Returns:
            False if the item was not in progress; then nothing was changed.
        """
        return operations.requeue(self._context, self.keys, bytes_of(item))

    @method
    def discard(self, item: Item[V] | bytes) -> Operation[bool]:
        """Remove one item in progress for good. One round trip.

        Returns:
            False if the item was not in progress; then nothing was changed.
        """
        return operations.remove(self._context, self.keys, bytes_of(item))

    @method
    def in_progress(self) -> Operation[list[InProgress[V]]]:
        """The items in progress at one moment, the oldest claim first. One round trip."""
        found = yield from operations.in_progress(self._context, self.keys)
        return [
            InProgress(
                self._item_codec.item(data),
                None if since is None else since / 1000,
                None if since is None else (at - since) / 1000,
            )
            for data, since, at in found
        ]

    @method
    def peek(self, count: int = 1) -> Operation[list[Item[V]]]:
        """The items that will be claimed next, in order; they stay in the queue. One round trip.

        Args:
            count: How many, at most.
        """
        return self._peek(whole(count, "count"))

    def _peek(self, count: int) -> Operation[list[Item[V]]]:
        found = yield from operations.peek(self._context, self.keys, count)
        return [self._item_codec.item(data) for data in found]

    @method
    def length(self) -> Operation[int]:
        """How many items wait. One round trip."""
        return operations.length(self._context, self.keys)
