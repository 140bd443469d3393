"""``with queue.receive() as message``: the block that decides what becomes of a message.

Rules:
    - If the block ends without an exception, the message is acknowledged. If it raises, the message goes back
      to the front of the queue. A rejected message goes to the list ``:rejected`` in both cases.
    - The thread or task that enters the block is the holder of the consumer role until the block ends.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final

from pressure.codecs import Codec, decoded
from pressure.driver import Checkout
from pressure.errors import ConnectionFailedError
from pressure.protocol import Context, Operation, Patience, Received, Settlement, receive, settle


@dataclass(frozen=True, slots=True)
class Message:
    """A message inside the ``with`` block of ``Queue.receive``; it is acknowledged when the block ends.

    Attributes:
        data: Its bytes.
    """

    data: bytes
    _reception: Reception = field(repr=False, compare=False)

    @property
    def value(self) -> Any:
        """The decoded message; its bytes if the queue has no codec.

        Raises:
            CodecError: The codec cannot decode it. The message will be redelivered unless it is rejected.
        """
        return self._reception.value(self.data)

    def reject(self) -> None:
        """Set the message aside when the block ends: it is kept, and is not redelivered.

        This is for a message that fails each time, such as one that cannot be decoded. ``Queue.rejected``
        shows the rejected messages, ``Queue.redrive`` puts them into the queue again.

        Raises:
            RuntimeError: The block has ended.
        """
        self._reception.reject()


class Reception:
    """The operations of one block."""

    def __init__(self, context: Context, patience: Patience, codec: Codec) -> None:
        self._context = context
        self._patience = patience
        self._codec = codec
        self._hold_id = b""
        self._size = 0
        self._rejected = self._is_over = False

    def take(self) -> Operation[Received]:
        """Takes the value."""
        received = yield from receive(self._context, self._patience)
        self._hold_id = received.hold_id
        return received

    def over(self) -> None:
        """The block has ended."""
        self._is_over = True

    def settle(self, error: BaseException | None) -> Operation[None]:
        """Is done with it, rejects it, or puts it back."""
        outcome = Settlement.DONE if error is None else Settlement.BACK
        outcome = Settlement.REJECTED if self._rejected else outcome
        return settle(self._context, self._hold_id, outcome, self._size)

    def reject(self) -> None:
        """Rejects it, when it is settled."""
        if self._is_over:
            raise RuntimeError("a message can be rejected only inside the block that received it")
        self._rejected = True

    def value(self, data: bytes) -> Any:
        """What the bytes stand for."""
        return decoded(self._codec, data, [data], self._context.keys)

    def message(self, received: Received) -> Message:
        """The value as the block sees it."""
        self._size = len(received.value)
        return Message(received.value, self)


_UNSETTLED: Final = "the message is not acknowledged and the consumer role is still held; repair mends both"


def _note(error: BaseException, failure: Exception) -> None:
    error.add_note(f"the message could not be put back ({failure}); repair puts it back")


class Receiving:
    """The context manager of ``Queue.receive``; it is entered once.

    Args:
        begin: Makes the reception, for whoever enters.
        checkout: Takes the connection on which the consumer role is held.
    """

    def __init__(self, begin: Callable[[], Reception], checkout: Callable[[], Checkout]) -> None:
        self._begin = begin
        self._take = checkout

    def __enter__(self) -> Message:
        self._reception = self._begin()
        self._checkout = self._take()
        try:
            return self._reception.message(self._checkout.run(self._reception.take()))
        except BaseException:
            self._checkout.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._checkout.is_forked:  # the message is the parent's
            return
        try:
            self._checkout.run(self._reception.settle(error))
        except Exception as failure:
            if error is None:
                if isinstance(failure, ConnectionFailedError):
                    failure.add_note(_UNSETTLED)
                raise
            _note(error, failure)
        finally:
            self._reception.over()
            self._checkout.close()


class AsyncReceiving:
    """The same with coroutines; ``settle`` runs an operation whether or not the task is cancelled."""

    def __init__(
        self,
        begin: Callable[[], Reception],
        checkout: Callable[[], Awaitable[Any]],
        settle: Callable[[Any, Operation[Any]], Awaitable[Any]],
    ) -> None:
        self._begin = begin
        self._take = checkout
        self._settle = settle

    async def __aenter__(self) -> Message:
        self._reception = self._begin()
        self._checkout = await self._take()
        try:
            return self._reception.message(await self._checkout.run(self._reception.take()))
        except BaseException:
            await self._checkout.close()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._checkout.is_forked:  # the message is the parent's
            return
        try:
            await self._settle(self._checkout, self._reception.settle(error))
        except Exception as failure:
            if error is None:
                if isinstance(failure, ConnectionFailedError):
                    failure.add_note(_UNSETTLED)
                raise
            _note(error, failure)
        finally:
            self._reception.over()
            await self._checkout.close()
