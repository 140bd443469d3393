"""The short subcommands. Each is a function that takes a ``Call`` and returns the exit status.

To add one: write its function here, and add its row to ``pressure.cli.table``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from pressure.cli import formatting
from pressure.cli.call import Call, answer, answer_json
from pressure.cli.framing import FORMATS
from pressure.cli.options import QUEUE
from pressure.cli.status import DONE, NO
from pressure.cli.streams import Writer
from pressure.errors import QueueEmptyError
from pressure.queue import Queue
from pressure.text import printable


def _queue(call: Call) -> Queue:
    return call.queue(call.arguments.name)


def _print_answer(call: Call, value: Any, **more: Any) -> None:
    """Print an answer; with ``--json``, together with the names of the queue and of the subcommand."""
    if call.arguments.json:
        name = formatting.name(_queue(call).name)
        answer_json({"queue": name, call.arguments.command: value, **more})
    else:
        answer(str(value).lower())


def create(call: Call) -> int:
    """Create the queue."""
    _queue(call).create(call.arguments.bound or 0, exist_ok=call.arguments.exist_ok)
    return DONE


def length(call: Call) -> int:
    """Print how many values are in the queue."""
    if call.arguments.kind != QUEUE:
        from pressure.cli import kinds

        _print_answer(call, kinds.length(call), kind=call.arguments.kind)
    elif call.arguments.json:
        found = _queue(call).stats()
        _print_answer(call, found.length, bound=found.bound)
    else:
        _print_answer(call, _queue(call).length())
    return DONE


def exists(call: Call) -> int:
    """Print whether the queue exists."""
    found = _queue(call).exists()
    _print_answer(call, found)
    return DONE if found else NO


def closed(call: Call) -> int:
    """Print whether the queue is closed."""
    found = _queue(call).closed()
    _print_answer(call, found)
    return DONE if found else NO


def close(call: Call) -> int:
    """Close the queue."""
    _queue(call).shutdown(call.arguments.timeout)
    return DONE


def delete(call: Call) -> int:
    """Delete the queue, once no other client holds a role."""
    _queue(call).delete(call.arguments.timeout)
    return DONE


def repair(call: Call) -> int:
    """Free the roles of dead clients, and print what was repaired and what was left as it is."""
    report = _queue(call).repair(call.arguments.force, call.arguments.role)
    if call.arguments.json:
        name = formatting.name(report.queue)
        answer_json({"queue": name, "done": list(report.done), "left": list(report.left)})
    else:
        answer("\n".join(map(printable, str(report).splitlines())))
    return NO if report.left else DONE


def redrive(call: Call) -> int:
    """Put rejected messages back into their queue, and print how many were put."""
    options = call.arguments
    most = sys.maxsize if options.count is None else options.count
    if options.kind == QUEUE:
        _print_answer(call, _queue(call).redrive(most, timeout=options.timeout))
    else:
        from pressure.cli import kinds

        _print_answer(call, kinds.redrive(call, most), kind=options.kind)
    return DONE


def peek(call: Call) -> int:
    """Print the next messages, and leave them in the queue."""
    kind, count = call.arguments.kind, call.arguments.count
    more: Sequence[dict[str, Any]] = ()
    if kind != QUEUE:
        from pressure.cli import kinds
    if kind != QUEUE and call.arguments.rejected:
        letters = kinds.letters(call)
        values: Sequence[bytes] = [each.message.data for each in letters]
        more = [formatting.reasons(each) for each in letters]
    elif kind != QUEUE:
        values = kinds.peek(call)
    else:
        queue = _queue(call)
        values = queue.rejected(count) if call.arguments.rejected else queue.peek_many(count)
    if call.arguments.json:
        found: list[dict[str, Any]] = list(map(formatting.value, values))
        answer_json([value | reasons for value, reasons in zip(found, more, strict=True)] if more else found)
    else:
        writer = Writer(sys.stdout.fileno(), FORMATS[call.arguments.format](), call.signals)
        for value in values:
            writer.write(value)
    if not values:
        what = "has no rejected messages" if call.arguments.rejected else "is empty"
        raise QueueEmptyError(f"queue {_queue(call).keys} {what}")
    return DONE
