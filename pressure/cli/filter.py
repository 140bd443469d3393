"""Run the command of a pipe as a process, write messages to its input and read messages from its output.

Rules:
    - Its input is written and its output read at the same time, so that the two processes cannot deadlock.
    - The process has its own process group. So Ctrl-C reaches only ``pressure``, which then ends the group: a
      shell, say, and what it runs.
    - Its standard error is that of ``pressure``.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import IO, Final

from pressure.cli.framing import FormatError, Framing
from pressure.cli.status import CannotRunError, FilterError, NotFoundError
from pressure.cli.stop import Signals

_CHUNK: Final = 1 << 16
#: Seconds without an answer after which ``slow`` is called.
SLOW_AFTER: Final = 5.0
#: Seconds that a command, and what it has started, has to end after SIGTERM, before SIGKILL.
_GRACE: Final = 5.0
#: Seconds between two looks whether it has ended.
_TICK: Final = 0.02


class EndedError(Exception):
    """The command ended without an answer."""


class Filter:
    """A running command.

    Args:
        words: The command and its arguments.
        framing: Makes the framing of its input and that of its output.
        signals: A signal ends every wait.
        slow: Called once if an answer takes longer than ``slow_after`` seconds.
        slow_after: Seconds.

    Raises:
        NotFoundError: There is no such command.
        CannotRunError: It cannot be run.
    """

    def __init__(
        self,
        words: Sequence[str],
        framing: Callable[[], Framing],
        signals: Signals,
        slow: Callable[[], None] = lambda: None,
        slow_after: float = SLOW_AFTER,
    ) -> None:
        self._name = words[0]
        self._signals = signals
        self._slow: Callable[[], None] | None = slow
        self._slow_after = slow_after
        self._questions, self._output = framing(), framing()
        self._outgoing = memoryview(b"")
        self._answers: deque[bytes] = deque()
        self._over = False
        try:
            self._process = subprocess.Popen(  # noqa: S603, the user asks for this command
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
            )
        except FileNotFoundError as error:
            raise NotFoundError(f"command {self._name} was not found: {error.strerror}") from error
        except OSError as error:
            raise CannotRunError(f"command {self._name} cannot be run: {error.strerror}") from error
        self._to, self._from = _unblocked(self._process.stdin), _unblocked(self._process.stdout)

    def ask(self, message: bytes) -> bytes:
        """Write a message, and wait for the answer.

        Raises:
            EndedError: The command ended without an answer.
            FormatError: The message contains the separator, or the answer breaks the format.
        """
        self.tell(message)
        while not self._answers:
            if self._over:
                raise EndedError
            self._move()
        return self._answers.popleft()

    def tell(self, message: bytes, *, alone: bool = False) -> None:
        """Queue a message for writing. One that is the whole input (``alone``) may contain the separator."""
        if not alone and not self._questions.fits(message):
            raise FormatError(
                "a message contains the separator (a newline, or NUL with --null), so the command would take "
                "it for two; use --each, --null or --binary"
            )
        self._outgoing = memoryview(bytes(self._outgoing) + self._questions.pack(message))

    def finish(self) -> list[bytes]:
        """Close its input, wait until it closes its output, and return the remaining answers."""
        while not self._over:
            if not self._outgoing and not self._to.closed:
                self._to.close()
            self._move()
        answers, self._answers = list(self._answers), deque()
        return answers

    def check(self) -> None:
        """Wait until the command ends. Raises FilterError if it failed."""
        while (status := self._process.poll()) is None:
            self._signals.wait_any({}, _TICK)
        if status:
            how = f"was ended by signal {-status}" if status < 0 else f"failed with status {status}"
            raise FilterError(f"command {self._name} {how}")

    def _move(self) -> None:
        """Write and read what is possible without blocking; wait until something is."""
        writes = {self._to.fileno(): select.POLLOUT} if self._outgoing else {}
        ready = self._signals.wait_any({self._from.fileno(): select.POLLIN, **writes}, self._slow_after)
        if not ready and self._slow and not self._to.closed:
            self._slow()
            self._slow = None
        if writes and self._to.fileno() in ready:
            self._write()
        if self._from.fileno() in ready:
            self._read()

    def _write(self) -> None:
        try:
            self._outgoing = self._outgoing[os.write(self._to.fileno(), self._outgoing) :]
        except BrokenPipeError:  # it reads no more input; its output and exit status say why
            self._outgoing = memoryview(b"")

    def _read(self) -> None:
        if data := os.read(self._from.fileno(), _CHUNK):
            self._answers += self._output.feed(data)
        else:
            self._over = True
            self._answers += self._output.end()
        self._output.check()

    def __enter__(self) -> Filter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Terminate the command, and what it has started, if it is still running."""
        self._to.close()
        self._from.close()
        if not self._over or self._process.poll() is None:  # its output is open, or it has not ended
            self._end_group()
        self._process.wait()

    def _end_group(self) -> None:
        """End all processes of the group, of which the first may have ended before the others.

        No other process gets its number while the group exists.
        """
        group, end = self._process.pid, time.monotonic() + _GRACE
        with contextlib.suppress(ProcessLookupError):  # all have ended
            os.killpg(group, signal.SIGTERM)
            while time.monotonic() < end:
                self._process.poll()  # until its status is read, an ended process counts as one of the group
                os.killpg(group, 0)
                time.sleep(_TICK)
            os.killpg(group, signal.SIGKILL)


def _unblocked(pipe: IO[bytes] | None) -> IO[bytes]:
    """Our end of a pipe, made non-blocking."""
    assert pipe is not None
    os.set_blocking(pipe.fileno(), False)
    return pipe
