"""``top``: all queues, again and again.

Rules:
    - ``watch`` knows neither clock nor terminal: it is given both.
    - On a terminal each look replaces the last one; anywhere else it follows it.
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
from typing import Any, Final, TypeAlias

from pressure.cli import shown
from pressure.cli.call import Call, answer_json, write
from pressure.cli.looking import Look, look
from pressure.cli.rates import Activity, History, Row
from pressure.cli.status import DONE
from pressure.cli.stop import Stop
from pressure.identity import process_in
from pressure.protocol import Diagnosis
from pressure.text import printable

Show: TypeAlias = Callable[[Sequence[Row]], None]

HEAD: Final = ("QUEUE", "STATE", "LENGTH", "PUT/s", "GET/s", "PRODUCER", "CONSUMER")
_LEAVE: Final = b"qQ\x03\x04"
_INTERRUPTED: Final = 130


def top(call: Call) -> int:
    """Show how queues are until told to stop; on a terminal by the key q."""
    options = call.arguments
    live = not options.once and not options.json and sys.stdout.isatty()
    with _keys(live) as keys, _shower(live, options.json) as show:

        def over() -> bool:
            ready = call.signals.wait_any(dict.fromkeys(keys, select.POLLIN), options.interval)
            return any(_leaves(fd) for fd in ready)

        try:
            watch(lambda: look(call, options.names), show, over, once=options.once)
        except Stop as stop:
            if stop.status != _INTERRUPTED:  # that is the way out of it
                raise
    return DONE


def watch(
    look: Callable[[], Sequence[Look]],
    show: Show,
    over: Callable[[], bool],
    clock: Callable[[], float] = time.monotonic,
    *,
    once: bool = False,
) -> None:
    """Look and show until it is over.

    Args:
        look: Looks at the queues.
        show: Shows what was seen.
        over: Waits until the next look is due; True if there is to be none.
        clock: Seconds.
        once: Whether to look only once.
    """
    history = History()
    while True:
        looks = look()
        show(history.add(clock(), looks))
        if once or over():
            return


@contextmanager
def _keys(live: bool) -> Iterator[list[int]]:
    """The files to read keys from, each key at once."""
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


def _shower(live: bool, as_json: bool) -> AbstractContextManager[Show]:
    if as_json:
        return nullcontext(lambda rows: answer_json([record(row) for row in rows]))
    if not live:
        return nullcontext(lambda rows: write(text(rows)))
    try:
        from pressure.cli.rich_top import shower
    except ImportError:
        return nullcontext(lambda rows: write(f"\x1b[H\x1b[2J{text(rows)}"))
    return shower()


def text(rows: Sequence[Row]) -> str:
    """The rows as a table, and an empty line."""
    return shown.table([HEAD, *map(cells, rows)]) + "\n"


def cells(row: Row) -> tuple[str, ...]:
    """A row for people."""
    rates = ("-" if rate is None else f"{rate:,.1f}" for rate in (row.put_rate, row.get_rate))
    look = row.look
    return (
        printable(look.queue), _state(look), shown.bar(look.length, look.bound), *rates,
        _activity(row.producer), _activity(row.consumer),
    )  # fmt: skip


def _state(look: Look) -> str:
    """What it is doing, and its kind unless it has roles; a column more would not fit on many terminals."""
    return look.state if isinstance(look, Diagnosis) else f"{look.kind}: {look.state}"


def _activity(activity: Activity) -> str:
    if activity.doing == "free":
        return "-"
    holder = activity.holder or b"?"
    return f"{activity.doing} {activity.seconds:.0f} s, {printable(process_in(holder) or holder)}"


def record(row: Row) -> dict[str, Any]:
    """A row for programs."""
    found = shown.record(row.look)
    if not isinstance(row.look, Diagnosis):
        return found
    for role, activity in (("producer", row.producer), ("consumer", row.consumer)):
        found[role] |= {
            "doing": activity.doing,
            "seconds": None if activity.doing == "free" else round(activity.seconds, 1),
        }
    return {**found, "put_rate": row.put_rate, "get_rate": row.get_rate}
