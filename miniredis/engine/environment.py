"""What the process around the engine provides: the engine itself does no I/O and reads no clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from .instant import Instant
    from .scripts.script_interfaces import NewInterpreter

__all__ = ["Environment", "SnapshotInterface"]


class SnapshotInterface(Protocol):
    """The file of the snapshots, as the engine uses it."""

    def save(self) -> None:
        """Saves the data in the foreground; raises ``OSError``."""

    def start(self) -> None:
        """Starts a background save, whose end calls ``Saves.ended``; raises ``OSError``."""

    def cancel(self) -> None:
        """Ends the background save without calling ``Saves.ended``."""


class ProgressInterface(Protocol):
    """How far a process is that writes the data, as it last told."""

    @property
    def copied(self) -> int:
        """Bytes of memory that were copied, since one of the two processes has changed them."""

    @property
    def keys(self) -> int:
        """How many keys it has written."""

    @property
    def age(self) -> int:
        """Seconds since it told that; 0 if it has told nothing."""


class ChildInterface(Protocol):
    """A process that writes the data."""

    @property
    def fork_microseconds(self) -> int:
        """How long the server stood still for it."""

    @property
    def progress(self) -> ProgressInterface:
        """How far it is."""


class JournalInterface(Protocol):
    """The append-only file, as commands use it; also one that is off, of which only bases are written."""

    def rewrite(self) -> bool:
        """Begins or schedules a rewrite; False if one is running. Raises ``CommandError`` if it cannot."""

    def begin_again(self) -> None:
        """Called after all data were replaced: the old files stay until the new data are written."""

    def reload(self) -> bool:
        """Loads all data again; returns False if that failed."""

    @property
    def is_rewriting(self) -> bool:
        """Whether a rewrite is running."""

    def facts(self) -> Mapping[str, int | str]:
        """The fields for INFO."""


class AclFileInterface(Protocol):
    """The file of the users, as the engine uses it."""

    def read(self) -> bytes:
        """What it holds; raises ``OSError``."""

    def write(self, text: bytes) -> None:
        """Replaces what it holds; raises ``OSError``."""


class LinkInterface(Protocol):
    """The connection to a master, as the engine uses it; it reports to ``Upstream``."""

    def open(self, host: str, port: int) -> None:
        """Starts to connect; replaces any existing connection."""

    def send(self, data: bytes) -> None:
        """Sends bytes."""

    def close(self) -> None:
        """Closes the connection, or stops connecting; reports nothing more about it."""

    def info(self, text: str) -> None:
        """Logs a message of level info."""

    def warn(self, text: str) -> None:
        """Logs a warning."""


class PeerConnection(Protocol):
    """A connection to another server, as MIGRATE uses it; its methods raise ``OSError``."""

    def sendall(self, data: bytes, /) -> object:
        """Sends all of it."""

    def recv(self, size: int, /) -> bytes:
        """Returns up to so many bytes; none if the other one has hung up."""

    def close(self) -> object:
        """Closes it."""


Dial: TypeAlias = Callable[[str, int, float], PeerConnection]

BeginSnapshot: TypeAlias = Callable[
    [Callable[[], Iterable[bytes]], Callable[[bytes | None], None]], Callable[[], None] | None
]


class Environment(NamedTuple):
    """What the process around an engine provides. The defaults are for an engine without one.

    Attributes:
        pid: the process id.
        executable: its path.
        system: the operating system, its release and the kind of machine.
        poller: the multiplexing API, such as ``epoll``.
        memory: returns the resident memory, in bytes.
        cpu: returns the CPU seconds of the process, in system mode and in user mode.
        stopwatch: returns seconds since some fixed point, for the durations of commands.
        clock: returns the current time while a script runs; None if time stands still.
        new_interpreter: makes an interpreter of scripts; None if the server runs none.
        let_others_in: serves other clients; called now and then while a script is slow.
        snapshots: saves the data to a file; None if there is no file.
        journal: the append-only file; None if there is none.
        new_base_writer: sets ``journal`` to what writes a base while the append-only file is off, and returns
            it; None if the server writes no files.
        begin_snapshot: writes a snapshot for replicas in the background. One argument makes the blocks, the
            other is called with the bytes, or None on failure. Returns a function that cancels it, or None
            if there is so little that it is to be written at once; raises ``OSError``. None if there is no
            background.
        link: the connection to a master; None if the server cannot be a replica.
        acl_file: the file of the users; None if there is none.
        dial: connects to a server, given its host, its port and for how many seconds each step may wait;
            raises ``OSError``. None if there is no network.
    """

    pid: int = 0
    executable: str = ""
    system: str = ""
    poller: str = "none"
    memory: Callable[[], int] = lambda: 0
    cpu: Callable[[], tuple[float, float]] = lambda: (0.0, 0.0)
    stopwatch: Callable[[], float] = lambda: 0.0
    clock: Callable[[], Instant] | None = None
    new_interpreter: NewInterpreter | None = None
    let_others_in: Callable[[], None] = lambda: None
    snapshots: SnapshotInterface | None = None
    journal: JournalInterface | None = None
    new_base_writer: Callable[[], JournalInterface] | None = None
    begin_snapshot: BeginSnapshot | None = None
    link: LinkInterface | None = None
    acl_file: AclFileInterface | None = None
    dial: Dial | None = None

    def find_journal(self) -> JournalInterface | None:
        """The append-only file, or what writes its bases while it is off."""
        if self.journal is None and self.new_base_writer is not None:
            return self.new_base_writer()
        return self.journal
