"""``with queue.receive() as message``: the block that decides what becomes of a message.

Rules:
    - The block ends well: the message is done with. It ends by an exception, whichever: the message goes back
      to the front of the queue.
    - Whoever took the message settles it: the identifier is that of the thread or task that entered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

from pressure.codecs import Codec, decoded
from pressure.errors import ConnectionFailedError
from pressure.lease import Keeper
from pressure.protocol import Context, Operation, Patience, receive, settle


@dataclass(frozen=True, slots=True)
class Message:
    """A value that was received and is not acknowledged yet.

    Attributes:
        data: Its bytes.
    """

    data: bytes
    _codec: Codec

    @property
    def value(self) -> Any:
        """What the bytes stand for; the bytes themselves where the queue has no codec.

        Raises:
            CodecError: They stand for nothing.
        """
        return decoded(self._codec, self.data, [self.data])


class Reception:
    """The operations of one block."""

    def __init__(
        self, context: Context, patience: Patience, codec: Codec, keeper: Keeper | None = None
    ) -> None:
        self._context = context
        self._patience = patience
        self._codec = codec
        self._keeper = keeper
        self._size = 0

    def take(self) -> Operation[bytes]:
        """Takes the value; its lease is kept until ``over``."""
        if self._keeper is not None:
            self._keeper.begin(self._context.client_id)
        try:
            return (yield from receive(self._context, self._patience))
        except BaseException:
            self.over()
            raise

    def over(self) -> None:
        """Its lease is not kept any more."""
        if self._keeper is not None:
            self._keeper.end(self._context.client_id)

    def settle(self, error: BaseException | None) -> Operation[None]:
        """Is done with it, or puts it back."""
        return settle(self._context, error is None, self._size)

    def message(self, data: bytes) -> Message:
        """The value as the block sees it."""
        self._size = len(data)
        return Message(data, self._codec)


_UNSETTLED: Final = "the message is not acknowledged, and its role is still taken; repair puts it back"


def _note(error: BaseException, failure: Exception) -> None:
    error.add_note(f"the message could not be put back, repair does: {failure}")


class Receiving:
    """The context manager of ``Queue.receive``; it is entered once.

    Args:
        begin: Makes the reception, for whoever enters.
        run: Runs an operation.
    """

    def __init__(self, begin: Callable[[], Reception], run: Callable[[Operation[Any]], Any]) -> None:
        self._begin = begin
        self._run = run

    def __enter__(self) -> Message:
        self._reception = self._begin()
        return self._reception.message(self._run(self._reception.take()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._run(self._reception.settle(error))
        except Exception as failure:
            if error is None:
                if isinstance(failure, ConnectionFailedError):
                    failure.add_note(_UNSETTLED)
                raise
            _note(error, failure)
        finally:
            self._reception.over()


class AsyncReceiving:
    """The same with coroutines; ``settle`` runs an operation whether or not the task is cancelled."""

    def __init__(
        self,
        begin: Callable[[], Reception],
        run: Callable[[Operation[Any]], Awaitable[Any]],
        settle: Callable[[Operation[Any]], Awaitable[Any]],
    ) -> None:
        self._begin = begin
        self._run = run
        self._settle = settle

    async def __aenter__(self) -> Message:
        self._reception = self._begin()
        return self._reception.message(await self._run(self._reception.take()))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._settle(self._reception.settle(error))
        except Exception as failure:
            if error is None:
                if isinstance(failure, ConnectionFailedError):
                    failure.add_note(_UNSETTLED)
                raise
            _note(error, failure)
        finally:
            self._reception.over()
