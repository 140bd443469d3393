"""``spawn``: a server in a process of its own, with the handle of ``start``.

The process is a child of this one. A socket pair joins the two; its other end is the child's standard input.
Calls of the handle go there, and ``spawned.py`` answers them. The child ends when this end is closed, and
so however this process ends. A process that is forked from this one closes its copy.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, Unpack

from ..arguments import Keywords, Seconds, check_loop, checked_config
from ..clock import ClockChoice, HeldClock, chosen
from ..handle import ServerAddress
from ..network.forks import leave_to_parent_on_fork
from ..recordings import Call, Recording
from ..testing.assertions import Assertions
from ..testing.contents import Entry
from ..testing.fault_handles import Faults, Rule
from ..testing.inspection import BlockedClient, ConnectedClient, Snapshot
from ..ticks.tick_runner import HAS_STOPPED, PARENTS
from ..windows import refusal
from .remote import RemoteServer

if TYPE_CHECKING:
    import trio

    from ..engine.faults.fault_rules import Fault
    from ..server import LoopChoice

__all__ = ["CALL_SERVER", "SERVER", "Reference", "RemoteCall", "SpawnedServer", "spawn"]

PATIENCE: Final = 10.0
"""Seconds that a server has to stop, until its process is killed."""

CALL_SERVER: Final = 0
"""The number of the object in the child that can start a server."""

SERVER: Final = 1
"""The number of the server itself."""


class RemoteCall(NamedTuple):
    """A call of the handle, which the child carries out.

    Attributes:
        number: of the call; the answer has it, too.
        forgotten: numbers of objects that are not needed any more.
        about: the number of the object.
        name: of a method or attribute of it, or of an attribute's (``faults.add``).
        arguments: of the method.
        options: of the method.
    """

    number: int
    forgotten: list[int]
    about: int
    name: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]


class Reference(NamedTuple):
    """An object that stays in the child: a rule, a recording, a snapshot."""

    number: int


def spawn(
    *,
    clock: ClockChoice = None,
    loop: LoopChoice = None,
    version: str | None = None,
    **directives: Unpack[Keywords],
) -> SpawnedServer:
    """Starts a server in a process of its own; returns when clients can connect.

    It costs this process no time and no lock of Python's while it works, and ends with this process, however
    that ends::

        with miniredis.spawn() as server:
            client = redis.Redis(host=server.host, port=server.port)
            client.set("greeting", "hello")

    The process is a Python of the same environment; it takes as long to start as Python takes to import this
    package. Its log goes where that of ``start`` goes: warnings to stderr.

    Args:
        clock: as for ``start``, without ``"follow"``. ``HeldClock(...)`` says only when the clock begins.
        loop: as for ``start``.
        version: as for ``start``.
        directives: as for ``start``.

    Raises:
        TypeError, ConfigurationError, ValueError, DamagedFileError, BlockingIOError, OSError: as ``start``.
        RuntimeError: the process ended before it could serve.
    """
    if sys.platform == "win32":
        raise refusal("spawn")
    check_loop("spawn", loop)
    if "engine" in directives:
        raise TypeError("spawn() takes no engine: it cannot go to another process")
    checked_config("spawn", directives, version=version)
    if not isinstance(chosen(clock), HeldClock) and clock is not None:
        raise ValueError("clock must be 'held', a miniredis.HeldClock or None: a process has its own time")
    child = ServerProcess()
    try:
        child.call(CALL_SERVER, "start", clock=clock, loop=loop, version=version, **directives)
        return SpawnedServer(child)
    except BaseException:
        child.end()
        raise


class ServerProcess:
    """The process of a server; threads may share it."""

    def __init__(self) -> None:
        from multiprocessing import Pipe  # not needed by those who spawn nothing

        if not sys.executable:
            raise RuntimeError("this program does not know its Python (sys.executable), which spawn starts")
        self._channel, theirs = Pipe()
        self._lock = threading.RLock()  # a signal handler may stop the server in the middle of a call
        self._calls = 0
        self._pid = os.getpid()
        self._forgotten: list[int] = []
        self._is_in_message = False
        with theirs:
            self._process = start_python(theirs.fileno())
        leave_to_parent_on_fork(self)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def call(self, about: int, name: str, *arguments: Any, **options: Any) -> Any:
        """What a method or attribute of an object of the child gives; raises what it raises.

        Raises:
            RuntimeError: the server has stopped, or this process was forked from its parent.
        """
        with self._lock:
            return self._call(about, name, arguments, options)

    def _call(
        self,
        about: int,
        name: str,
        arguments: tuple[Any, ...] = (),
        options: dict[str, Any] | None = None,
        patience: float | None = None,
    ) -> Any:
        if os.getpid() != self._pid:
            raise RuntimeError(PARENTS)
        self._calls += 1
        forgotten, self._forgotten = self._forgotten, []
        call = RemoteCall(self._calls, forgotten, about, name, arguments, options or {})
        message = pickle.dumps(call)
        number = 0
        try:
            self._transfer(lambda: self._channel.send_bytes(message))
            while number != call.number:  # another one is of a call that was interrupted
                if not self._channel.poll(patience):
                    self._process.kill()
                number, reply, error = self._transfer(self._channel.recv)
        except (EOFError, OSError):
            raise RuntimeError(HAS_STOPPED) from None
        except TypeError:
            if not self._channel.closed:
                raise  # else a signal handler has closed it between two parts of a message
            raise RuntimeError(HAS_STOPPED) from None
        if error is not None:
            raise error
        return reply

    def _transfer(self, move: Callable[[], Any]) -> Any:
        """Sends or receives a whole message; ends the process where it cannot: half of one comes next."""
        if self._is_in_message:
            raise BrokenPipeError
        self._is_in_message = True
        try:
            moved = move()
            self._is_in_message = False
        finally:
            if self._is_in_message:
                self._process.kill()
        return moved

    def forget(self, number: int) -> None:
        """Lets an object of the child go, with the next call."""
        self._forgotten.append(number)

    def end(self) -> OSError | None:
        """Ends the process and waits until it is gone; returns the server's ``failure``.

        In a process that was forked from the one that has started it, this does nothing.
        """
        failure = None
        if os.getpid() != self._pid:
            return failure
        if not self._lock.acquire(timeout=PATIENCE):  # another thread's call is still waiting
            self._process.kill()
            self._lock.acquire()
        try:
            with contextlib.suppress(RuntimeError):
                failure = self._call(CALL_SERVER, "stop", patience=PATIENCE)
            self._channel.close()  # the process ends then
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(PATIENCE)
        finally:
            self._channel.close()
            self._process.kill()  # unless it is gone: it does not end, or a signal has interrupted this
            self._process.wait()
            self._lock.release()
        return failure

    def leave_to_parent(self) -> None:
        """In a forked child: closes its copy of the channel, which would keep the server alive."""
        self._channel.close()
        self._process.returncode = 0  # not to be waited for here


def start_python(descriptor: int) -> subprocess.Popen[bytes]:
    """A Python that has what this one has imported from, and answers on a socket as its standard input.

    It has a process group of its own: a Ctrl-C at the terminal is for the program, which may need its server.
    """
    places = os.pathsep.join(place or str(Path.cwd()) for place in sys.path)
    return subprocess.Popen(
        [sys.executable, "-m", "miniredis.processes.spawned"],
        stdin=descriptor,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": places, "PYTHONSAFEPATH": "1"},
        process_group=0,
    )


class RemoteRule(Rule):
    """A ``Rule`` of a server in another process."""

    def __init__(self, child: ServerProcess, reference: Reference) -> None:
        self._child, self._number = child, reference.number

    @property
    def met(self) -> int:
        """How many requests have met the fault."""
        return int(self._child.call(self._number, "met"))

    def remove(self) -> None:
        """Ends the rule, unless the server has stopped. May be called more than once."""
        with contextlib.suppress(RuntimeError):
            self._child.call(self._number, "remove")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteRule) and (self._child, self._number) == (other._child, other._number)

    def __hash__(self) -> int:
        return hash((self._child, self._number))

    def __repr__(self) -> str:
        return str(self._child.call(self._number, "__repr__"))


class RemoteFaults(Faults):
    """The ``Faults`` of a server in another process."""

    def __init__(self, child: ServerProcess) -> None:
        self._child = child

    def add(self, *, then: Fault | str, **conditions: Any) -> Rule:
        """As ``Faults.add``."""
        return RemoteRule(self._child, self._child.call(SERVER, "faults.add", then=then, **conditions))

    def __iter__(self) -> Iterator[Rule]:
        found: list[Reference] = self._child.call(SERVER, "faults.__iter__")
        return iter([RemoteRule(self._child, reference) for reference in found])

    def __len__(self) -> int:
        return int(self._child.call(SERVER, "faults.__len__"))


class RemoteRecording(Recording):
    """A ``Recording`` of a server in another process; it keeps the calls once it is stopped."""

    def __init__(self, child: ServerProcess, reference: Reference) -> None:
        self._child, self._number = child, reference.number
        self._kept: list[Call] | None = None

    @property
    def _calls(self) -> list[Call]:
        return self._fetched() if self._kept is None else self._kept

    def _fetched(self) -> list[Call]:
        calls: list[Call] = self._child.call(self._number, "__iter__")
        return calls

    def start(self) -> None:
        """Begins to record."""
        self._child.call(self._number, "start")
        self._kept = None

    def stop(self) -> None:
        """Records no further request, and no reply that comes later."""
        if self._kept is None:
            self._child.call(self._number, "stop")
            self._kept = self._fetched()


class RemoteSnapshot(Snapshot):
    """A ``Snapshot`` that stays in the process of its server, and can be restored there only."""

    def __init__(self, child: ServerProcess, reference: Reference) -> None:
        self.child, self.number = child, reference.number
        weakref.finalize(self, child.forget, reference.number)


class SpawnedServer(RemoteServer, Assertions):
    """A server in a process of its own; ``spawn`` makes it. It has what the handle of ``start`` has.

    ``stop``, or leaving its ``with`` block, ends the process. All methods but ``stop`` and ``reset`` raise
    ``RuntimeError`` when the server has stopped; all but ``stop`` in a process that was forked from this one.

    Attributes:
        pid: the number of the process.
        faults: what goes wrong on demand: rules for requests; see ``miniredis.faults``.
    """

    def __init__(self, child: ServerProcess) -> None:
        super().__init__(ServerAddress(*child.call(CALL_SERVER, "place")))
        self.pid = child.pid
        self.faults: Faults = RemoteFaults(child)
        self._child = child
        self._failure: OSError | None = None
        self._has_stopped = False
        self._recordings: weakref.WeakSet[RemoteRecording] = weakref.WeakSet()

    def _call(self, name: str, *arguments: Any) -> Any:
        return self._child.call(SERVER, name, *arguments)

    def _password(self) -> str:
        return str(self._child.call(CALL_SERVER, "password"))

    @property
    def failure(self) -> OSError | None:
        """The disk error that stopped the server, or that lost its last writes at the end; None otherwise."""
        return self._failure if self._has_stopped else self._call("failure")

    def reset(self) -> None:
        """As ``Server.reset``."""
        if not self._has_stopped:
            self._call("reset")

    @property
    def now(self) -> dt.datetime:
        """The server's time in UTC, as the command TIME answers it."""
        time: dt.datetime = self._call("now")
        return time

    def fast_forward(self, seconds: Seconds) -> None:
        """As ``Server.fast_forward``."""
        self._call("fast_forward", seconds)

    def _entry(self, key: bytes, database: int) -> Entry | None:
        entry: Entry | None = self._call("_entry", key, database)
        return entry

    def _entries(self, database: int) -> list[Entry]:
        entries: list[Entry] = self._call("_entries", database)
        return entries

    def _write(self, requests: list[list[bytes]], database: int) -> None:
        self._call("_write", requests, database)

    def snapshot(self) -> Snapshot:
        """As ``Server.snapshot``; the keys stay in the server's process."""
        return RemoteSnapshot(self._child, self._call("snapshot"))

    def restore(self, snapshot: Snapshot) -> None:
        """As ``Server.restore``.

        Raises:
            ValueError: the snapshot is not of this server.
        """
        if not isinstance(snapshot, RemoteSnapshot) or snapshot.child is not self._child:
            raise ValueError("a server in another process restores only its own snapshots")
        self._call("restore", Reference(snapshot.number))

    def connected_clients(self) -> list[ConnectedClient]:
        """As ``Server.connected_clients``."""
        clients: list[ConnectedClient] = self._call("connected_clients")
        return clients

    def blocked_clients(self, key: str | bytes | None = None) -> list[BlockedClient]:
        """As ``Server.blocked_clients``."""
        clients: list[BlockedClient] = self._call("blocked_clients", key)
        return clients

    def _who_is_there(self) -> str:
        return "blocked:" + ("".join(f"\n  {each}" for each in self.blocked_clients()) or " none")

    def record(self, most: int | None = None) -> Recording:
        """As ``Server.record``."""
        recording = RemoteRecording(self._child, self._call("record", most))
        self._recordings.add(recording)
        return recording

    async def serve_stream(self, stream: trio.abc.Stream) -> NoReturn:  # noqa: ARG002  (as ``Server``)
        """Not here: a stream of Trio's cannot go to another process.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            "a server in another process cannot serve a stream of this one; let its client connect to "
            "server.url, or run the server with miniredis.serve"
        )

    def new_event_loop(self, threshold: float = 0) -> NoReturn:  # noqa: ARG002  (as ``Server``)
        """Not here: an event loop of this process does not know what the server waits for.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("a server in another process has no event loop here; use miniredis.start")

    def stop(self) -> None:
        """Ends the server and its process; waits until both are gone.

        May be called from any thread, by a signal handler, and more than once. In a process that was forked
        from this one it has no effect.
        """
        with contextlib.suppress(RuntimeError):
            for recording in tuple(self._recordings):
                recording.stop()
        self._failure = self._child.end() or self._failure
        self._has_stopped = True
