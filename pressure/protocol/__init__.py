"""The pressure protocol, version 0.15: every operation, written once, without I/O.

Each operation is a generator that yields steps and is sent replies; ``steps`` says what a driver has to
keep. The modules follow the protocol's own chapters: ``roles`` (taking and giving back), ``put`` (Put and
Close), ``get``, ``lifecycle`` (Create, Delete, and the questions that take no role), ``repair`` (what the
protocol leaves open: a holder that died).

To add an operation: a generator here, its name below, and a method in ``pressure.queue``.
"""

from pressure.protocol.get import get
from pressure.protocol.lifecycle import closed, create, delete, exists, length, length_and_bound, wait_closed
from pressure.protocol.put import close, put
from pressure.protocol.repair import RepairReport, repair
from pressure.protocol.steps import Batch, Command, Context, Operation, Patience, Pause, Reply, Step, Wait

__all__ = [
    "Batch",
    "Command",
    "Context",
    "Operation",
    "Patience",
    "Pause",
    "RepairReport",
    "Reply",
    "Step",
    "Wait",
    "close",
    "closed",
    "create",
    "delete",
    "exists",
    "get",
    "length",
    "length_and_bound",
    "put",
    "repair",
    "wait_closed",
]
