"""What ``put``, ``get`` and ``pipe`` share: the source of messages, progress, and the final count."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from pressure.cli import formatting, progress
from pressure.cli.call import Call, tell
from pressure.cli.framing import Framing
from pressure.cli.progress import Meter
from pressure.cli.streams import Writer, read_messages
from pressure.queue import Queue


@contextmanager
def counting(
    call: Call, verb: str, unit: str, queue: Queue | None, data: int | None = None
) -> Iterator[Meter]:
    """Show progress during the block; print how many messages were acknowledged when it ends or fails."""
    meter = Meter()
    try:
        with ExitStack() as stack:
            if not call.arguments.quiet and progress.wanted(data):
                stack.enter_context(progress.shown_while(verb, meter, queue))
            yield meter
    finally:
        if not call.arguments.quiet:
            what = unit.removesuffix("s") if meter.messages == 1 else unit
            tell(f"pressure {verb}: {meter.messages} {what} acknowledged\n")


def writer_of(call: Call, output: int, framing: Framing) -> Writer:
    """A writer for messages that were taken; with ``--json`` it writes them as JSON."""
    forms = (formatting.as_json,) if call.arguments.json else ()
    return Writer(output, framing, call.signals, *forms)


def messages_of(call: Call, framing: Framing) -> tuple[int | None, Iterable[list[bytes]]]:
    """Where the messages to put come from (a file descriptor or None), and lists that arrived together."""
    messages = call.arguments.messages
    if messages:
        return None, [[os.fsencode(text) for text in messages]]
    source = sys.stdin.fileno()
    return source, read_messages(source, framing, call.signals)
