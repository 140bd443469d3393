"""The operations of the pressure protocol, version 0.15, written once for all flavours, without I/O.

Each operation is a generator that yields steps and is sent replies; ``operation`` has the rules for drivers.
    - The protocol's chapters: ``roles`` (take a role, give it back), ``put`` (Put and Close), ``get``,
      ``waits`` (for room, for a value), ``lifecycle`` (Create, Delete, and reads that take no role).
    - The same operations as one Lua script each: ``scripts`` and ``lua``.
    - Beyond the protocol: ``receiving`` (a get with acknowledgement), ``redriving``, ``leases`` (a role for a
      limited time), ``queries`` (more reads), ``healing`` and ``repair`` (free the role of a dead holder;
      ``liveness`` says whether it is dead), ``doctor`` (find problems; ``diagnosis`` is its result).
      ``repair``, ``doctor`` and ``diagnosis`` are imported when they are used, since few programs need them
      and a third of the import is theirs.

To add an operation: a generator here, its name below, and a method as ``pressure.queue`` explains.
"""

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
    ServerFacts,
    Step,
    Wait,
)
from pressure.protocol.put import close, put, put_many
from pressure.protocol.queries import Stats, holder, peek, peek_many, rejected, stats
from pressure.protocol.receiving import Received, Settlement, receive, settle
from pressure.protocol.redriving import redrive

__all__ = [
    "Batch",
    "Command",
    "Context",
    "Deadline",
    "NewHold",
    "Operation",
    "Pause",
    "Received",
    "Reply",
    "ServerFacts",
    "Settlement",
    "Stats",
    "Step",
    "Wait",
    "close",
    "closed",
    "create",
    "delete",
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
    "settle",
    "stats",
    "wait_closed",
]
