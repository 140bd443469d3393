"""The other kinds of queues: backup, ring and reliable. This module has their synchronous classes.

The packages ``backup`` (an in-progress list), ``ring`` (a circular buffer with locks) and ``reliable``
(messages that are acknowledged) have one class each that defines the queue's methods for every flavour, and
the operations behind the methods: generators over batches, as in ``pressure.protocol``. ``pressure.methods``
and ``pressure.methods.flavour`` make the methods. ``kind`` and ``commands`` have what the three share.

To add a kind: a class that defines its methods, and a class here, in ``pressure.aio`` and ``pressure.trio``.
"""

from __future__ import annotations

from pressure.codecs import V
from pressure.kinds.backup import BackupMethods, InProgress
from pressure.kinds.kind import Item
from pressure.kinds.reliable import (
    Capabilities,
    DeadLetter,
    Delivered,
    Info,
    Pending,
    ReliableMethods,
    exponential,
)
from pressure.kinds.ring import RingMethods
from pressure.sync.flavour import Synchronous

__all__ = [
    "BackupQueue",
    "Capabilities",
    "DeadLetter",
    "Delivered",
    "InProgress",
    "Info",
    "Item",
    "Pending",
    "ReliableQueue",
    "RingQueue",
    "exponential",
]


class BackupQueue(Synchronous, BackupMethods[V]):  # noqa: D101, it has the kind's
    __doc__ = BackupMethods.__doc__


class RingQueue(Synchronous, RingMethods[V]):  # noqa: D101, it has the kind's
    __doc__ = RingMethods.__doc__


class ReliableQueue(Synchronous, ReliableMethods[V]):  # noqa: D101, it has the kind's
    __doc__ = ReliableMethods.__doc__
