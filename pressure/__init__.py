"""Queues between processes and machines, on any Redis server.

``Queue`` is a bounded FIFO queue with the methods of ``queue.Queue`` (the pressure protocol, version 0.15)::

    import pressure

    with pressure.Queue("jobs") as jobs:  # on the Redis of REDIS_URL, or on 127.0.0.1:6379
        jobs.create(bound=1000)
        jobs.put("a line")
        jobs.shutdown()  # no more values: the loop ends when the queue is empty
        for value in jobs:
            print(value)

``pressure.aio.Queue`` and ``pressure.trio.Queue`` have the same methods for asyncio and for Trio.
``BackupQueue``, ``RingQueue`` and ``ReliableQueue`` are other kinds of queues, for any number of workers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from pressure.errors import (
    ClusterError,
    CodecError,
    ConnectionFailedError,
    ItemLostError,
    MalformedQueueError,
    OutcomeUnknownError,
    PressureError,
    PressureWarning,
    QueueAlreadyExistsError,
    QueueClosedError,
    QueueDoesNotExistError,
    QueueEmptyError,
    QueueFullError,
    QueueInUseError,
    ServerReplyError,
    UnsafeCodecWarning,
    ValueTooLongError,
)

if TYPE_CHECKING:  # at run time each is imported when it is used
    from pressure import aio as aio
    from pressure import trio as trio
    from pressure.kinds import (
        BackupQueue,
        Capabilities,
        DeadLetter,
        Delivered,
        Info,
        InProgress,
        Item,
        Pending,
        ReliableQueue,
        RingQueue,
        exponential,
    )
    from pressure.methods.receiving import Message
    from pressure.protocol import Stats
    from pressure.protocol.diagnosis import Diagnosis, RoleState
    from pressure.protocol.repair import RepairReport
    from pressure.queue import Queue
    from pressure.survey import doctor, queues

__all__ = [
    "BackupQueue",
    "Capabilities",
    "ClusterError",
    "CodecError",
    "ConnectionFailedError",
    "DeadLetter",
    "Delivered",
    "Diagnosis",
    "InProgress",
    "Info",
    "Item",
    "ItemLostError",
    "MalformedQueueError",
    "Message",
    "OutcomeUnknownError",
    "Pending",
    "PressureError",
    "PressureWarning",
    "Queue",
    "QueueAlreadyExistsError",
    "QueueClosedError",
    "QueueDoesNotExistError",
    "QueueEmptyError",
    "QueueFullError",
    "QueueInUseError",
    "ReliableQueue",
    "RepairReport",
    "RingQueue",
    "RoleState",
    "ServerReplyError",
    "Stats",
    "UnsafeCodecWarning",
    "ValueTooLongError",
    "doctor",
    "exponential",
    "queues",
]

_FLAVOURS: Final = ("aio", "trio")

#: Names that are imported at their first use, and their modules: --help needs none of them.
_LATER: Final = {
    **dict.fromkeys(("BackupQueue", "Capabilities", "DeadLetter", "Delivered", "Info"), "kinds"),
    **dict.fromkeys(("InProgress", "Item"), "kinds"),
    **dict.fromkeys(("Pending", "ReliableQueue", "RingQueue", "exponential"), "kinds"),
    **dict.fromkeys(("Diagnosis", "RoleState"), "protocol.diagnosis"),
    **dict.fromkeys(("doctor", "queues"), "survey"),
    "Message": "methods.receiving",
    "Queue": "queue",
    "RepairReport": "protocol.repair",
    "Stats": "protocol",
}


if not TYPE_CHECKING:  # a type checker is to report names that are not imported above

    def __getattr__(name: str) -> Any:
        if name in _FLAVOURS:
            return importlib.import_module(f"pressure.{name}")
        if name in _LATER:
            found = globals()[name] = getattr(importlib.import_module(f"pressure.{_LATER[name]}"), name)
            return found
        raise AttributeError(f"module 'pressure' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
