"""The notes on distributed queues, the reliable pattern of the notes on list commands, and RedisMQ's README.

They are asked of the kinds of queues that ``pressure`` has beside the protocol's, on whatever server. What was
decided where the documents are silent is marked so.
"""

from __future__ import annotations

from typing import Final

from .model import Clause, Level

__all__ = ["QUEUES"]

IN_PROGRESS: Final = "Queue with In-Progress Backup"
RING: Final = "Circular Buffer with Item Locking"


def of(id_: str, place: str, text: str, *, level: Level = "must") -> Clause:
    return Clause(id_, ("distributed-queues",), place, level, text)


def noted(id_: str, text: str, *, level: Level = "must", place: str = "5") -> Clause:
    return Clause(id_, ("list-notes", "distributed-queues"), place, level, text)


def module(id_: str, place: str, text: str, *, level: Level = "must") -> Clause:
    return Clause(id_, ("redismq",), place, level, text)


QUEUES: Final = (
    # The in-progress list
    of("backup.push", IN_PROGRESS, "An item is pushed onto the left of the pending list, and comes out in order."),
    of("backup.claim", IN_PROGRESS, "A claim moves an item from the pending list to the in-progress list."),
    of("backup.complete", IN_PROGRESS, "A completed item is removed from the in-progress list, one for one."),
    of("backup.left", IN_PROGRESS, "What a consumer fails to do is on the in-progress list still."),
    of("backup.by-hand", IN_PROGRESS, "By hand, items in progress go back to the pending list or are discarded."),
    of("backup.raw", IN_PROGRESS, "Clients that send the plain commands take part.", level="decided"),
    of("backup.never-lost", IN_PROGRESS, "Wherever a client dies, an item is in one of the lists, or done with."),
    noted("backup.waits", "A claim may wait: BLMOVE.", place="2, LMOVE / BLMOVE"),
    noted("backup.reaper", "A reaper requeues what was claimed too long ago, by times in a sorted set.", level="may"),
    noted("backup.first-sight", "An item without a time is given that at which the reaper sees it.", level="decided"),
    noted("backup.front", "What goes back is claimed next, the oldest first.", level="decided"),
    noted("backup.once", "Of two reapers one puts an item back.", level="decided"),
    noted("backup.late", "Who completes what was put back is told.", level="decided"),
    noted("backup.caps", "A queue of a certain length drops its oldest items as it is pushed to.", place="2, LTRIM"),
    noted("backup.envelope", "With envelopes equal items are told apart.", level="decided"),
    of("kinds.apart", IN_PROGRESS, "A queue of one kind is refused to clients of another.", level="decided"),
    # The circular buffer
    of("ring.push", RING, "An item is pushed onto the left, behind all others."),
    of("ring.claim", RING, "A claim moves the item at the front to the back, and locks it."),
    of("ring.locked", RING, "If the lock cannot be acquired nothing is retrieved."),
    of("ring.expires", RING, "A lock expires, and then any consumer can claim the item."),
    of("ring.complete", RING, "A completed item leaves the buffer, and its lock is released."),
    of("ring.stays", RING, "Wherever a client dies, an item that was not completed is in the buffer."),
    of("ring.token", RING, "A lock is released and extended by whoever has it, and nobody else.", level="decided"),
    of("ring.late", RING, "Who completes after the lock expired is told.", level="decided"),
    of("ring.round", RING, "To walk on to the next item that is not locked ends after one round.", level="decided"),
    # RedisMQ
    module("reliable.push", "MQ.PUSH", "Every message is given an id, like a stream's; they grow."),
    module("reliable.order", "The Reliable Queue", "Messages are delivered in the order in which they were pushed."),
    module("reliable.pop", "MQ.POP", "A pop gives ids and payloads, up to a count, of what was never delivered."),
    module("reliable.pop-empty", "MQ.POP", "With nothing to deliver a pop gives nothing."),
    module("reliable.kept", "MQ.POP", "What was popped is kept until it is acknowledged."),
    module("reliable.ack", "MQ.ACK", "An acknowledged message is gone, and so is its memory."),
    module("reliable.ack-tells", "MQ.ACK", "To acknowledge tells which messages were delivered still."),
    module("reliable.recover", "MQ.RECOVER", "What was delivered long ago is delivered again, up to a count."),
    module("reliable.recover-counts", "MQ.RECOVER", "That counts a delivery, and begins the time anew."),
    module("reliable.inspect", "MQ.INSPECT", "Messages that wait are seen from a place on, also from the end."),
    module("reliable.inspect-pending", "MQ.INSPECT", "Those delivered are seen with times and deliveries."),
    module("reliable.info", "MQ.QINFO", "The last id and both lengths are told.", level="decided"),
    module("reliable.never-lost", "The Reliable Queue", "Wherever a client dies, a message comes, or is done with."),
    module("reliable.worker", "MQ.ACK", "A worker acknowledges when it is done, not before.", level="decided"),
    module("reliable.retry", "MQ.RECOVER", "A retry is delivered when it is due, and counted on.", level="decided"),
    module("reliable.dead", "MQ.RECOVER", "What is delivered too often goes to a queue of its own.", level="decided"),
    module("reliable.several", "MQ.POP", "Of several queues the first that has something is popped.", level="decided"),
    module("reliable.due", "MQ.POP", "What is due does not wait behind what was pushed before.", level="decided"),
    module("reliable.due-order", "MQ.POP", "What is due comes in the order of its time.", level="decided"),
    module("reliable.due-starves-none", "MQ.POP", "Nor do the others wait behind all that is due.", level="decided"),
    module("reliable.cancel", "MQ.PUSH", "A message that is delayed still can be cancelled.", level="decided"),
    module("reliable.dead-why", "MQ.RECOVER", "What is dead tells why, and how often it came.", level="decided"),
    module("reliable.redrive", "MQ.PUSH", "What is dead can be put into the queue again.", level="decided"),
    module("reliable.groups", "MQ.ACK", "What one group acknowledges stays for the others.", level="decided"),
    module("reliable.heartbeat", "MQ.RECOVER", "What is being worked on is not recovered.", level="decided"),
)  # fmt: skip
