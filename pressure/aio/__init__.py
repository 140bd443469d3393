"""Queues for asyncio: those of ``pressure``, with coroutines as methods.

They are used like this::

    import asyncio

    import pressure.aio

    async def main():
        async with pressure.aio.Queue("jobs") as jobs:
            await jobs.create(bound=1000)
            await jobs.put("a line")
            await jobs.shutdown()  # no more values: the loop ends when the queue is empty
            async for value in jobs:
                print(value)

    asyncio.run(main())
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Unpack, overload

from pressure.aio.flavour import OnAsyncio
from pressure.codecs import Codec, CodecName, V
from pressure.kinds.backup import BackupMethods
from pressure.kinds.reliable import ReliableMethods
from pressure.kinds.ring import RingMethods
from pressure.methods.flavour import Values
from pressure.queue import Options, QueueMethods

__all__ = ["BackupQueue", "Queue", "ReliableQueue", "RingQueue"]


class Queue(OnAsyncio, QueueMethods[V]):
    """``pressure.Queue`` for asyncio: the same methods, as coroutines.

    ``help(pressure.Queue)`` describes arguments, attributes and errors. ``client`` may also be a
    ``redis.asyncio.Redis``. Several tasks may use one object at the same time.

    When a task is cancelled in a method, the method stops waiting, gives its role back and loses no value. If
    the method has already succeeded, it returns its result, and the cancellation is raised at the task's next
    wait.

    Close the connections before the event loop ends: with ``disconnect``, or with an ``async with`` block.
    """

    if TYPE_CHECKING:  # the codec determines the type of the values

        @overload
        def __init__(
            self: Queue[bytes], name: bytes | str, *, codec: None = None, **options: Unpack[Options]
        ) -> None: ...
        @overload
        def __init__(self, name: bytes | str, *, codec: Codec[V], **options: Unpack[Options]) -> None: ...
        @overload
        def __init__(self, name: bytes | str, *, codec: CodecName, **options: Unpack[Options]) -> None: ...
        def __init__(self, *args: Any, **options: Any) -> None: ...

    def __aiter__(self) -> AsyncIterator[V]:
        """Take values from the queue, one after the other, until it is closed and empty.

        Raises:
            QueueDoesNotExistError: It was never created, or it was deleted.
        """
        return Values(self.get)


class BackupQueue(OnAsyncio, BackupMethods[V]):  # noqa: D101, it has the kind's
    __doc__ = BackupMethods.__doc__


class RingQueue(OnAsyncio, RingMethods[V]):  # noqa: D101, it has the kind's
    __doc__ = RingMethods.__doc__


class ReliableQueue(OnAsyncio, ReliableMethods[V]):  # noqa: D101, it has the kind's
    __doc__ = ReliableMethods.__doc__
