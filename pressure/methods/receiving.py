"""``with queue.receive() as message``: the block that decides what becomes of a message.

Rules:
    - If the block ends without an exception, the message is acknowledged. If it raises, the message goes back
      to the front of the queue. A rejected message goes to the list ``:rejected`` in both cases.
    - The block holds the consumer role from its beginning to its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic

from pressure.codecs import Codec, V, decoded
from pressure.methods.methods import Block
from pressure.protocol import Context, Deadline, Operation, Received, Settlement, receive, settle


@dataclass(frozen=True, slots=True)
class Message(Generic[V]):
    """A message inside the ``with`` block of ``Queue.receive``; it is acknowledged when the block ends.

    Attributes:
        data: Its bytes.
    """

    data: bytes
    _block: ReceiveBlock[V] = field(repr=False, compare=False)

    @property
    def value(self) -> V:
        """The decoded message; its bytes if the queue has no codec.

        Raises:
            CodecError: The codec cannot decode it. The message will be redelivered unless it is rejected.
        """
        return self._block.value(self.data)

    def reject(self) -> None:
        """Set the message aside when the block ends: it is kept, and is not redelivered.

        This is for a message that fails each time, such as one that cannot be decoded. ``Queue.rejected``
        shows the rejected messages, ``Queue.redrive`` puts them into the queue again.

        Raises:
            RuntimeError: The block has ended.
        """
        self._block.reject()


class ReceiveBlock(Generic[V]):
    """The operations of one ``receive`` block."""

    def __init__(self, context: Context, codec: Codec[V]) -> None:
        self._context = context
        self._codec = codec
        self._received: Received | None = None
        self._rejected = False

    def block(self, deadline: Deadline) -> Block[Message[V]]:
        """The operations at both ends of the block."""
        return Block(self._take(deadline), self._leave, holds_role=True)

    def _take(self, deadline: Deadline) -> Operation[Message[V]]:
        self._received = yield from receive(self._context, deadline)
        return Message(self._received.value, self)

    def _leave(self, _message: Message[V], error: BaseException | None) -> Operation[None]:
        """Acknowledge the message, reject it, or put it back."""
        received, self._received = self._received, None
        assert received is not None
        outcome = Settlement.ACKNOWLEDGED if error is None else Settlement.REQUEUED
        outcome = Settlement.REJECTED if self._rejected else outcome
        return settle(self._context, received.hold_id, outcome, len(received.value))

    def reject(self) -> None:
        """Reject the message at the end of the block."""
        if self._received is None:
            raise RuntimeError("a message can be rejected only inside the block that received it")
        self._rejected = True

    def value(self, data: bytes) -> V:
        """The decoded bytes."""
        return decoded(self._codec, data, [data], self._context.keys)
