"""The pressure protocol, version 0.15: every operation, written once, without I/O.

Each operation is a generator that yields steps and is sent replies; ``operation`` says what a driver has to
keep. The modules follow the protocol's own chapters: ``roles`` (taking and giving back), ``put`` (Put and
Close), ``get``, ``waits`` (for room, for a value), ``lifecycle`` (Create, Delete, and the questions that take
no role), ``queries`` (more such questions). ``scripts`` and ``lua`` do in one script what the others do in
batches. What the protocol leaves open: ``receiving`` (a get that is acknowledged), ``repair`` (a holder that
died; ``liveness`` tells whether it is dead), ``leases`` (a role for so long only), ``doctor`` (what is wrong
with a queue; ``diagnosis`` is what it finds).

To add an operation: a generator here, its name below, and a method in ``pressure.queue`` (which see).
"""

from pressure.protocol.diagnosis import Diagnosis, RoleState
from pressure.protocol.doctor import doctor, examine
from pressure.protocol.get import get, get_many
from pressure.protocol.leases import renew
from pressure.protocol.lifecycle import closed, create, delete, exists, length, length_and_bound, wait_closed
from pressure.protocol.operation import (
    Batch,
    Command,
    Context,
    Deadline,
    NewHold,
    Operation,
    Pause,
    Reply,
    Server,
    Step,
    Wait,
)
from pressure.protocol.put import close, put, put_many
from pressure.protocol.queries import Stats, holder, peek, peek_many, rejected, stats
from pressure.protocol.receiving import Received, Settlement, receive, settle
from pressure.protocol.redriving import redrive
from pressure.protocol.repair import RepairReport, repair

__all__ = [
    "Batch",
    "Command",
    "Context",
    "Deadline",
    "Diagnosis",
    "NewHold",
    "Operation",
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
