"""``pipe``: a command between two queues.

Rules:
    - A message is done with when what was made of it is in the other queue; before that it goes back to the
      front, whatever ends the pipe, and a killed pipe's goes back by ``repair``. So nothing is lost; what
      was put of a message when the pipe was killed, before it was done with, is put twice.
    - While the other queue is full one message waits between the two, and no other is taken.

To add a way to run the command: a ``Work``, and its choice in ``_work``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Protocol

from pressure.cli.call import Call, complain
from pressure.cli.counting import counting
from pressure.cli.filter import EndedError, Filter
from pressure.cli.framing import FORMATS, Whole
from pressure.cli.progress import Meter
from pressure.cli.status import DONE
from pressure.errors import QueueClosedError
from pressure.queue import Queue


class EnoughError(Exception):
    """The command ended well before the queue did: it wants no more."""


class Work(Protocol):
    """How messages become messages."""

    def __call__(self, message: bytes) -> Sequence[bytes]:
        """What one becomes. Raises EnoughError if the command wants no more."""

    def rest(self) -> Sequence[bytes]:
        """What comes at the end."""

    def check(self) -> None:
        """Raises FilterError if the command failed."""


class _OneByOne:
    """A command that runs all the time, and answers each message with one."""

    def __init__(self, running: Filter) -> None:
        self._filter = running

    def __call__(self, message: bytes) -> Sequence[bytes]:
        try:
            return (self._filter.ask(message),)
        except EndedError:
            self._filter.check()
            raise EnoughError from None

    def rest(self) -> Sequence[bytes]:
        return self._filter.finish()

    def check(self) -> None:
        self._filter.check()


class _Each:
    """A command that is run once for each message, and makes any number of messages of it."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def __call__(self, message: bytes) -> Sequence[bytes]:
        options = self._call.arguments
        # Without a length before it, a message is the whole input, and the output one message.
        framing = Whole if options.format == "binary" else FORMATS[options.format]
        with Filter(options.words, framing, self._call.signals) as running:
            running.tell(message, alone=True)
            made = running.finish()
            running.check()
        return made

    def rest(self) -> Sequence[bytes]:
        return ()

    def check(self) -> None:
        """Each was checked."""


def pipe(call: Call) -> int:
    """Get messages, hand them to a command, put what it makes of them."""
    options = call.arguments
    source, target = call.queue(options.name), call.queue(options.target)
    with counting(call, "pipe", "messages", source) as meter, _work(call) as work:
        ended = False
        try:
            while not ended and (options.count is None or meter.messages < options.count):
                ended = not _one(source, target, work, meter, options.timeout)
        except EnoughError:
            return DONE
        target.put_many(work.rest(), timeout=options.timeout)
        work.check()
        if options.close and ended:
            target.shutdown(options.timeout)
    return DONE


@contextmanager
def _work(call: Call) -> Iterator[Work]:
    options = call.arguments
    if options.each:
        yield _Each(call)
        return

    def slow() -> None:
        complain(
            f"command {options.words[0]} has not answered for some seconds; it must answer each message at "
            f"once: try 'stdbuf -oL {options.words[0]}', or --each"
        )

    with Filter(options.words, FORMATS[options.format], call.signals, slow) as running:
        yield _OneByOne(running)


def _one(source: Queue, target: Queue, work: Work, meter: Meter, timeout: float | None) -> bool:
    """Move one message; False if there is none left."""
    with ExitStack() as stack:
        try:
            message = stack.enter_context(source.receive(timeout=timeout))
        except QueueClosedError:
            return False
        try:
            target.put_many(work(message.data), timeout=timeout)
        except EnoughError:
            raise
        except Exception as error:
            error.__notes__ = [f"the message went back to queue {source.keys}"]
            raise
    meter.add(message.data)
    return True
