"""``put``, ``get``, ``peek`` and ``length`` for the kinds whose items are taken and then completed.

Rules:
    - An item is completed after it was written. An item that cannot be written is put back.
    - If the command is killed in between, the item stays in progress and can be redelivered.

To add a kind: a row in ``KIND_COMMANDS``.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pressure.cli.call import Call
from pressure.cli.counting import counting, messages_of, writer_of
from pressure.cli.framing import FORMATS
from pressure.cli.lookup import root_of
from pressure.cli.status import DONE
from pressure.cli.streams import Writer
from pressure.errors import ItemLostError, PressureError, QueueEmptyError
from pressure.kinds import BackupQueue, DeadLetter, Delivered, Item, ReliableQueue, RingQueue

#: How many messages are pushed in one round trip at most.
_RUN: Final = 256
#: For how many seconds an item of a ring is locked while it is written.
_LOCK_TTL: Final = 60.0


@dataclass(frozen=True, slots=True)
class KindCommands:
    """The operations of a kind; the first argument of each is a queue.

    Attributes:
        make: The class of the queue.
        take: Takes an item, or returns None if none arrived in time; the second argument is the options.
        finish: Completes an item.
        back: Puts an item back.
        peek: Returns the next items; the second argument says how many.
        length: How many items wait; for a ring, how many items it has.
        empty: What the error says if no item can be taken.
    """

    make: Any
    take: Callable[[Any, Namespace], Item | Delivered | None]
    finish: Callable[[Any, Any], Any]
    back: Callable[[Any, Any], Any]
    peek: Callable[[Any, int], Sequence[Item | Delivered]]
    length: Callable[[Any], int]
    empty: str = "is empty"


def _popped(queue: ReliableQueue, options: Namespace) -> Delivered | None:
    found = [] if options.recover is None else queue.recover(options.recover)
    found = found or queue.pop(timeout=options.timeout)
    return found[0] if found else None


def _acknowledge(queue: ReliableQueue, message: Delivered) -> None:
    if not queue.ack(message):
        raise ItemLostError(f"queue {queue}: another client has acknowledged the message; it was done twice")


KIND_COMMANDS: Final[dict[str, KindCommands]] = {
    "backup": KindCommands(
        BackupQueue,
        lambda queue, options: queue.claim(timeout=options.timeout),
        BackupQueue.complete,
        BackupQueue.requeue,
        BackupQueue.peek,
        BackupQueue.length,
    ),
    "ring": KindCommands(
        RingQueue,
        lambda queue, options: queue.claim_next(options.lock_ttl or _LOCK_TTL),
        RingQueue.complete,
        RingQueue.release,
        RingQueue.peek,
        RingQueue.length,
        "has no unlocked item",
    ),
    "reliable": KindCommands(
        ReliableQueue,
        _popped,
        _acknowledge,
        lambda queue, message: queue.retry(message, 0),
        lambda queue, count: queue.inspect(0, count),
        lambda queue: queue.info().undelivered,
    ),
}


def opened(call: Call, kind: str, output: int | None = None) -> Any:
    """The queue that the call names, as a queue of this kind."""
    name = os.fsencode(call.arguments.name)
    where = {option: value for option, value in call.where.items() if option != "prefix"}
    return call.using(KIND_COMMANDS[kind].make(name, key=root_of(call) + b":" + name, **where), output)


def put(call: Call) -> int:
    """Push messages from the arguments, or else from standard input."""
    options = call.arguments
    framing = FORMATS[options.format]()
    queue = opened(call, options.kind)
    source, runs = messages_of(call, framing)
    acks = Writer(sys.stdout.fileno(), FORMATS["lines"](), call.signals) if options.acks else None
    most = 1 if acks else _RUN
    with counting(call, "put", framing.unit, None, source) as meter:
        for run in runs:
            for start in range(0, len(run), most):
                _push(call, queue, run[start : start + most])
                for message in run[start : start + most]:
                    meter.add(message)
                if acks:
                    acks.write(b"%d" % meter.messages)
    return DONE


def _push(call: Call, queue: Any, some: Sequence[bytes]) -> None:
    call.signals.check()
    queue.push(*some)


def get(call: Call) -> int:
    """Write items to standard output and complete them, up to ``--count``, until none arrives in time."""
    options, output = call.arguments, sys.stdout.fileno()
    framing, handled = FORMATS[options.format](), KIND_COMMANDS[options.kind]
    queue = opened(call, options.kind, output)
    writer = writer_of(call, output, framing)
    with counting(call, "get", framing.unit, None, output) as meter:
        while options.count is None or meter.messages < options.count:
            writer.wait_ready()
            item = handled.take(queue, options)
            if item is None:
                raise QueueEmptyError(f"queue {queue} {handled.empty}")
            data = _bytes_of(item)
            _written(writer, data, lambda: handled.back(queue, item))  # noqa: B023, called at once
            handled.finish(queue, item)
            meter.add(data)
    return DONE


def peek(call: Call) -> list[bytes]:
    """The next items."""
    options = call.arguments
    found = KIND_COMMANDS[options.kind].peek(opened(call, options.kind), options.count)
    return [_bytes_of(each) for each in found]


def letters(call: Call) -> list[DeadLetter]:
    """The oldest dead letters."""
    queue: ReliableQueue = opened(call, call.arguments.kind)
    return queue.dead(call.arguments.count)


def redrive(call: Call, most: int) -> int:
    """Put dead letters into their queue again; returns how many."""
    queue: ReliableQueue = opened(call, call.arguments.kind)
    return queue.redrive(most)


def length(call: Call) -> int:
    """How many items wait."""
    kind = call.arguments.kind
    return KIND_COMMANDS[kind].length(opened(call, kind))


def _bytes_of(item: Item | Delivered) -> bytes:
    return item.payload if isinstance(item, Item) else item.data


def _written(writer: Writer, data: bytes, back: Callable[[], Any]) -> None:
    try:
        writer.write(data)
    except BaseException as error:
        try:
            back()
        except PressureError as failure:
            error.add_note(f"the message could not be put back ({failure})")
        raise
