"""Tells clients what other clients do: messages, keyspace events and invalidated keys.

The keyspace reports every change only while a client wants events or tracks keys. Otherwise it reports only
changes of keys that clients watch, so that unused features cost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..config.words import EventClasses
from ..declarations.registry import by_version
from .notifications import BEFORE_TRACKING, TRACKED_AS, Notifications
from .publishing import Publishing
from .tracking import Tracker, Tracking

if TYPE_CHECKING:
    from ..config import Config
    from ..keyspace.changes import Change
    from ..keyspace.keyspace import Keyspace
    from .session import Session
    from .waiting import Waiter

__all__ = ["ChangeNotifier"]

NONE: Final[frozenset[Any]] = frozenset()
POPS: Final = frozenset({"lpop", "rpop"})
popped_unnoticed: Final = by_version(
    frozenset({b"blpop", b"brpop", b"blmove", b"brpoplpush"}), {"7.2+": NONE}
)
"""Clients blocked in one of these cause no invalidation when they pop: the push did already."""


class ChangeNotifier:
    """Notifies the clients of one server of changes.

    Args:
        keyspace: reports changes.
        sessions: all clients, by number.

    Attributes:
        publishing: channels and their subscribers.
        notifications: keyspace events.
        tracking: the keys that clients cache.
        client: the one whose command is running; need not be set for one that gets no pushes.
        is_in_script: whether a script runs: what its commands change is not its client's own for NOLOOP of
            broadcasts, as in Redis.
        are_due: whether keys with broadcast prefixes have changed in this tick.
    """

    def __init__(self, keyspace: Keyspace, sessions: dict[int, Session]) -> None:
        self._keyspace = keyspace
        self.publishing = Publishing()
        self.notifications = Notifications(self.publishing)
        self.tracking = Tracking(sessions)
        self.client: Session | None = None
        self.is_in_script = False
        self._listens = False
        self.are_due = False
        self._unnoticed = NONE  # the events that invalidate no tracked keys

    def configure(self, config: Config) -> None:
        """Applies the directives."""
        events = config["notify-keyspace-events"]
        self.notifications.configure(events.letters if isinstance(events, EventClasses) else events)
        self.tracking.most = config.integer("tracking-table-max-keys")
        self._observe()

    # Clients

    def start_tracking(self, session: Session, tracker: Tracker) -> None:
        """CLIENT TRACKING ON."""
        self.tracking.start(session, tracker)
        self._observe()

    def stop_tracking(self, session: Session) -> None:
        """CLIENT TRACKING OFF."""
        if session.tracker is not None:
            self.tracking.stop(session)
            self._observe()

    def forget(self, session: Session) -> None:
        """Ends all subscriptions and the tracking of a client."""
        self.publishing.forget(session)
        self.stop_tracking(session)

    # Changes

    def on_serve(self, waiter: Waiter, begins: bool) -> None:
        """Called before and after a blocked client is served; it gets its own invalidations afterwards."""
        session = waiter.session
        if begins and session.last_command is not None:
            self.client = session
            unnoticed = popped_unnoticed(session.engine.version)
            self._unnoticed = POPS if session.last_command.name in unnoticed else NONE
            session.begin_reply(session.last_command, waiter.args)
        else:
            self.client = None
            self._unnoticed = NONE
            session.end_reply()
            self.tracking.command_over()

    def end_tick(self) -> None:
        """Ends a tick: sends the changed keys to clients that track with BCAST."""
        self.tracking.forget_surplus(None)
        if self.are_due:
            self.are_due = False
            self.tracking.broadcast()

    def _observe(self) -> None:
        """Listens to all changes if a client wants events or tracks keys, and otherwise not."""
        classes = self.notifications.classes
        self._keyspace.tells_misses = "m" in classes
        is_needed = bool(classes) or self.tracking.is_awaited
        if is_needed is not self._listens:
            self._listens = is_needed
            (self._keyspace.listen if is_needed else self._keyspace.unlisten)(self.hear)

    def hear(self, change: Change) -> None:
        """Handles a change: invalidates tracked keys and publishes keyspace events."""
        if change.key is None:
            if change.event in {"flush", "replaced"}:
                self.tracking.flushed(self.client)
        elif not change.modifies:
            self.notifications.tell(change.database, change.key, change.event)
        else:
            self._key_changed(change.database, change.key, change.event)

    def _key_changed(self, database: int, key: bytes, events: str) -> None:
        first, _, last = events.partition(" ")
        is_told_first = first in BEFORE_TRACKING
        if is_told_first:
            self.notifications.tell(database, key, events)
        if self.tracking.is_awaited and first not in self._unnoticed:
            is_own = not self.is_in_script and first not in {"expired", "hexpired"}
            changer = self.client if is_own else None
            event = TRACKED_AS.get(last or first, last or first)
            if self.tracking.changed(key, changer, self.client, event):
                self.are_due = True
            if not self.tracking.is_awaited:
                self._observe()
        if not is_told_first:
            self.notifications.tell(database, key, events)
