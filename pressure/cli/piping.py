"""``pipe``: run a command between two queues.

Rules:
    - ``pipe`` acknowledges a message once its output is stored in the destination. If it ends before, the
      message goes back to the front of the source. If it is killed, the message goes back when the consumer
      role is freed. So no message is lost, but output that was already stored is stored twice.
    - While the destination is full, one message waits and no other is taken.

To add a way to run the command: write a ``Work``, and choose it in ``_work``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Protocol

from pressure.cli.call import Call, print_error
from pressure.cli.counting import counting
from pressure.cli.filter import EndedError, Filter
from pressure.cli.framing import FORMATS, Whole
from pressure.cli.progress import Meter
from pressure.cli.status import DONE
from pressure.errors import QueueClosedError
from pressure.queue import Queue


class EnoughError(Exception):
    """The command ended with success before the queue was empty: it wants no more messages."""


class Work(Protocol):
    """How a message is turned into messages."""

    def __call__(self, message: bytes) -> Sequence[bytes]:
        """The output for one message. Raises EnoughError if the command wants no more messages."""

    def rest(self) -> Sequence[bytes]:
        """The output after the last message."""

    def check(self) -> None:
        """Raises FilterError if the command failed."""


class _RunOnce:
    """A command that is started once, and answers each message with one message."""

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


class _RunForEach:
    """A command that is run once for each message, and outputs any number of messages."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def __call__(self, message: bytes) -> Sequence[bytes]:
        options = self._call.arguments
        # With --binary, the input and the output are one message each, without a length before it.
        framing = Whole if options.format == "binary" else FORMATS[options.format]
        with Filter(options.words, framing, self._call.signals) as running:
            running.tell(message, alone=True)
            made = running.finish()
            running.check()
        return made

    def rest(self) -> Sequence[bytes]:
        return ()

    def check(self) -> None:
        """Nothing to do: each run was checked."""


def pipe(call: Call) -> int:
    """Take messages, give them to a command, and put its output into the destination."""
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
        yield _RunForEach(call)
        return

    def slow() -> None:
        print_error(
            f"command {options.words[0]} has not answered for some seconds; it must answer each message at "
            f"once: try 'stdbuf -oL {options.words[0]}', or --each"
        )

    with Filter(options.words, FORMATS[options.format], call.signals, slow) as running:
        yield _RunOnce(running)


def _one(source: Queue, target: Queue, work: Work, meter: Meter, timeout: float | None) -> bool:
    """Process one message; False if the source is closed and empty."""
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
