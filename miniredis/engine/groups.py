"""Consumer groups of a stream: who was given which entries, and has not acknowledged them.

An entry that was given out and not acknowledged is pending: one ``Delivery``, which stands in the group under
the entry's id and, the very same, with the consumer that has it. Both keep them in the order of ids.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

__all__ = ["Consumer", "Delivery", "Group", "Pending"]


class Delivery:
    """One pending entry.

    Attributes:
        consumer: who has it.
        time: when it was given out last, in milliseconds of wall time.
        count: how often it was given out.
    """

    __slots__ = ("consumer", "count", "time")

    def __init__(self, consumer: Consumer, time: int, count: int = 1) -> None:
        self.consumer = consumer
        self.time = time
        self.count = count


class Pending:
    """Deliveries by id, in order.

    Ids mostly come in rising order and leave from anywhere, so they stand in a sorted list which forgets
    those that are gone when they become the most of it.
    """

    __slots__ = ("_deliveries", "_order")

    def __init__(self) -> None:
        self._deliveries: dict[int, Delivery] = {}
        self._order: list[int] = []

    def __len__(self) -> int:
        return len(self._deliveries)

    def get(self, number: int) -> Delivery | None:
        """The delivery of the entry with this id, None if there is none."""
        return self._deliveries.get(number)

    def put(self, number: int, delivery: Delivery) -> None:
        """Adds a delivery, or puts it in the place of another."""
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
        """Takes a delivery out; returns it, None if there was none."""
        delivery = self._deliveries.pop(number, None)
        if delivery is not None and len(self._order) > 2 * len(self._deliveries):
            self._order = [each for each in self._order if each in self._deliveries]
        return delivery

    def walk(self, start: int = 0) -> Iterator[tuple[int, Delivery]]:
        """The ids from one on, and their deliveries; what is taken out meanwhile is left out."""
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
        pending: what it has and did not acknowledge.
    """

    __slots__ = ("name", "pending", "seen")

    def __init__(self, name: bytes, seen: int) -> None:
        self.name = name
        self.seen = seen
        self.pending = Pending()


class Group:
    """A consumer group.

    Attributes:
        last: the id of the entry that was given out last.
        entries_read: how many entries of the stream that was; None if that is not known.
        pending: what its consumers have and did not acknowledge.
        consumers: by name.
    """

    __slots__ = ("consumers", "entries_read", "last", "pending")

    def __init__(self, last: int, entries_read: int | None = None) -> None:
        self.last = last
        self.entries_read = entries_read
        self.pending = Pending()
        self.consumers: dict[bytes, Consumer] = {}

    def copy(self) -> Group:
        """A group of its own with the same consumers and deliveries."""
        other = Group(self.last, self.entries_read)
        for consumer in self.consumers.values():
            other.consumers[consumer.name] = Consumer(consumer.name, consumer.seen)
        for number, delivery in self.pending.walk():
            other.assign(number, other.consumers[delivery.consumer.name], delivery.time, delivery.count)
        return other

    def create_consumer(self, name: bytes, now: int) -> Consumer:
        """Adds a consumer, whose name is new, at a wall time in milliseconds."""
        consumer = self.consumers[name] = Consumer(name, now)
        return consumer

    def delete_consumer(self, name: bytes) -> int:
        """Removes a consumer with all it has; returns how many entries that was."""
        consumer = self.consumers.pop(name, None)
        if consumer is None:
            return 0
        for number, _ in consumer.pending.walk():
            self.pending.pop(number)
        return len(consumer.pending)

    def assign(self, number: int, consumer: Consumer, time: int, count: int) -> Delivery:
        """Makes an entry pending with a consumer, whoever had it before; returns its delivery."""
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
        """An entry is pending no more; tells whether it was."""
        delivery = self.pending.pop(number)
        if delivery is None:
            return False
        delivery.consumer.pending.pop(number)
        return True
