"""``top``: show the state of queues, again and again.

Rules:
    - ``watch`` uses neither the clock nor the terminal directly; both are arguments.
    - On a terminal each table replaces the previous one. Elsewhere the tables follow one another.
"""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

from pressure.cli import formatting
from pressure.cli.call import Call, answer_json, write
from pressure.cli.lookup import QueueReport, examine
from pressure.cli.rates import HEAD, History, Row, Show, cells
from pressure.cli.status import DONE
from pressure.cli.stop import Stop
from pressure.protocol.diagnosis import Diagnosis

_LEAVE: Final = b"qQ\x03\x04"
_INTERRUPTED: Final = 130


def top(call: Call) -> int:
    """Show the state of queues until a signal arrives or, on a terminal, the key q is pressed."""
    options = call.arguments
    live = not options.once and not options.json and sys.stdout.isatty()
    with _keys(live) as keys, _view(live, options.json) as show:

        def over() -> bool:
            ready = call.signals.wait_any(dict.fromkeys(keys, select.POLLIN), options.interval)
            return any(_leaves(fd) for fd in ready)

        try:
            watch(lambda: examine(call, options.names), show, over, once=options.once)
        except Stop as stop:
            if stop.status != _INTERRUPTED:  # Ctrl-C is the usual way to leave top
                raise
    return DONE


def watch(
    examine: Callable[[], Sequence[QueueReport]],
    show: Show,
    over: Callable[[], bool],
    clock: Callable[[], float] = time.monotonic,
    *,
    once: bool = False,
) -> None:
    """Examine the queues and show them, until ``over`` returns true.

    Args:
        examine: Examines the queues.
        show: Shows the result.
        over: Waits until the next update is due; returns True to stop.
        clock: The time in seconds.
        once: Whether to stop after the first time.
    """
    history = History()
    while True:
        reports = examine()
        show(history.add(clock(), reports))
        if once or over():
            return


@contextmanager
def _keys(live: bool) -> Iterator[list[int]]:
    """The file descriptors to read keys from; the terminal delivers each key at once."""
    if not live or not sys.stdin.isatty():
        yield []
        return
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd)
    try:
        yield [fd]
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _leaves(fd: int) -> bool:
    keys = os.read(fd, 64)
    return not keys or any(key in _LEAVE for key in keys)


def _view(live: bool, as_json: bool) -> AbstractContextManager[Show]:
    if as_json:
        return nullcontext(lambda rows: answer_json([record(row) for row in rows]))
    if not live:
        return nullcontext(lambda rows: write(text(rows)))
    try:
        from pressure.cli.rich_top import live_view
    except ImportError:
        return nullcontext(lambda rows: write(f"\x1b[H\x1b[2J{text(rows)}"))
    return live_view()


def text(rows: Sequence[Row]) -> str:
    """The rows as a table, with an empty line after it."""
    return formatting.table([HEAD, *map(cells, rows)]) + "\n"


def record(row: Row) -> dict[str, Any]:
    """A row for JSON."""
    found = formatting.record(row.report)
    if not isinstance(row.report, Diagnosis):
        return found
    for role, activity in (("producer", row.producer), ("consumer", row.consumer)):
        found[role] |= {
            "doing": activity.doing,
            "seconds": None if activity.doing == "free" else round(activity.seconds, 1),
        }
    return {**found, "put_rate": row.put_rate, "get_rate": row.get_rate}
