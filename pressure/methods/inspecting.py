"""The methods of a queue that take no role: its state at one moment, and the messages that come next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from pressure import protocol
from pressure.checks import whole
from pressure.codecs import Codec, V, all_decoded, decoded
from pressure.keys import Keys
from pressure.methods.methods import Methods, method
from pressure.protocol import Context, Operation, Stats

if TYPE_CHECKING:
    from pressure.protocol.diagnosis import Diagnosis


def check_role(role: str) -> None:
    """Raise ValueError if there is no such role."""
    if role not in ("producer", "consumer"):
        raise ValueError(f"role must be 'producer' or 'consumer', not {role!r}")


class InspectMethods(Methods, Generic[V]):
    """The methods of ``pressure.Queue`` that only read."""

    _context: Context
    _codec: Codec[V]

    @property
    def keys(self) -> Keys:
        """The queue's keys."""
        return self._context.keys

    def _decoded(self, data: bytes, taken: list[bytes]) -> V:
        return decoded(self._codec, data, taken, self.keys)

    @method
    def exists(self) -> Operation[bool]:
        """Whether the queue was created and not deleted (pressure protocol 0.15, Exists)."""
        return protocol.exists(self._context)

    @method
    def length(self) -> Operation[int]:
        """How many values are in the queue at this moment (pressure protocol 0.15, Length).

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
        """
        return protocol.length(self._context)

    @method
    def closed(self) -> Operation[bool]:
        """Whether the queue is closed, which it then is for ever (pressure protocol 0.15, Closed).

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
        """
        return protocol.closed(self._context)

    @method
    def qsize(self) -> Operation[int]:
        """``length`` under the standard library's name."""
        return protocol.length(self._context)

    @method
    def empty(self) -> Operation[bool]:
        """Whether there is no value in the queue at this moment.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
        """
        return (yield from protocol.length(self._context)) == 0

    @method
    def full(self) -> Operation[bool]:
        """Whether the queue holds as many values as its bound allows; False without a bound.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
        """
        count, bound = yield from protocol.length_and_bound(self._context)
        return 0 < bound <= count

    @method
    def peek(self) -> Operation[V]:
        """The value that ``get`` would return next; it stays in the queue.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
            QueueEmptyError: The queue is empty.
            CodecError: The codec cannot decode the value.
        """
        data = yield from protocol.peek(self._context)
        return self._decoded(data, [data])

    @method
    def peek_many(self, max: int) -> Operation[list[V]]:  # noqa: A002
        """The next values, the first one first; they stay in the queue.

        Args:
            max: How many values to look at, at most; fewer are given if they have more than 16 MiB together.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
            CodecError: The codec cannot decode one of the values.
            ValueError: ``max`` is below 1.
        """
        return self._peek_many(whole(max, "max"))

    def _peek_many(self, most: int) -> Operation[list[V]]:
        found = yield from protocol.peek_many(self._context, most)
        return all_decoded(self._codec, found, self.keys)

    @method
    def rejected(self, max: int) -> Operation[list[bytes]]:  # noqa: A002
        """The rejected messages, the oldest first; they stay where they are.

        They are returned as bytes even if the queue has a codec, since it may have failed to decode them.

        Args:
            max: How many to look at, at most; fewer are given if they have more than 16 MiB together.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
            ValueError: ``max`` is below 1.
        """
        return protocol.rejected(self._context, whole(max, "max"))

    @method
    def stats(self) -> Operation[Stats]:
        """The queue at one moment: length, bound, counters, and the holders of its roles.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
        """
        return protocol.stats(self._context)

    @method
    def holder(self, role: str) -> Operation[bytes | None]:
        """The client that holds the role ``"producer"`` or ``"consumer"`` at this moment.

        Returns:
            The holder's id; None if the role is free, empty if the holder has not written its id yet.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
            ValueError: There is no such role.
        """
        check_role(role)
        return protocol.holder(self._context, role)

    @method
    def doctor(self) -> Operation[Diagnosis]:
        """Check the queue without changing it: its state, the holders of its roles, and its problems.

        Problems are: what ``repair`` would mend, keys that contradict each other, rejected messages, and a
        likely deadlock, such as a producer that waits for room while no client consumes.

        Raises:
            QueueDoesNotExistError: None of its keys exists.
        """
        from pressure.protocol.doctor import doctor

        return doctor(self._context)
