"""The pressure protocol, version 0.15: every operation, written once, without I/O.

Each operation is a generator that yields steps and is sent replies; ``steps`` says what a driver has to
keep. The modules follow the protocol's own chapters: ``roles`` (taking and giving back), ``put`` (Put and
Close), ``get``, ``waits`` (for room, for a value), ``lifecycle`` (Create, Delete, and the questions that take
no role), ``looks`` (more such questions). ``scripted`` and ``lua`` do in one script what the others do in
batches. What the protocol leaves open: ``reliable`` (a get that is acknowledged), ``repair`` (a holder that
died; ``vitals`` tells whether it is dead), ``leases`` (a role for so long only), ``doctor`` (what is wrong
with a queue; ``diagnosis`` is what it finds).

To add an operation: a generator here, its name below, and a method in ``pressure.queue`` (which see).
"""

from pressure.protocol.diagnosis import Diagnosis, RoleState
from pressure.protocol.doctor import doctor, examine
from pressure.protocol.get import get, get_many
from pressure.protocol.leases import renew
from pressure.protocol.lifecycle import closed, create, delete, exists, length, length_and_bound, wait_closed
from pressure.protocol.looks import Stats, holder, peek, peek_many, rejected, stats
from pressure.protocol.put import close, put, put_many
from pressure.protocol.redriving import redrive
from pressure.protocol.reliable import Received, receive, settle
from pressure.protocol.repair import RepairReport, repair
from pressure.protocol.scripted import Settlement
from pressure.protocol.steps import (
    Batch,
    Command,
    Context,
    NewHold,
    Operation,
    Patience,
    Pause,
    Reply,
    Server,
    Step,
    Wait,
)

__all__ = [
    "Batch",
    "Command",
    "Context",
    "Diagnosis",
    "NewHold",
    "Operation",
    "Patience",
    "Pause",
    "Received",
    "RepairReport",
    "Reply",
    "RoleState",
    "Server",
    "Settlement",
    "Stats",
    "Step",
    "Wait",
    "close",
    "closed",
    "create",
    "delete",
    "doctor",
    "examine",
    "exists",
    "get",
    "get_many",
    "holder",
    "length",
    "length_and_bound",
    "peek",
    "peek_many",
    "put",
    "put_many",
    "receive",
    "redrive",
    "rejected",
    "renew",
    "repair",
    "settle",
    "stats",
    "wait_closed",
]
