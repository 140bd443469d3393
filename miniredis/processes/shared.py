"""One server for all processes that use a directory: ``join`` finds it, or starts it in this process.

Rules:
    - The process that has the lock of the file ``LOCK`` serves, on the Unix socket ``SOCKET`` beside it. The
      system frees the lock when a process ends, however it ends. The next that calls ``join`` serves then.
    - Only that process binds the socket and removes it, so it is never another server's.
    - No other user gets in: only the owner can open the socket, and the server does not listen on TCP.
    - A server that was started stays until the process ends, and is stopped then, by ``atexit``. A process
      that is killed loses nothing that was answered.
    - A forked child has no server, and gives up its copy of the lock. It may call ``join`` like any process.
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import wait
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..arguments import checked_config, make_directory
from ..clock import Machine
from ..embedded import EmbeddedServer
from ..launch import Launch
from ..persistence.disk import release
from ..server import serve

if TYPE_CHECKING:
    from ..network.listeners import Listener
    from ..ticks.tick_runner import TickRunner

__all__ = ["join"]

assert sys.platform != "win32"  # where there is no such lock, and no such socket

LOCK: Final = "miniredis.lock"
SOCKET: Final = "miniredis.sock"

TICK: Final = 0.1
"""Seconds between two calls of ``tick``."""

TURN: Final = 0.01
"""Seconds between two looks whether another process, which starts or stops, has come to its end."""

LONGEST: Final = 107 if sys.platform == "linux" else 103
"""Bytes that the path of a Unix socket may have."""

PING: Final = b"PING\r\n"
"""What a server that loads its data answers with LOADING."""

ALWAYS: Final = b"CONFIG SET appendfsync always\r\n"

LOADING: Final = b"-LOADING"

FAREWELL: Final = b"-LOADING The process that runs this server ends; connect again\r\n"
"""The last that a client is told. redis-py takes LOADING as a connection that failed."""

FOR_THE_USER_ALONE: Final = {"unixsocketperm": "600", "bind": ""}

NOT_SERVED: Final = (FileNotFoundError, ConnectionError, BlockingIOError)
"""What a client meets where nobody serves at this moment, or where too many wait for an answer."""


def join(
    directory: str | os.PathLike[str],
    *,
    appendfsync: str = "always",
    timeout: float = 10.0,
    tick: Callable[[], object] = lambda: None,
) -> str:
    """The Unix socket of the server for a directory; starts the server in this process if no process runs it.

    The server answers when this returns. All processes of a machine that name the same directory share it,
    however they spell the path. When the process that runs the server ends, connections break; call ``join``
    again then::

        path = miniredis.join("/var/lib/jobs")
        client = redis.Redis(unix_socket_path=path)

    Args:
        directory: where the data are; made, for this user alone, if it is not there.
        appendfsync: as the directive. ``"always"`` wins, whichever process asked for it.
        timeout: seconds for which a server of another process may say nothing at all, not even that it loads.
        tick: called about every ``TICK`` seconds while this waits; it may raise.

    Raises:
        BlockingIOError: a server that is not shared, such as one of ``start``, keeps its data there.
        TimeoutError: the process that has the directory does not answer; it may be stopped (SIGSTOP).
        DamagedFileError: the data cannot be loaded.
        OSError: the directory or the socket cannot be used.
    """
    folder = Path(directory).resolve()
    make_directory(folder, 0o700)
    path = socket_path(folder)
    waiter = JoinDeadline(folder, timeout, tick)
    launch = SERVERS.of(folder)
    while True:
        if launch is not None:
            waiter.wait_for(launch)
        reply = asked(path, PING, waiter)
        if is_answer(reply) and (appendfsync != "always" or is_answer(reply := asked(path, ALWAYS, waiter))):
            return path
        if reply:
            waiter.heard()
        else:
            launch = SERVERS.begin(folder, path, appendfsync)
        waiter.wait()


class JoinDeadline:
    """How long a call of ``join`` waits for another process."""

    def __init__(self, folder: Path, timeout: float, tick: Callable[[], object]) -> None:
        self._folder, self._timeout, self._tick = folder, timeout, tick
        self._next_tick = 0.0
        self.heard()

    def heard(self) -> None:
        """There was a sign of life."""
        self._silent_by = Machine.monotonic() + self._timeout

    def check(self) -> None:
        """Calls ``tick`` if it is time to; raises ``TimeoutError`` if it is time to give up."""
        now = Machine.monotonic()
        if now >= self._next_tick:
            self._next_tick = now + TICK
            self._tick()
        if now > self._silent_by:
            holder = (self._folder / LOCK).read_text().strip() or "another process"
            raise TimeoutError(
                errno.ETIMEDOUT, f"{holder} serves this directory and does not answer", str(self._folder)
            )

    def wait(self) -> None:
        """Sleeps a little."""
        self.check()
        time.sleep(TURN)

    def wait_for(self, launch: Launch[SharedServer]) -> None:
        """Waits until a server of this process has started, however long it loads; raises why it did not."""
        while not wait([launch.started_with], TICK).done:
            self.heard()
            self.check()
        launch.started_with.result()


def asked(path: str, request: bytes, waiter: JoinDeadline) -> bytes:
    """What a server answers; nothing if there is none."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(TICK)
        try:
            client.connect(path)
            client.sendall(request)
        except NOT_SERVED:
            return b""
        while True:
            try:
                return client.recv(1024)
            except TimeoutError:
                waiter.check()
            except NOT_SERVED:
                return b""


