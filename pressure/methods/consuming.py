"""The methods of a queue that take messages: ``get``, ``receive`` and their loops, and ``join``."""

from __future__ import annotations

from pressure import protocol
from pressure.checks import whole
from pressure.codecs import V, all_decoded
from pressure.methods.inspecting import InspectMethods
from pressure.methods.joining import UnfinishedTasks, join
from pressure.methods.methods import Block, NextBlock, context_manager, iterator, method
from pressure.methods.receiving import Message, ReceiveBlock
from pressure.protocol import Deadline, Operation


class ConsumeMethods(InspectMethods[V]):
    """The methods of ``pressure.Queue`` that take messages."""

    _unfinished: UnfinishedTasks

    @method
    def get(self, block: bool = True, timeout: float | None = None) -> Operation[V]:
        """Take the value at the front of the queue (pressure protocol 0.15, Get).

        A closed queue still delivers the values that are left in it.

        Args:
            block: Whether to wait for the consumer role and for a value.
            timeout: Longest time to wait in all, in seconds; None for no limit.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted, perhaps while waiting.
            QueueClosedError: It is closed and empty.
            QueueInUseError: Another client held the consumer role until the timeout.
            QueueEmptyError: The queue was empty until the timeout.
            CodecError: The codec cannot decode the value; the error has its bytes.
        """
        return self._get(block, timeout)

    @method
    def get_nowait(self) -> Operation[V]:
        """``get`` without waiting (pressure protocol 0.15, Get (Non-Blocking))."""
        return self._get(block=False)

    def _get(self, block: bool, timeout: float | None = None) -> Operation[V]:
        deadline = Deadline.of(self._context, block, timeout)
        return self._unfinished.during(self._got(protocol.get(self._context, deadline)))

    def _got(self, operation: Operation[bytes]) -> Operation[V]:
        data = yield from operation
        value = self._decoded(data, [data])
        self._unfinished.add(1)
        return value

    @method
    def get_many(
        self,
        max: int,  # noqa: A002
        block: bool = True,
        timeout: float | None = None,
    ) -> Operation[list[V]]:
        """Take up to ``max`` values from the front of the queue, at least one, in few round trips.

        Several values together have at most 16 MiB (without scripts, about that), so that fewer than ``max``
        may be returned. To other clients it looks like one ``get`` after the other. A client that dies
        loses all values that it has taken.

        Args:
            max: How many values to take at most.
            block: Whether to wait for the consumer role and for a first value.
            timeout: Longest time to wait in all, in seconds; None for no limit.

        Raises:
            PressureError: As in ``get``.
            ValueError: ``max`` is below 1.
        """
        most = whole(max, "max")
        deadline = Deadline.of(self._context, block, timeout)
        return self._unfinished.during(self._got_many(protocol.get_many(self._context, deadline, most)))

    def _got_many(self, operation: Operation[list[bytes]]) -> Operation[list[V]]:
        found = yield from operation
        values = all_decoded(self._codec, found, self.keys)
        self._unfinished.add(len(values))
        return values

    @context_manager
    def receive(self, block: bool = True, timeout: float | None = None) -> Block[Message[V]]:
        """Take the value at the front for a ``with`` block, and acknowledge it at the end of the block.

        If the block ends without an exception, the message is removed from the queue. If the block raises,
        the message goes back to the front. If the client dies, the next client that waits puts it back. In
        both cases it will be redelivered, so delivery is at least once. This client holds the consumer role
        until the block ends: other consumers wait.

            with queue.receive() as message:
                work_on(message.value)

        A message that fails each time would be redelivered for ever: ``message.reject()`` sets it aside.

        Args:
            block: Whether to wait for the consumer role and for a value.
            timeout: Longest time to wait in all, in seconds; None for no limit.

        Raises:
            PressureError: As in ``get``, when the block begins. When it ends, ``QueueInUseError`` means that
                the role was freed meanwhile, and ``OutcomeUnknownError`` that the connection was
                lost; in both cases the message may be redelivered.
        """
        return ReceiveBlock(self._context, self._codec).block(Deadline.of(self._context, block, timeout))

    @iterator
    def messages(self, block: bool = True, timeout: float | None = None) -> NextBlock[Message[V]]:
        """Receive the messages, one after the other, each acknowledged when the loop asks for the next.

            for message in queue.messages():
                work_on(message.value)

        If the body of the loop raises or breaks, its message goes back to the front. The loop ends when the
        queue is closed and empty; otherwise it waits for the next message, as ``block`` and ``timeout`` say.

        With coroutines, Python closes a loop that was left early only when it collects the generator. To have
        the message put back at once, and to avoid Trio's warning, close it yourself::

            async with contextlib.aclosing(queue.messages()) as messages:
                async for message in messages:
                    await work_on(message.value)

        Args:
            block: Whether to wait for messages; if not, the loop ends when the queue is empty.
            timeout: Longest time to wait for each message, in seconds, after which the loop ends; None for no
                limit.

        Raises:
            PressureError: As in ``receive``.
        """
        Deadline.of(self._context, block, timeout)
        return lambda: ReceiveBlock(self._context, self._codec).block(
            Deadline.of(self._context, block, timeout)
        )

    def task_done(self) -> None:
        """Say that a value which this object has taken is finished, as in ``queue.Queue``.

        Each value that ``get``, ``get_nowait``, ``get_many`` or an iteration has returned is unfinished until
        then. Only ``join`` of the same object uses this: the server is not told. If other clients are to
        wait for a consumer's work, it uses ``receive`` or ``messages``, which acknowledge to the server.

        Raises:
            ValueError: It was called more often than values were taken.
        """
        self._unfinished.done()

    @method
    def join(self, timeout: float | None = None) -> Operation[bool]:
        """Wait until all values that were put are consumed and finished, as in ``queue.Queue``.

        That is the case when the queue is empty, when no client has a received message that it has not
        acknowledged yet, and when ``task_done`` was called for each value that this object has taken. What
        other objects took with ``get`` counts as finished when it is taken.

        Args:
            timeout: Longest time to wait, in seconds; None for no limit.

        Returns:
            True when that is the case, False at the timeout.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted, perhaps while waiting.
        """
        return join(self._context, Deadline.of(self._context, True, timeout), self._unfinished)
