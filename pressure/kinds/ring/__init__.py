"""The circular buffer with item locks, defined once for every flavour."""

from __future__ import annotations

import secrets
from typing import Any

from pressure.checks import milliseconds, whole
from pressure.codecs import Codec, Sendable, V
from pressure.errors import ItemLostError, QueueEmptyError
from pressure.keys import as_bytes
from pressure.kinds.kind import Item, Kind
from pressure.kinds.ring import operations
from pressure.methods import Block, context_manager, method
from pressure.protocol.operation import Operation

__all__ = ["RingMethods"]


class RingMethods(Kind[V]):
    """A circular list whose items are locked while workers have them; at-least-once delivery.

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
        scripts: Whether to run scripts where the server lets us; without them most methods take two round
            trips.
        codec: What turns objects into bytes and back; without one they are bytes.
        envelope: Whether to store each item with an id of its own. Without ids, equal items share one lock,
            and ``complete`` removes any one of them.
        key: The key of the list, instead of ``queue:<name>``.
        locks: What the keys of the locks begin with, instead of ``<key>:lock:``.

    Raises:
        ValueError: Arguments that exclude each other or cannot be meant.
        TypeError: A name that is neither ``bytes`` nor ``str``, or a ``client`` that is no redis-py client.
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
        """Add values at the back, together. One round trip.

        Returns:
            How many items there are now, locked or not.

        Raises:
            TypeError: One of the values cannot be sent; nothing was sent.
        """
        return operations.push(self._context, [self._item_codec.data(value) for value in values])

    @method
    def claim(self, lock_ttl: float) -> Operation[Item[V] | None]:
        """Move the item at the front to the back and lock it. One round trip, or two without scripts.

        Args:
            lock_ttl: Seconds until the lock expires, unless it is extended.

        Returns:
            The item, which the worker then completes; None if the item is locked, or the queue is empty.
        """
        return self._claim(milliseconds(lock_ttl, "lock_ttl", 1), walk=False)

    @method
    def claim_next(self, lock_ttl: float) -> Operation[Item[V] | None]:
        """Claim the first item that is not locked, once around at most.

        One round trip; without scripts, two for each item that is tried.

        Args:
            lock_ttl: Seconds until the lock expires, unless it is extended.

        Returns:
            The item, which the worker then completes; None if all items are locked, or there is none.
        """
        return self._claim(milliseconds(lock_ttl, "lock_ttl", 1), walk=True)

    def _claim(self, ttl: int, *, walk: bool) -> Operation[Item[V] | None]:
        token = secrets.token_hex(16).encode()
        data = yield from operations.claim(self._context, self._locks, token, ttl, walk=walk)
        return None if data is None else self._item_codec.item(data, token)

    @method
    def complete(self, item: Item[V]) -> Operation[None]:
        """Remove an item that was worked on, and free its lock. One round trip, or two without scripts.

        Raises:
            ItemLostError: The lock had expired, so that the item may have been done twice, or is being done
                again. It is removed all the same if it was there; ``removed`` says so.
        """
        return self._complete(item)

    def _complete(self, item: Item[V]) -> Operation[None]:
        token, data = _lock_of(item)
        return self._completed(token, data)

    def _completed(self, token: bytes, data: bytes) -> Operation[None]:
        ours, removed = yield from operations.complete(self._context, self._locks, token, data)
        if not ours:
            what = "so it may be done twice" if removed else "and another client has completed the item"
            raise ItemLostError(f"queue {self}: the lock of the item had expired, {what}", removed)

    @method
    def extend(self, item: Item[V], lock_ttl: float) -> Operation[None]:
        """Give the item's lock this long from now on. One round trip, or two without scripts.

        Args:
            item: The item.
            lock_ttl: Seconds.

        Raises:
            ItemLostError: The lock had expired; another client may have the item.
        """
        return self._extend(*_lock_of(item), milliseconds(lock_ttl, "lock_ttl", 1))

    def _extend(self, token: bytes, data: bytes, ttl: int) -> Operation[None]:
        if not (yield from operations.extend(self._context, self._locks, token, data, ttl)):
            raise ItemLostError(f"queue {self}: the lock of the item had expired; another client may have it")

    @method
    def release(self, item: Item[V]) -> Operation[bool]:
        """Free the item's lock before its time: anybody may claim it. One round trip, or two without scripts.

        Returns:
            False if the lock was not ours any more, and nothing was done.
        """
        return operations.extend(self._context, self._locks, *_lock_of(item), 0)

    @context_manager
    def take(self, lock_ttl: float) -> Block[Item[V]]:
        """Claim the first item that is not locked for a ``with`` block: completed when the block ends well.

        When the block ends by an exception the lock is left to expire, so that the item is not tried again at
        once.

            with queue.take(lock_ttl=60) as item:
                work_on(item.value)

        Args:
            lock_ttl: Seconds until the lock expires, unless it is extended.

        Raises:
            QueueEmptyError: All items are locked, or there is none.
            ItemLostError: At the end: the lock had expired.
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
        return self._items()

    def _items(self) -> Operation[list[tuple[Item[V], bool]]]:
        found = yield from operations.items(self._context, self._locks)
        return [(self._item_codec.item(data), locked) for data, locked in found]

    @method
    def length(self) -> Operation[int]:
        """How many items there are, locked or not. One round trip."""
        return operations.length(self._context)


def _lock_of(item: Item[V]) -> tuple[bytes, bytes]:
    """An item's token and its bytes; raises TypeError for what is no item."""
    if not isinstance(item, Item):
        raise TypeError(f"an item is what claim or claim_next returned, not {type(item).__name__}")
    return item.token or b"", item.data
