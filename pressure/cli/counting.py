"""What all have in common who move messages: where these come from, and how many are safe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from pressure.cli import progress, shown
from pressure.cli.call import Call
from pressure.cli.framing import Framing
from pressure.cli.progress import Meter
from pressure.cli.streams import Writer, read_runs
from pressure.queue import Queue


@contextmanager
def counting(
    call: Call, verb: str, unit: str, queue: Queue | None, data: int | None = None
) -> Iterator[Meter]:
    """Show how it is getting on; say on the way out, whichever it is, how many were acknowledged."""
    meter = Meter()
    try:
        with ExitStack() as stack:
            if not call.arguments.quiet and progress.wanted(data):
                stack.enter_context(progress.shown_while(verb, meter, queue))
            yield meter
    finally:
        if not call.arguments.quiet:
            what = unit.removesuffix("s") if meter.messages == 1 else unit
            sys.stderr.write(f"pressure {verb}: {meter.messages} {what} acknowledged\n")


def writer_of(call: Call, output: int, framing: Framing) -> Writer:
    """Writes the messages that are got, with ``--json`` as JSON."""
    forms = (shown.as_json,) if call.arguments.json else ()
    return Writer(output, framing, call.signals, *forms)


def runs_of(call: Call, framing: Framing) -> tuple[int | None, Iterable[list[bytes]]]:
    """The messages to put: the file that they come from, and as many together as come together."""
    messages = call.arguments.messages
    if messages:
        return None, [[os.fsencode(text) for text in messages]]
    source = sys.stdin.fileno()
    return source, read_runs(source, framing, call.signals)
