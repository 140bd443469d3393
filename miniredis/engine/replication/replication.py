"""A server's part in replication: it may have replicas, a master, or both.

``Engine`` calls ``Replication`` only: when clients go, when a tick ends, and when time has passed. Commands
and the process around the engine call its parts. Each part is in a file of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..rdb.position import Position
from .failover import Failover
from .history import History
from .master_session import MasterSession
from .replicas import Replicas
from .upstream import Upstream

if TYPE_CHECKING:
    from ..clients.session import Session
    from ..engine import Engine
    from ..instant import Instant

__all__ = ["Replication"]


class Replication:
    """The replication of one engine.

    Args:
        engine: whose data are replicated.

    Attributes:
        history: the stream of effects as Redis numbers it.
        replicas: those of this server.
        upstream: the master of this server, if it has one.
        failover: makes a replica the master.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.history = History(engine.new_name, lambda: engine.config.integer("repl-backlog-size"))
        self.replicas = Replicas(engine, self)
        self.upstream = Upstream(engine, self)
        self.failover = Failover(engine, self)

    def configure(self) -> None:
        """Directives have changed."""
        self.replicas.acks.count()
        self.upstream.configure()

    def tell_upstream(self, now: Instant, tell: Callable[..., None], *about: object) -> None:
        """The process around the engine tells what becomes of the connection to the master.

        Args:
            now: the time.
            tell: a method of ``Upstream`` or its ``link``.
            about: its arguments.
        """
        self._engine.advance(now)
        try:
            tell(*about)
        except Exception as fault:
            self._engine.fail(None, fault)
            self.upstream.link.abandon()

    def forget(self, session: Session, *, has_failed: bool) -> None:
        """A client is gone, which may be a replica, or stand for the master.

        Args:
            session: the client's.
            has_failed: an unexpected error ended it.
        """
        self.replicas.forget(session)
        if isinstance(session, MasterSession):
            session.has_failed |= has_failed
            self.upstream.link.ended(session)

    def end_tick(self) -> None:
        """Hands out what the tick did, as a master or as a replica with replicas of its own."""
        if self.replicas.all:
            self.replicas.end_tick()
            self.failover.let_time_pass()
        self.upstream.link.pass_on()

    # Restarts

    def position(self) -> Position | None:
        """Where the data are now; None if nobody can go on from there.

        That is so in the middle of a tick, too: all that has been done by now counts.
        """
        if self._engine.effects is not None:
            self._engine.effects.close_unit()
        self.upstream.link.pass_on()
        is_known = self.upstream.has_position or self.upstream.link.session is not None
        if not (self.history.is_kept if self.upstream.address is None else is_known):
            return None
        return Position(self.replicas.selected_database, self.history.name, self.history.offset)

    def restore(self, position: Position, expired: Iterable[tuple[int, bytes]]) -> None:
        """The data come from a file that says where they were.

        So a replica can go on from there, and a master can let its replicas do so.

        Args:
            position: what the file says.
            expired: keys that were in the file, and have expired since, each with its database.
        """
        is_master = self.upstream.address is None
        self.history.restore(position.name, position.offset, is_master=is_master)
        if not is_master:
            self.upstream.database, self.upstream.has_position = position.database, True
            return
        self.replicas.lead()
        effects = self._engine.effects
        assert effects is not None  # as the history is kept
        for database, key in expired:
            effects.add(database, [b"DEL", key])
            effects.close_unit()

    # Time

    @property
    def awaits_time(self) -> bool:
        """Whether something is to be done in time."""
        return self.replicas.awaits_time or self.upstream.link.awaits_time or self.failover.awaits_time

    def next_deadline(self) -> int | None:
        """When ``let_time_pass`` has something to do, in monotonic microseconds; None if it has nothing."""
        due = (
            self.replicas.next_deadline(),
            self.upstream.link.next_deadline(),
            self.failover.next_deadline(),
        )
        return min((when for when in due if when is not None), default=None)

    def let_time_pass(self) -> None:
        """Does what is due."""
        self.replicas.let_time_pass()
        self.upstream.link.let_time_pass()
        self.failover.let_time_pass()
