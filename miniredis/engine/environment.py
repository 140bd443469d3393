"""What the engine is told by the process around it, and asks of it: it does no I/O and reads no clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from .instant import Instant
    from .script_interfaces import NewInterpreter

__all__ = ["Environment", "SnapshotInterface"]


class SnapshotInterface(Protocol):
    """What the engine asks of the file that its data are saved to."""

    def save(self) -> None:
        """Saves them now; raises ``OSError``."""

    def start(self) -> None:
        """Begins to save them beside other work, which ends with ``Saves.ended``; raises ``OSError``."""

    def cancel(self) -> None:
        """Ends what ``start`` began, without another word."""


class JournalInterface(Protocol):
    """What commands ask of the append-only file."""

    def rewrite(self) -> bool:
        """Rewrites it soon; False if that is being done already."""

    def begin_again(self) -> None:
        """All data were replaced: what the files have stays there until these are written in its place."""

    def reload(self) -> bool:
        """Loads all data again; False if that failed."""

    @property
    def is_rewriting(self) -> bool:
        """Whether it is being rewritten now."""

    def facts(self) -> Mapping[str, int | str]:
        """What INFO tells of it."""


class LinkInterface(Protocol):
    """What the engine asks of the connection to its master; ``Upstream`` is told what comes of it."""

    def open(self, host: str, port: int) -> None:
        """Begins to connect, in place of any connection that there is."""

    def send(self, data: bytes) -> None:
        """Sends bytes."""

    def close(self) -> None:
        """Ends the connection, or the attempt to make one; nothing more is told of it."""

    def info(self, text: str) -> None:
        """Logs what is as it should be."""

    def warn(self, text: str) -> None:
        """Logs what is not."""


BeginSnapshot: TypeAlias = Callable[
    [Callable[[], Iterable[bytes]], Callable[[bytes | None], None]], Callable[[], None]
]


class Environment(NamedTuple):
    """The process around an engine. Without any, an engine has no process, runs no scripts, and never times.

    Attributes:
        pid: of the process.
        executable: its path.
        system: the operating system, its release and the machine's kind.
        poller: what the server waits with, such as ``epoll``.
        memory: tells the resident memory, in bytes.
        cpu: tells the seconds that the process has run, in the system and by itself.
        stopwatch: tells seconds since some fixed point, for how long commands take.
        clock: tells what time it is, which goes on while a script runs; None where time stands still.
        new_interpreter: makes what runs scripts; None where there are to be none.
        let_others_in: called now and then while a script runs for too long.
        snapshots: saves the data to a file; None where there is none.
        journal: keeps the data in an append-only file; None where there is none.
        begin_snapshot: writes a snapshot for replicas beside other work, given what makes its blocks and what
            hears its bytes, or None if it failed. It returns what cancels that, and raises ``OSError``. None
            where everything is done at once.
        link: the connection to a master; None where there can be none.
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
    begin_snapshot: BeginSnapshot | None = None
    link: LinkInterface | None = None
