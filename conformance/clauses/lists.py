"""The notes on list commands as queues: commands, errors and types, blocking, the reliable pattern, the matrix.

Where the notes are loose, Redis 7.0.15 decides, and the clause says so.
"""

from __future__ import annotations

from typing import Final

from .model import Clause, Level

__all__ = ["LISTS"]

COUNT: Final = ("list-count",)
MOVE: Final = ("list-move",)


def of(id_: str, place: str, text: str, *, level: Level = "must", needs: tuple[str, ...] = ()) -> Clause:
    return Clause(id_, ("list-notes",), place, level, text, needs)


LISTS: Final = (
    # 1) Data model
    of("list.missing-is-empty", "1", "A key that does not exist counts as an empty list."),
    of("list.push-creates", "1", "A push creates the list."),
    of("list.last-pop-deletes", "1", "The key goes away with its last element, whichever command takes it."),
    of("list.lpush-rpop", "1", "What goes in by LPUSH comes out by RPOP in the same order."),
    of("list.rpush-lpop", "1", "What goes in by RPUSH comes out by LPOP in the same order."),
    # 2) Commands
    of("list.lpush.prepends", "2, LPUSH / RPUSH", "LPUSH puts its elements in front, one after the other."),
    of("list.rpush.appends", "2, LPUSH / RPUSH", "RPUSH puts its elements at the end, in order."),
    of("list.push.length", "2, LPUSH / RPUSH", "A push answers the new length."),
    of("list.push.binary", "2, LPUSH / RPUSH", "An element may be any bytes, none too."),
    of("list.pushx.existing", "2, LPUSHX / RPUSHX", "LPUSHX and RPUSHX push to a list that exists, and answer its length.", level="may"),
    of("list.pushx.missing", "2, LPUSHX / RPUSHX", "On a missing key LPUSHX and RPUSHX answer 0 and create nothing.", level="may"),
    of("list.pop.one", "2, LPOP / RPOP", "Without a count a pop answers one element as a bulk string."),
    of("list.pop.missing", "2, LPOP / RPOP", "Without a count a pop from a missing key answers a null bulk string."),
    of("list.pop.count", "2, LPOP / RPOP", "With a count a pop answers an array of up to so many elements, in the order of popping.", needs=COUNT),
    of("list.pop.count-one", "2, LPOP / RPOP", "With a count of 1 it is an array still.", needs=COUNT),
    of("list.pop.count-zero", "2, LPOP / RPOP", "With a count of 0 the array is empty, and nothing is taken.", needs=COUNT),
    of("list.pop.count-missing", "2, LPOP / RPOP", "With a count a pop from a missing key answers a null array, for a count of 0 or 1 too (the notes leave a null bulk string open there; Redis does not).", needs=COUNT),
    of("list.pop.count-bad", "2, LPOP / RPOP", "A negative count, or one that is no number, is an error and takes nothing.", needs=COUNT),
    of("list.bpop.reply", "2, BLPOP / BRPOP", "A blocking pop answers the key and the element."),
    of("list.bpop.timeout-zero", "2, BLPOP / BRPOP", "A timeout of 0 waits until there is an element."),
    of("list.bpop.timeout-fraction", "2, BLPOP / BRPOP", "A timeout may be a fraction of a second."),
    of("list.bpop.timeout-bad", "2, BLPOP / BRPOP", "A timeout that is negative or no number is an error at once."),
    of("list.bpop.timed-out", "2, BLPOP / BRPOP", "When the time is over the reply is a null array."),
    of("list.lmove.ends", "2, LMOVE / BLMOVE", "LMOVE takes from the end it is told and gives to the end it is told.", needs=MOVE),
    of("list.lmove.reply", "2, LMOVE / BLMOVE", "LMOVE answers the element; a null bulk string if there is none, whatever is at the destination.", needs=MOVE),
    of("list.lmove.rotate", "2, LMOVE / BLMOVE", "Source and destination may be one list.", needs=MOVE),
    of("list.lmove.atomic", "2, LMOVE / BLMOVE", "An element that cannot be given is not taken.", needs=MOVE),
    of("list.blmove.immediate", "2, LMOVE / BLMOVE", "BLMOVE moves at once when there is something.", needs=MOVE),
    of("list.blmove.waits", "2, LMOVE / BLMOVE", "BLMOVE waits when the source is empty.", needs=MOVE),
    of("list.blmove.timed-out", "2, LMOVE / BLMOVE", "When its time is over BLMOVE answers null: in Redis a null array, unlike LMOVE.", needs=MOVE),
    of("list.blmove.ends", "2, LMOVE / BLMOVE", "After a wait, too, BLMOVE takes from the end and gives to the end it is told.", needs=MOVE),
    of("list.blmove.bad", "2, LMOVE / BLMOVE", "A BLMOVE with a wrong end or timeout is an error at once, and moves nothing.", needs=MOVE),
    of("list.rpoplpush", "2, LMOVE / BLMOVE", "RPOPLPUSH moves from the right of one list to the left of another.", level="may"),
    of("list.brpoplpush", "2, LMOVE / BLMOVE", "BRPOPLPUSH does so, and waits.", level="may"),
    of("list.llen", "2, LLEN", "LLEN answers the length, 0 for a missing key."),
    of("list.lrem.head", "2, LREM", "LREM with a positive count removes so many equal elements, from the head."),
    of("list.lrem.tail-and-all", "2, LREM", "With a negative count it begins at the tail, with 0 it removes them all."),
    of("list.lrem.count", "2, LREM", "LREM answers how many it removed."),
    of("list.ltrim.keeps", "2, LTRIM", "LTRIM keeps the elements between two indexes, both included, and answers OK."),
    of("list.ltrim.negative", "2, LTRIM", "Its indexes may count from the end."),
    of("list.ltrim.empty", "2, LTRIM", "A range without elements leaves no key."),
    of("list.ltrim.caps", "2, LTRIM", "A push and an LTRIM cap a queue's length."),
    of("list.lrange", "2, LRANGE / LINDEX", "LRANGE answers the elements between two indexes, and takes none."),
    of("list.lindex", "2, LRANGE / LINDEX", "LINDEX answers one element, null beyond the ends, and takes none."),
    # 3) Errors and types
    of("list.wrong-type", "3", "On a key of another type every list command answers WRONGTYPE, and changes nothing."),
    of("list.wrong-type.move", "3", "So do LMOVE and BLMOVE, for the source and for the destination.", needs=MOVE),
    of("list.wrong-type.count", "3", "So do pops with a count, of 0 too.", needs=COUNT),
    of("list.wrong-arity", "3", "Too few arguments are an error, and the connection stays open."),
    # 4) Blocking engine
    of("list.block.at-once", "4", "With an element there, the reply is at once, from the first key that has one in the command's order; keys behind it do not matter."),
    of("list.block.registers", "4", "Otherwise the client is blocked, and INFO counts it.", needs=("blocked-count",)),
    of("list.block.holds-input", "4", "What a blocked client sends meanwhile is answered after its wait (the notes are silent).", level="decided"),
    of("list.block.inside-transaction", "4", "Inside MULTI nobody waits: with nothing to take a pop answers a null array, a move a null bulk string (the notes are silent).", level="decided"),
    of("list.block.wakes-on-push", "4", "A push wakes the client that waits, and so does a move to its list (the notes name LPUSH and RPUSH alone)."),
    of("list.block.fifo", "4", "Clients are served in the order in which they blocked, each with one element."),
    of("list.block.one-push-many", "4", "One push of several elements serves as many clients, in order (the notes speak of one client)."),
    of("list.block.push-reply", "4", "The pusher hears the length its push made, taken elements included."),
    of("list.block.atomic", "4", "Nobody sees an element that is handed to a waiter."),
    of("list.block.after-transaction", "4", "Pushes inside MULTI serve when EXEC is done, not before; what is gone by then serves nobody."),
    of("list.block.several-keys", "4", "A client that waits for several keys is served by one of them, and is out of the others' queues."),
    of("list.block.first-ready", "4", "When several of its keys become ready at once, the one that was ready first serves it.", needs=("order:ready",)),
    of("list.block.ready-in-order", "4", "Keys that become ready at once are served in the order in which they did; what became ready first and is the first argument as well serves, whichever of the two a server goes by (the notes are silent).", level="decided"),
    of("list.block.timeout-clears", "4", "A client whose time is over takes nothing afterwards, from none of its keys."),
    of("list.block.served-in-time", "4", "A client that was served in time does not hear that this wait is over."),
    of("list.block.disconnect", "4", "A client that hangs up is out of every queue: what is pushed then goes to the next, or stays."),
    of("list.block.other-type", "4", "A key that becomes another type serves nobody; the waiters keep their places."),
    of("list.block.chain", "4", "An element that BLMOVE moves serves those who wait for its target.", needs=MOVE),
    of("list.block.wrong-target", "4", "A BLMOVE whose target has another type hears so; the element goes to the next in line.", needs=MOVE),
    # 5) Reliable queue
    of("list.reliable.take", "5", "To take is to move an item to a processing list: it is always in one of the two.", needs=MOVE),
    of("list.reliable.ack", "5", "LREM with a count of 1 acknowledges one item, and only one of equal ones."),
    of("list.reliable.requeue", "5", "What was not acknowledged can be moved back to the end it is taken from.", needs=MOVE),
    # 6) Minimal test matrix
    of("list.matrix.both-ends", "6", "Pushes and pops at both ends, with and without a count.", needs=COUNT),
    of("list.matrix.blocking", "6", "A blocking pop at once, after a push, and timed out."),
    of("list.matrix.fifo", "6", "Several clients that wait for one list are served in the order in which they blocked."),
    of("list.matrix.key-order", "6", "Of several keys with elements the first in the command serves."),
    of("list.matrix.pipeline", "6", "An item goes from queue to processing list to acknowledgement, and nothing is left.", needs=MOVE),
    of("list.matrix.move-wakes", "6", "A BLMOVE from right to left waits, and moves what is pushed.", needs=MOVE),
    of("list.matrix.cross-list", "6", "A move between two lists happens wholly or not at all.", needs=MOVE),
    of("list.matrix.ack", "6", "LREM acknowledges one item in the processing list."),
    of("list.matrix.types", "6", "List commands on a key of another type are errors."),
    of("list.matrix.last-pop", "6", "The last pop deletes the key."),
)  # fmt: skip
