"""Queues for Trio: those of ``pressure``, with coroutines as methods.

They are used like this::

    import trio

    import pressure.trio

    async def main():
        async with pressure.trio.Queue("jobs") as jobs:
            await jobs.create(bound=1000)
            await jobs.put("a line")
            await jobs.shutdown()  # no more values: the loop ends when the queue is empty
            async for value in jobs:
                print(value)

    trio.run(main)
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Unpack, overload

from pressure.codecs import Codec, CodecName, V
from pressure.kinds.backup import BackupMethods
from pressure.kinds.reliable import ReliableMethods
from pressure.kinds.ring import RingMethods
from pressure.methods.flavour import Values
from pressure.queue import Options, QueueMethods
from pressure.trio.flavour import OnTrio

__all__ = ["BackupQueue", "Queue", "ReliableQueue", "RingQueue"]


class Queue(OnTrio, QueueMethods[V]):
    """``pressure.Queue`` for Trio: the same methods, as coroutines.

    ``help(pressure.Queue)`` describes arguments, attributes and errors. The settings of a ``client`` are
    used, not its connections. Several tasks may use one object at the same time.

    When a method is cancelled, also by Ctrl-C, it stops waiting, gives its role back and loses no value. If
    it has already succeeded, it returns its result, and the cancellation is raised at the next checkpoint.
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


class BackupQueue(OnTrio, BackupMethods[V]):  # noqa: D101, it has the kind's
    __doc__ = BackupMethods.__doc__


class RingQueue(OnTrio, RingMethods[V]):  # noqa: D101, it has the kind's
    __doc__ = RingMethods.__doc__


class ReliableQueue(OnTrio, ReliableMethods[V]):  # noqa: D101, it has the kind's
    __doc__ = ReliableMethods.__doc__
