"""The pressure protocol, versions 0.1 and 0.15.

Most clauses stand in both versions. ``FIRST`` and ``LATER`` mark those that stand in one only.
"""

from __future__ import annotations

from typing import Final

from .model import Clause, Level

__all__ = ["PROTOCOL"]

FIRST: Final = ("protocol-0.1",)
LATER: Final = ("protocol-0.15",)
BOTH: Final = FIRST + LATER

OPEN: Final = ("no-password",)


def of(
    id_: str,
    place: str,
    text: str,
    *,
    level: Level = "must",
    suites: tuple[str, ...] = BOTH,
    needs: tuple[str, ...] = (),
) -> Clause:
    return Clause(id_, suites, place, level, text, needs)


PROTOCOL: Final = (
    # Brokers and clients
    of("broker.host-and-port", "Message Brokers", "A queue can be pointed at any server by host and port.", needs=OPEN),
    of("broker.database", "Message Brokers", "The number of the database can be chosen.", needs=(*OPEN, "databases")),
    of("broker.prefix", "Message Brokers", "The prefix of all keys can be chosen."),
    of("broker.default-prefix", "Message Brokers", "Without a prefix of their own, keys start with __pressure__."),
    of("broker.default-host-and-database", "Message Brokers", "Without a host and a database of its own, a queue is at 127.0.0.1, in database 0.", needs=OPEN),
    of("broker.default-port", "Message Brokers", "Without a port of its own, a queue is at 6379."),
    of("broker.environment", "Message Brokers", "The connection may come from environment variables.", level="may", needs=OPEN),
    of("broker.down", "Message Brokers", "With no working server every operation fails and says so."),
    of("client.identifier", "Clients", "Each client has a value of its own that stays the same over its operations: its identifier, or what stands before the first slash in its identifiers."),
    of("client.identifiers-differ", "Clients", "Two clients never leave the same identifier."),
    of("client.identifier-readable", "Clients", "An identifier may be one that people can read.", level="may"),
    # Keys
    of("keys.twelve", "Queues", "A queue has its twelve keys and no others, each of its type, prefix and name in front."),
    of("keys.any-name", "Queues", "Any name that a Redis key may have will do: spaces, colons, non-ASCII letters."),
    of("keys.left-in-right-out", "Queues", "Elements go in on the left and come out on the right."),
    # Create
    of("create.refuses-existing", "Create", "Creating a queue whose bound is set is an error, and changes nothing."),
    of("create.saves-bound", "Create", "The bound is saved, and 0 as well."),
    of("create.default-bound", "Queues", "Without a bound of its own, a queue has 0, which is none."),
    of("create.fills-roles", "Create", "Both role lists begin with one element."),
    of("create.fills-not-full", "Create", "The not_full list begins with one element."),
    of("create.starts-open", "Create", "A queue begins open and empty, and with nothing counted."),
    of("use.needs-create", "Create", "A queue that was not created cannot be put to, got from, closed or deleted."),
    # Exists, Length, Closed
    of("exists.by-bound", "Exists", "A queue exists if, and only if, its bound is set.", suites=LATER),
    of("length.needs-queue", "Length", "The length of a queue that does not exist is an error.", suites=LATER),
    of("length.counts", "Length", "The length is the number of elements waiting.", suites=LATER),
    of("closed.needs-queue", "Closed", "Whether a queue that does not exist is closed is an error.", suites=LATER),
    of("closed.by-marks", "Closed", "A queue is closed if, and only if, its closed list has elements.", suites=LATER),
    of("looks.take-no-role", "Exists, Length, Closed", "To look at a queue takes no role: it works while both are held.", suites=LATER),
    # Put
    of("put.needs-queue", "Put", "To put to a queue that does not exist is an error, and leaves no key."),
    of("put.refuses-closed", "Put", "To put to a closed queue is an error, and stores nothing."),
    of("put.waits-for-role", "Put", "While another client is the producer a Put waits or, its time over, is an error; it stores nothing."),
    of("put.keeps-trying", "Put", "While another client is the producer a Put should try on until its time is over.", level="should"),
    of("put.takes-role", "Put", "A Put takes the element of producer_free while it works."),
    of("put.names-producer", "Put", "A Put leaves its client's identifier as the producer."),
    of("put.waits-for-room", "Put", "A Put to a full queue waits until not_full has an element."),
    of("put.gives-up", "Put", "A Put that gives up waiting for room gives the role back."),
    of("put.pushes-left", "Put", "The value goes in on the left, byte for byte."),
    of("put.counts-message", "Put", "A Put adds one to the messages produced."),
    of("put.counts-bytes", "Put", "A Put may add the value's length to the bytes produced.", level="may"),
    of("put.refills-below-bound", "Put", "After a Put that leaves room, not_full has exactly one element."),
    of("put.refills-without-bound", "Put", "With a bound of 0 not_full always has an element after a Put."),
    of("put.leaves-full", "Put", "After a Put that fills the queue, not_full is empty."),
    of("put.trims-not-full", "Put", "Whatever others left in not_full, one element is in it after a Put."),
    of("put.gives-role-back", "Put", "A Put gives the producer role back."),
    of("put.overfills", "Put", "A client may put onto a full queue, if it says so.", level="may", suites=LATER),
    # Put without waiting
    of("put-nowait.puts", "Put (Non-Blocking)", "With the role free and room to spare it puts at once.", suites=LATER),
    of("put-nowait.names-producer", "Put (Non-Blocking)", "It leaves its client's identifier as the producer.", suites=LATER),
    of("put-nowait.counts-bytes", "Put (Non-Blocking)", "It may add the value's length to the bytes produced.", level="may", suites=LATER),
    of("put-nowait.refills", "Put (Non-Blocking)", "When it leaves room, not_full has exactly one element.", suites=LATER),
    of("put-nowait.role-taken", "Put (Non-Blocking)", "While another client is the producer it is an error at once.", suites=LATER),
    of("put-nowait.full", "Put (Non-Blocking)", "On a full queue it is an error at once, and the role goes back.", suites=LATER),
    of("put-nowait.closed", "Put (Non-Blocking)", "On a closed queue it is an error.", suites=LATER),
    of("put-nowait.needs-queue", "Put (Non-Blocking)", "Where there is no queue it is an error.", suites=LATER),
    # Get
    of("get.needs-queue", "Get", "To get from a queue that does not exist is an error, and leaves no key."),
    of("get.waits-for-role", "Get", "While another client is the consumer a Get waits or, its time over, is an error; it takes nothing."),
    of("get.keeps-trying", "Get", "While another client is the consumer a Get should try on until its time is over.", level="should"),
    of("get.takes-role", "Get", "A Get takes the element of consumer_free while it works."),
    of("get.names-consumer", "Get", "A Get leaves its client's identifier as the consumer."),
    of("get.pops-right", "Get", "The oldest value comes out first, byte for byte."),
    of("get.waits-for-value", "Get", "A Get from an empty open queue waits until there is a value."),
    of("get.wakes-at-close", "Get", "A Get that waits hears of a close."),
    of("get.gives-up", "Get", "A Get that gives up waiting gives the role back."),
    of("get.refills", "Get", "After a Get that leaves room not_full has exactly one element."),
    of("get.wakes-producer", "Get", "A Put that waits for room goes on when a Get made some."),
    of("get.over-full", "Get", "From an over-filled queue nothing is added to not_full until there is room below the bound.", suites=LATER),
    of("get.counts-message", "Get", "A Get adds one to the messages consumed."),
    of("get.counts-bytes", "Get", "A Get may add the value's length to the bytes consumed.", level="may"),
    of("get.gives-role-back", "Get", "A Get gives the consumer role back."),
    of("get.drains-closed", "Get", "From a closed queue what is left is delivered, and then it is an error."),
    # Get without waiting
    of("get-nowait.gets", "Get (Non-Blocking)", "With the role free and a value there it gets it at once.", suites=LATER),
    of("get-nowait.names-consumer", "Get (Non-Blocking)", "It leaves its client's identifier as the consumer.", suites=LATER),
    of("get-nowait.counts-bytes", "Get (Non-Blocking)", "It may add the value's length to the bytes consumed.", level="may", suites=LATER),
    of("get-nowait.refills", "Get (Non-Blocking)", "When it leaves room below the bound, not_full has exactly one element, and else none is added.", suites=LATER),
    of("get-nowait.role-taken", "Get (Non-Blocking)", "While another client is the consumer it takes nothing and is an error at once.", suites=LATER),
    of("get-nowait.empty", "Get (Non-Blocking)", "On an empty open queue it is an error at once, and the role goes back.", suites=LATER),
    of("get-nowait.closed", "Get (Non-Blocking)", "On a closed and empty queue it is an error.", suites=LATER),
    of("get-nowait.needs-queue", "Get (Non-Blocking)", "Where there is no queue it is an error.", suites=LATER),
    # Close
    of("close.needs-queue", "Close", "To close a queue that does not exist is an error."),
    of("close.waits-for-role", "Close", "A Close waits while another client is the producer."),
    of("close.names-producer", "Close", "A Close leaves its client's identifier as the producer."),
    of("close.marks-twice", "Close", "A Close leaves two elements in the closed list."),
    of("close.once", "Close", "To close a closed queue is an error, and adds no mark."),
    of("close.gives-role-back", "Close", "A Close gives the producer role back."),
    of("close.is-for-ever", "Close", "A closed queue stays closed, whatever is got from it."),
    # Delete
    of("delete.needs-queue", "Delete", "To delete a queue that does not exist is an error."),
    of("delete.leaves-nothing", "Delete", "After a Delete none of the twelve keys is left."),
    of("delete.hides-first", "Delete", "The bound goes first: from then on the queue does not exist."),
    of("delete.in-order", "Delete", "The bound goes, then the waiting are woken, then the producer's keys go when that role is free, then the consumer's, and the rest last."),
    of("delete.fills-not-full", "Delete", "A Delete puts an element into not_full, so that whoever waits for room is woken."),
    of("delete.marks-twice", "Delete", "A Delete puts two elements into the closed list, so that a Get and whoever else waits for a close are woken."),
    of("delete.wakes-producer", "Delete", "A Put that waits for room ends with an error."),
    of("delete.wakes-consumer", "Delete", "A Get that waits for a value ends with an error."),
    of("delete.waits-for-roles", "Delete", "A Delete waits until both roles are free."),
    of("delete.then-create", "Delete", "A deleted queue can be created anew, open and empty."),
    # The whole
    of("queue.fifo", "The pressure Protocol", "Values come out in the order in which they went in, none missing, none twice."),
    of("queue.bounded", "The pressure Protocol", "However many producers there are, a bounded queue that nobody gets from holds its bound and no more."),
    of("queue.paradigm", "Clients", "The producer may create and close a queue, and the consumer delete it when all has been read.", level="may", suites=LATER),
    of("queue.synchronized", "The pressure Protocol", "A producer that is faster than its consumer waits for it."),
    of("queue.beside-ours", "The pressure Protocol", "Clients that conform share a queue: beside ours, at either end or at both, nothing is lost, doubled or out of order."),
    of("queue.exclusive", "The pressure Protocol", "However many clients put and get at once, nothing is lost, doubled or miscounted."),
)  # fmt: skip
