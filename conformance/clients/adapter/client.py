"""A client in a process of its own, with the methods that the checks use.

To let clients be asked for more, add a row to ``OPERATIONS``; checks find it as a method.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from ...failure import Failure, Unsupported
from .process import ClientProcess

__all__ = ["OPERATIONS", "Adapter", "Foreign"]

ANSWER_LIMIT: Final = 10.0
"""Seconds that an answer may take beyond what it was to wait."""

WAIT_LIMIT: Final = 30.0
"""Seconds that an operation without a timeout may wait; no check lets it wait so long."""

SETTINGS: Final = ("url", "host", "port", "db", "prefix")
"""What ``open`` takes beside the name."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What a client can be asked.

    Attributes:
        parameters: their names, in the order of the method's arguments.
        waits: whether it may wait.
    """

    parameters: tuple[str, ...] = ()
    waits: bool = False


OPERATIONS: Final[Mapping[str, Operation]] = {
    "create": Operation(("bound",)),
    "exists": Operation(),
    "length": Operation(),
    "closed": Operation(),
    "put": Operation(("value", "block", "timeout", "overfill"), waits=True),
    "put_nowait": Operation(("value",)),
    "get": Operation(("block", "timeout"), waits=True),
    "get_nowait": Operation(),
    "close": Operation(waits=True),
    "delete": Operation(("timeout",), waits=True),
    "wait_closed": Operation(("timeout",), waits=True),
    "repair": Operation(("force",), waits=True),
    "put_many": Operation(("values",), waits=True),
    "get_many": Operation(("count",), waits=True),
}

VALUES: Final = frozenset({"get", "get_nowait", "get_many"})
"""Operations whose results are values of the queue."""


@dataclass(frozen=True)
class Adapter:
    """A client to judge that is a program of its own, in any language.

    ``conformance.clients.adapter`` describes what the program has to do::

        conformance.run(address, conformance.Adapter("node my_client.js"))

    Attributes:
        command: the program and its arguments, quoted as for a shell; no shell runs it.
    """

    command: str
    foreign: bool = field(default=True, init=False)

    @property
    def words(self) -> list[str]:
        """The program and its arguments."""
        return shlex.split(self.command)

    def __call__(self, name: str | bytes, /, **settings: Any) -> Foreign:
        """A client of a queue of that name.

        Raises:
            Unsupported: it is to be set up as only ours can be.
        """
        if unknown := settings.keys() - set(SETTINGS):
            raise Unsupported(f"not supported by the client: {', '.join(sorted(unknown))}")
        return Foreign(self.words, {"name": name, **settings})


class Foreign:
    """A client of one queue, in a process, or in several while it is asked several things at once.

    Args:
        command: what to run.
        settings: what ``open`` is told.
    """

    def __init__(self, command: list[str], settings: Mapping[str, Any]) -> None:
        self._command = command
        self._settings = settings
        self._lock = threading.Lock()
        self._idle: list[ClientProcess] = []
        self._busy: set[ClientProcess] = set()
        self._killed = False

    def __getattr__(self, name: str) -> Any:
        if name == "shutdown":  # as ours calls what the protocol calls Close
            name = "close"
        if name not in OPERATIONS:
            raise Unsupported(f"not supported by the client: {name}")
        return partial(self._operate, name)

    def _operate(self, name: str, *positional: Any, **named: Any) -> Any:
        operation = OPERATIONS[name]
        arguments = dict(zip(operation.parameters, positional, strict=False)) | named
        arguments = {key: value for key, value in arguments.items() if wanted(key, value)}
        if not arguments.pop("block", True):
            name = f"{name}_nowait"
        limit = ANSWER_LIMIT + (arguments.get("timeout", WAIT_LIMIT) if operation.waits else 0)
        result = self._ask(name, {key: plain(value) for key, value in arguments.items()}, limit)
        return as_bytes(result) if name in VALUES else result

    def _ask(self, name: str, arguments: Mapping[str, Any], limit: float) -> Any:
        process = self._take()
        try:
            result = process.ask(name, arguments, limit)
        except BaseException as error:
            if isinstance(error, Failure) and not isinstance(error, Unsupported):
                self._drop(process, kill=True)
            else:
                self._give_back(process)
            raise
        self._give_back(process)
        return result

    def unanswered(self) -> list[tuple[str, float]]:
        """The name of each request that is not answered yet, and for how many seconds."""
        with self._lock:
            asked = [each.unanswered for each in self._busy]
        now = time.monotonic()
        return [(name, now - begin) for name, begin in filter(None, asked)]

    def open(self) -> None:
        """Starts a process that opens the queue, as the first operation would; it raises if that fails."""
        self._give_back(self._take())

    def _take(self) -> ClientProcess:
        with self._lock:
            if self._killed:
                raise Failure("the client was killed")
            if self._idle:
                process = self._idle.pop()
                self._busy.add(process)
                return process
            process = ClientProcess(self._command)
            self._busy.add(process)
        try:
            process.ask("open", {key: plain(value) for key, value in self._settings.items()}, ANSWER_LIMIT)
        except BaseException:
            self._drop(process, kill=True)
            raise
        return process

    def _give_back(self, process: ClientProcess) -> None:
        with self._lock:
            if process in self._busy:
                self._busy.remove(process)
                self._idle.append(process)
                return
        process.close()

    def _drop(self, process: ClientProcess, *, kill: bool) -> None:
        with self._lock:
            mine = process in self._busy
            self._busy.discard(process)
        if mine:
            process.end(kill=kill)
        else:
            process.close()

    def kill(self) -> list[int]:
        """Kills its processes wherever they are; nothing can be asked any more. Returns their numbers."""
        with self._lock:
            self._killed = True
            processes = [*self._busy, *self._idle]
            for process in processes:
                process.kill()
        return [process.pid for process in processes]

    def disconnect(self) -> None:
        """Ends its processes, those that wait, too."""
        with self._lock:
            idle, busy = self._idle, self._busy
            self._idle, self._busy = [], set()
        for process in busy:
            process.kill()
        for process in idle:
            process.end(kill=False)


def wanted(name: str, value: Any) -> bool:
    """Whether an argument has to be said; what is as ever has not."""
    return not ((name == "timeout" and value is None) or (name in {"overfill", "force"} and not value))


def plain(value: Any) -> Any:
    """A value as JSON has it: bytes as text, a character each."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, str):
        return value.encode().decode("latin-1")
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def as_bytes(value: Any) -> Any:
    """The bytes that a text stands for; what is none is as it is."""
    if isinstance(value, list):
        return [as_bytes(each) for each in value]
    return value.encode("latin-1") if isinstance(value, str) else value
