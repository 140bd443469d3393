"""The process of a server that ``spawn`` has started: ``python -m miniredis.processes.spawned``.

Its standard input is a socket. It carries out the calls that come there (``RemoteCall``). It answers each
with the number of the call, its result, and the error if there was one. It ends when the other end is closed,
or on SIGTERM.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from operator import attrgetter
from typing import Any, Final

from ..embedded import EmbeddedServer, start
from ..handle import ServerAddress
from ..recordings import Recording
from ..testing.fault_handles import Rule
from ..testing.inspection import Snapshot
from .spawning import CALL_SERVER, SERVER, Reference, RemoteCall

__all__ = ["main"]

STAYS_HERE: Final = (EmbeddedServer, Recording, Rule, Snapshot)
"""What the other process gets a ``Reference`` to."""


class CallServer:
    """Answers calls of methods of a server, and of objects that earlier calls returned.

    Each call has a thread: during one that takes long it is seen, too, that the other process has ended.
    """

    def __init__(self, channel: Connection) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._objects: dict[int, Any] = {CALL_SERVER: self}

    def run(self) -> None:
        """Answers until the other end is closed; stops the server then."""
        try:
            with contextlib.suppress(EOFError, OSError):
                while True:
                    call = self._channel.recv()
                    threading.Thread(target=self._answer, args=[call], daemon=True).start()
        finally:
            self.stop()

    def start(self, **options: Any) -> EmbeddedServer:
        """Starts the server: the first call."""
        return start(**options)

    def place(self) -> ServerAddress:
        """Where it listens."""
        server = self._objects[SERVER]
        return ServerAddress(server.host, server.port, server.tls_port, server.unixsocket)

    def password(self) -> str:
        """What its clients have to give."""
        return str(self._objects[SERVER]._password())

    def stop(self) -> OSError | None:
        """Stops it, if it has started; returns its ``failure``."""
        server: EmbeddedServer | None = self._objects.get(SERVER)
        if server is None:
            return None
        server.stop()
        return server.failure

    def _answer(self, call: RemoteCall) -> None:
        reply, error = None, None
        try:
            reply = self._portable(self._found(call))
        except Exception as found:
            error = portable_error(found)
        with self._lock, contextlib.suppress(OSError):
            self._channel.send((call.number, reply, error))

    def _found(self, call: RemoteCall) -> Any:
        for number in call.forgotten:
            self._objects.pop(number, None)
        value = attrgetter(call.name)(self._objects[call.about])
        if not callable(value):
            return value
        return value(*map(self._meant, call.arguments), **call.options)

    def _meant(self, argument: Any) -> Any:
        return self._objects[argument.number] if isinstance(argument, Reference) else argument

    def _portable(self, value: Any) -> Any:
        if isinstance(value, Iterator):
            return [self._portable(each) for each in value]
        return self._reference(value) if isinstance(value, STAYS_HERE) else value

    def _reference(self, value: Any) -> Reference:
        with self._lock:
            number = next((each for each, known in self._objects.items() if known is value), None)
            if number is None:
                number = max(self._objects) + 1
                self._objects[number] = value
            return Reference(number)


def portable_error(error: Exception) -> Exception:
    """The error, or one with its text where the other process could not have it."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  (our own)
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def main() -> None:
    """Serves until the process that has started this one closes its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    CallServer(Connection(os.dup(0))).run()
    os._exit(0)  # nothing is left to be done; the end of Python takes as long as all else


if __name__ == "__main__":
    main()
