"""Consumer groups of a stream: which consumer has which pending entries.

An entry that was delivered and not acknowledged is pending. It has one ``Delivery``, shared by the group and
the consumer; both keep their deliveries in the order of ids.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

__all__ = ["Consumer", "ConsumerGroup", "Delivery", "Pending"]


class Delivery:
    """One pending entry.

    Attributes:
        consumer: the consumer that has it.
        time: when it was last delivered, in milliseconds of wall time.
        count: how often it was delivered.
    """

    __slots__ = ("consumer", "count", "time")

    def __init__(self, consumer: Consumer, time: int, count: int = 1) -> None:
        self.consumer = consumer
        self.time = time
        self.count = count


class Pending:
    """Deliveries by id, in order.

    Ids mostly arrive in rising order and are removed anywhere. So they are kept in a sorted list, from which
    removed ids are dropped once they are more than half of it.
    """

    __slots__ = ("_deliveries", "_order")

    def __init__(self) -> None:
        self._deliveries: dict[int, Delivery] = {}
        self._order: list[int] = []

    def __len__(self) -> int:
        return len(self._deliveries)

    def get(self, number: int) -> Delivery | None:
        """The delivery of the entry with this id; None if there is none."""
        return self._deliveries.get(number)

    def put(self, number: int, delivery: Delivery) -> None:
        """Adds a delivery, or replaces the one with the same id."""
        if number not in self._deliveries:
            self._place(number)
        self._deliveries[number] = delivery

    def _place(self, number: int) -> None:
        order = self._order
        if not order or number > order[-1]:
            order.append(number)
        elif order[bisect_left(order, number)] != number:
            insort(order, number)

    def pop(self, number: int) -> Delivery | None:
        """Removes and returns a delivery; None if there is none."""
        delivery = self._deliveries.pop(number, None)
        if delivery is not None and len(self._order) > 2 * len(self._deliveries):
            self._order = [each for each in self._order if each in self._deliveries]
        return delivery

    def walk(self, start: int = 0) -> Iterator[tuple[int, Delivery]]:
        """Yields ids from ``start`` on with their deliveries; deliveries removed meanwhile are skipped."""
        order, deliveries = self._order, self._deliveries
        for at in range(bisect_left(order, start), len(order)):
            delivery = deliveries.get(order[at])
            if delivery is not None:
                yield order[at], delivery

    def edges(self) -> tuple[int, int]:
        """The lowest and the highest id; there must be one."""
        highest = next(number for number in reversed(self._order) if number in self._deliveries)
        return next(self.walk())[0], highest


class Consumer:
    """One consumer of a group.

    Attributes:
        name: unique in its group.
        seen: when it last asked for entries, in milliseconds of wall time.
        active: when it last got entries that are pending, in the same; -1 for never.
        pending: its pending entries.
    """

    __slots__ = ("active", "name", "pending", "seen")

    def __init__(self, name: bytes, seen: int) -> None:
        self.name = name
        self.seen = seen
        self.active = -1
        self.pending = Pending()


class ConsumerGroup:
    """A consumer group.

    Attributes:
        last: the id of the entry that was delivered last.
        entries_read: the number of entries of the stream up to that one; None if unknown.
        pending: the pending entries of all consumers.
        consumers: by name.
    """

    __slots__ = ("consumers", "entries_read", "last", "pending")

    def __init__(self, last: int, entries_read: int | None = None) -> None:
        self.last = last
        self.entries_read = entries_read
        self.pending = Pending()
        self.consumers: dict[bytes, Consumer] = {}

    def copy(self) -> ConsumerGroup:
        """A copy with the same consumers and deliveries."""
        other = ConsumerGroup(self.last, self.entries_read)
        for consumer in self.consumers.values():
            other.consumers[consumer.name] = Consumer(consumer.name, consumer.seen)
        for number, delivery in self.pending.walk():
            other.assign(number, other.consumers[delivery.consumer.name], delivery.time, delivery.count)
        return other

    def create_consumer(self, name: bytes, now: int) -> Consumer:
        """Adds a consumer with a new name; ``now`` is wall time in milliseconds."""
        consumer = self.consumers[name] = Consumer(name, now)
        return consumer

    def delete_consumer(self, name: bytes) -> int:
        """Removes a consumer and its pending entries; returns the number of these entries."""
        consumer = self.consumers.pop(name, None)
        if consumer is None:
            return 0
        for number, _ in consumer.pending.walk():
            self.pending.pop(number)
        return len(consumer.pending)

    def assign(self, number: int, consumer: Consumer, time: int, count: int) -> Delivery:
        """Makes an entry pending for a consumer, and for no other one; returns its delivery."""
        delivery = self.pending.get(number)
        if delivery is None:
            delivery = Delivery(consumer, time, count)
            self.pending.put(number, delivery)
        elif delivery.consumer is not consumer:
            delivery.consumer.pending.pop(number)
        delivery.consumer, delivery.time, delivery.count = consumer, time, count
        consumer.pending.put(number, delivery)
        return delivery

    def release(self, number: int) -> bool:
        """Makes an entry no longer pending; returns whether it was."""
        delivery = self.pending.pop(number)
        if delivery is None:
            return False
        delivery.consumer.pending.pop(number)
        return True
