"""One client as a process that is asked by lines of JSON; whatever it does, whoever asks hears in time."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import pressure

from ...failure import STANDARD_ERROR, Broken, Evidence, Unsupported
from ...judging.limits import countdown

__all__ = ["ERRORS", "AdapterError", "ClientProcess"]

GRACE: Final = 1.0
"""Seconds in which a process ends when its input does."""

ERRORS: Final[Mapping[str, type[Exception]]] = {
    "ValueError": ValueError,
    **{
        name: getattr(pressure, name)
        for name in "QueueDoesNotExistError QueueAlreadyExistsError QueueClosedError QueueInUseError "
        "QueueFullError QueueEmptyError ConnectionFailedError OutcomeUnknownError ServerReplyError "
        "PressureError".split()
    },
}
"""The errors that a client may answer by, by their names."""


class AdapterError(Exception):
    """The client answered by an error that the protocol does not know."""


class ClientProcess:
    """A process that is up.

    Args:
        command: what to run, and its arguments.

    Attributes:
        unanswered: the name of the request that it has not answered yet, and when that was sent.

    Raises:
        Broken: it does not start.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.unanswered: tuple[str, float] | None = None
        self._said = bytearray()
        self._number = 0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
        try:
            self._process = subprocess.Popen(  # noqa: S603  (whoever judges names it)
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, bufsize=0
            )
        except OSError as error:
            self._errors.close()
            raise Broken(f"the client does not start: {error}") from None

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def ask(self, operation: str, arguments: Mapping[str, Any], limit: float) -> Any:
        """The result of a request.

        Args:
            operation: its name.
            arguments: by their names, as JSON has them.
            limit: seconds until the answer has to be there.

        Raises:
            Unsupported: the client says that it does not do this.
            Broken: it died, did not answer in time, or talks nonsense.
            AdapterError: it answered by an error that the protocol does not know.
        """
        self._number += 1
        self.unanswered = operation, time.monotonic()
        self._write({"id": self._number, "op": operation, "args": arguments})
        reply = self._read(operation, limit)
        self.unanswered = None
        if reply.get("unsupported"):
            raise Unsupported(f"not supported by the client: {operation}")
        if "error" in reply:
            error: Any = error_of(str(reply["error"]), str(reply.get("text", "")))
            error.done = reply.get("done")
            raise error
        if "result" not in reply:
            raise self._failure(f"the client answered {operation} by {reply!r}")
        return reply["result"]

    def end(self, *, kill: bool) -> None:
        """Ends it, at once or by the end of its input if it goes by that. Nobody else may be asking it."""
        assert self._process.stdin is not None
        if kill:
            self._process.kill()
        self._process.stdin.close()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.kill()
        self.close()

    def kill(self) -> None:
        """Ends it while somebody waits for its answer, who will hear of it, and then closes it."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Closes the ways to it. Nobody may be waiting: one who does hears nothing any more."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._errors.close()

    def _write(self, request: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # one that has ended may have written why: reading tells
            self._process.stdin.write(json.dumps(request).encode() + b"\n")

    def _read(self, operation: str, limit: float) -> dict[str, Any]:
        line = self._line(operation, limit)
        try:
            reply = json.loads(line)
        except ValueError:
            reply = None
        if not isinstance(reply, dict) or reply.get("id") != self._number:
            raise self._failure(f"the client answered {operation} by {line[:200]!r}")
        return reply

    def _line(self, operation: str, limit: float) -> bytes:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            waits, begin = countdown(limit), time.monotonic()
            while b"\n" not in self._said:
                if not any(selector.select(seconds) for seconds in waits):
                    raise self._failure(
                        f"the client has not answered {operation} for {time.monotonic() - begin:.0f} s"
                    )
                data = os.read(self._process.stdout.fileno(), 65536)
                if not data:
                    raise self._death()
                self._said += data
        line, _, rest = self._said.partition(b"\n")
        self._said = rest
        return bytes(line)

    def _death(self) -> Broken:
        try:
            status = self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return self._failure("the client closed its output")
        said = f" after it wrote {bytes(self._said[:200])!r}" if self._said else ""
        return self._failure(f"the client ended with status {status}{said}")

    def _failure(self, text: str) -> Broken:
        self._errors.seek(0)
        words = self._errors.read().decode(errors="replace")
        return Broken(text, *([Evidence(STANDARD_ERROR, words)] if words else []))


def error_of(name: str, text: str) -> Exception:
    if name in ERRORS:
        return ERRORS[name](text)
    return AdapterError(f"{name}: {text}")