def is_answer(reply: bytes) -> bool:
    """Whether a server did what it was asked: it neither loads nor ends."""
    return bool(reply) and not reply.startswith(LOADING)


class SharedServer(EmbeddedServer):
    """A server that tells its clients that it ends: what they have sent and had no reply to was not done."""

    def __init__(self, runner: TickRunner, listeners: list[Listener]) -> None:
        super().__init__(runner, listeners)
        runner.farewell = FAREWELL


class Servers:
    """The servers of this process, by their directories; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._launches: dict[Path, Launch[SharedServer]] = {}
        self._files: dict[Path, int] = {}
        self._folders: dict[Path, int] = {}

    def of(self, folder: Path) -> Launch[SharedServer] | None:
        """The server of this process for a directory, if there is one."""
        return self._launches.get(folder)

    def begin(self, folder: Path, path: str, appendfsync: str) -> Launch[SharedServer] | None:
        """Begins to start a server, unless there is one; None if another process has the directory."""
        with self._lock:
            if folder not in self._launches:
                directives = {"dir": str(folder), "appendfsync": appendfsync, "unixsocket": path}
                config = checked_config("join", {**directives, **FOR_THE_USER_ALONE})
                try:
                    self._files[folder] = locked(folder / LOCK)
                except BlockingIOError:
                    return None
                program = partial(serve, config=config, alone=True, handle=SharedServer)
                launch: Launch[SharedServer] = Launch(program, when_over=partial(self._end, folder))
                self._launches[folder] = launch
                try:
                    launch.thread.start()
                except RuntimeError as error:  # the process is about to end
                    self._end(folder)
                    raise OSError(errno.ECANCELED, str(error), str(folder)) from None
            return self._launches[folder]

    def _end(self, folder: Path) -> None:
        with self._lock:
            del self._launches[folder]
            release(self._files.pop(folder))

    def stop(self) -> None:
        """Stops those that have started; returns when other processes can have their directories."""
        for launch in tuple(self._launches.values()):
            if launch.started_with.done() and launch.started_with.exception() is None:
                launch.started_with.result().stop()

    def folder(self, path: Path) -> int:
        """A descriptor of a directory, which stays open."""
        with self._lock:
            there, known = path.stat(), self._folders.get(path)
            if known is None or not is_same(known, there):
                self._folders[path] = known = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            return known

    def before_fork(self) -> None:
        """Keeps other threads from opening a lock, of which the child would not know."""
        self._lock.acquire()

    def after_fork(self) -> None:
        """In the parent."""
        self._lock.release()

    def leave_to_parent(self) -> None:
        """In the child."""
        self._lock = threading.RLock()
        self._launches.clear()
        while self._files:
            os.close(self._files.popitem()[1])


SERVERS: Final = Servers()

atexit.register(SERVERS.stop)
os.register_at_fork(
    before=SERVERS.before_fork,
    after_in_parent=SERVERS.after_fork,
    after_in_child=SERVERS.leave_to_parent,
)


def locked(path: Path) -> int:
    """The descriptor of a file, whose lock this process has while it is open.

    Raises:
        BlockingIOError: another process has the lock.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.truncate(descriptor, 0)
        os.write(descriptor, b"process %d\n" % os.getpid())
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def socket_path(folder: Path) -> str:
    """Where the socket of a directory is, in so few bytes as a socket's path may have."""
    path = folder / SOCKET
    if len(os.fsencode(path)) <= LONGEST:
        return str(path)
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        raise OSError(errno.ENAMETOOLONG, f"the path of a socket has {LONGEST} bytes at most", str(path))
    return str(descriptors / str(SERVERS.folder(folder)) / SOCKET)


def is_same(descriptor: int, there: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), there)
    except OSError:  # somebody has closed it
        return False
