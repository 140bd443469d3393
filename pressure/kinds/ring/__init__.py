"""The methods of ring queues, defined once for every flavour; ``operations`` has what they do."""

from __future__ import annotations

import secrets
from typing import Any

from pressure.checks import milliseconds, whole
from pressure.codecs import Codec, Sendable, V
from pressure.errors import ItemLostError, QueueEmptyError
from pressure.keys import as_bytes
from pressure.kinds.kind import Item, Kind
from pressure.kinds.ring import operations
from pressure.methods.methods import Block, context_manager, method
from pressure.protocol.operation import Operation

__all__ = ["RingMethods"]


class RingMethods(Kind[V]):
    """A circular list whose items are locked while workers process them; at-least-once delivery.

    An item stays in the list until it is completed. ``claim`` moves it from the front to the back (LMOVE)
    and sets its lock, which expires (SET with NX and PX). If a worker dies or takes too long, the lock
    expires and another worker can claim the item. No repair is needed. ``claim`` never waits.

    Every method may raise ``ConnectionFailedError``, ``OutcomeUnknownError``, ``ServerReplyError`` and, on a
    Redis Cluster, ``ClusterError``, as those of ``pressure.Queue`` do. If the reply to a claim is
    lost, the lock expires.

    Args:
        name: The queue's name; the keys are ``queue:<name>`` (a list) and ``queue:<name>:lock:<item>``.
        url: Where the server is; this and the next four are as for ``pressure.Queue``.
        client: A redis-py client whose settings to use.
        host: The server's name or address.
        port: Its port.
        db: Its database number.
        scripts: Whether to run scripts if the server allows them; without scripts, most methods take two
            round trips.
        codec: Converts objects to bytes and back; without a codec, values are bytes.
        envelope: Whether to store each item with an id of its own. Without ids, equal items share one lock,
            and ``complete`` removes any one of them.
        key: The key of the list, instead of ``queue:<name>``.
        locks: The prefix of the keys of the locks, instead of ``<key>:lock:``.

    Raises:
        ValueError: Arguments exclude each other, or one is out of range.
        TypeError: The name is neither ``bytes`` nor ``str``, or ``client`` is not a redis-py client.
    """

    _kind = "ring"

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
        envelope: bool = False,
        key: bytes | str | None = None,
        locks: bytes | str | None = None,
    ) -> None:
        self._init_context(name, key, codec, scripts=scripts, envelope=envelope)
        self._locks = self._context.keys.main + b":lock:" if locks is None else as_bytes(locks, "locks")
        self._connect_to(self._locks, url=url, client=client, host=host, port=port, db=db)

    @method
    def push(self, *values: Sendable[V]) -> Operation[int]:
        """Add values at the back, in one atomic step (LPUSH). One round trip.

        Returns:
            How many items there are now, locked or not.

        Raises:
            TypeError: A value cannot be sent; nothing was sent.
        """
        return operations.push(self._context, [self._item_codec.data(value) for value in values])

    @method
    def claim(self, lock_ttl: float) -> Operation[Item[V] | None]:
        """Move the item at the front to the back and lock it. One round trip, or two without scripts.

        Args:
            lock_ttl: Seconds until the lock expires, unless it is extended.

        Returns:
            The item, which the worker has to complete; None if the item is locked, or the queue is empty.
        """
        return self._claim(milliseconds(lock_ttl, "lock_ttl", 1), walk=False)

    @method
    def claim_next(self, lock_ttl: float) -> Operation[Item[V] | None]:
        """Claim the first item that is not locked; tries each item once at most.

        One round trip; without scripts, two for each item that is tried.

        Args:
            lock_ttl: Seconds until the lock expires, unless it is extended.

        Returns:
            The item, which the worker has to complete; None if all items are locked, or there is none.
        """
        return self._claim(milliseconds(lock_ttl, "lock_ttl", 1), walk=True)

    def _claim(self, ttl: int, *, walk: bool) -> Operation[Item[V] | None]:
        token = secrets.token_hex(16).encode()
        data = yield from operations.claim(self._context, self._locks, token, ttl, walk=walk)
        return None if data is None else self._item_codec.item(data, token)

    @method
    def complete(self, item: Item[V]) -> Operation[None]:
        """Remove a processed item, and free its lock. One round trip, or two without scripts.

        Raises:
            ItemLostError: The lock had expired, so another client may have processed the item, too, or may be
                doing so. The item was removed if it was still there; the error's ``removed`` says whether.
        """
        return self._complete(item)

    def _complete(self, item: Item[V]) -> Operation[None]:
        return self._completed(*_lock_of(item))

    def _completed(self, token: bytes, data: bytes) -> Operation[None]:
        ours, removed = yield from operations.complete(self._context, self._locks, token, data)
        if not ours:
            what = "so it may be done twice" if removed else "and another client has completed the item"
            raise ItemLostError(f"queue {self}: the lock of the item had expired, {what}", removed)

    @method
    def extend(self, item: Item[V], lock_ttl: float) -> Operation[None]:
        """Set the time to live of the item's lock. One round trip, or two without scripts.

        Args:
            item: The item.
            lock_ttl: Seconds from now until the lock expires.

        Raises:
            ItemLostError: The lock had expired; another client may have the item.
        """
        return self._extend(*_lock_of(item), milliseconds(lock_ttl, "lock_ttl", 1))

    def _extend(self, token: bytes, data: bytes, ttl: int) -> Operation[None]:
        if not (yield from operations.extend(self._context, self._locks, token, data, ttl)):
            raise ItemLostError(f"queue {self}: the lock of the item had expired; another client may have it")

    @method
    def release(self, item: Item[V]) -> Operation[bool]:
        """Free the item's lock, so that any client may claim it. One round trip, or two without scripts.

        Returns:
            False if the lock was no longer ours; then nothing was changed.
        """
        return operations.extend(self._context, self._locks, *_lock_of(item), 0)

    @context_manager
    def take(self, lock_ttl: float) -> Block[Item[V]]:
        """Claim the first unlocked item for a ``with`` block, and complete it at the end.

        After an exception the item is not completed, and its lock stays until it expires, so that the item is
        not claimed again at once.

            with queue.take(lock_ttl=60) as item:
                work_on(item.value)

        Args:
            lock_ttl: Seconds until the lock expires, unless it is extended.

        Raises:
            QueueEmptyError: All items are locked, or there is none.
            ItemLostError: At the end of the block: the lock had expired.
        """
        enter = self._take(milliseconds(lock_ttl, "lock_ttl", 1))
        return Block(enter, lambda item, error: None if error else self._complete(item))

    def _take(self, ttl: int) -> Operation[Item[V]]:
        item = yield from self._claim(ttl, walk=True)
        if item is None:
            raise QueueEmptyError(f"queue {self} has no unlocked item")
        return item

    @method
    def peek(self, count: int = 1) -> Operation[list[Item[V]]]:
        """The items at the front, locked or not, in order; they stay in the queue. One round trip.

        Args:
            count: How many, at most.
        """
        return self._peek(whole(count, "count"))

    def _peek(self, count: int) -> Operation[list[Item[V]]]:
        found = yield from operations.peek(self._context, count)
        return [self._item_codec.item(data) for data in found]

    @method
    def items(self) -> Operation[list[tuple[Item[V], bool]]]:
        """All items, the one at the front first, and whether each is locked. Two round trips."""
        found = yield from operations.items(self._context, self._locks)
        return [(self._item_codec.item(data), locked) for data, locked in found]

    @method
    def length(self) -> Operation[int]:
        """How many items there are, locked or not. One round trip."""
        return operations.length(self._context)


def _lock_of(item: Item[V]) -> tuple[bytes, bytes]:
    """An item's token and its bytes; raises TypeError if ``item`` is not an item."""
    if not isinstance(item, Item):
        raise TypeError(f"an item is what claim or claim_next returned, not {type(item).__name__}")
    return item.token or b"", item.data
