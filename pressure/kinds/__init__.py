"""The other kinds of queues, each defined once for every flavour; these are the synchronous ones.

``backup`` (an in-progress list), ``ring`` (a circular buffer with locks) and ``reliable`` (messages that are
acknowledged) hold a class of definitions each, and the operations behind them, which are generators over
batches like those of ``pressure.protocol``. ``pressure.methods`` and ``pressure.flavour`` make methods of
definitions. ``commands`` is how a server is asked, ``kind`` what all have in common.

To add a kind: a class of definitions, and a class here, in ``pressure.aio`` and in ``pressure.trio``.
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
from pressure.synchronous import Synchronous

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


class BackupQueue(Synchronous, BackupMethods[V]):  # noqa: D101, that of the kind
    __doc__ = BackupMethods.__doc__


class RingQueue(Synchronous, RingMethods[V]):  # noqa: D101, that of the kind
    __doc__ = RingMethods.__doc__


class ReliableQueue(Synchronous, ReliableMethods[V]):  # noqa: D101, that of the kind
    __doc__ = ReliableMethods.__doc__
