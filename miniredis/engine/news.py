"""What clients hear of others: where messages, keyspace events and tracked keys come together.

The keyspace tells of every change while somebody wants to hear of any, and otherwise of none but those of
watched keys: that nobody listens costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .config.words import EventClasses
from .notifications import BEFORE_TRACKING, TRACKED_AS, Notifications
from .publishing import Publishing
from .tracking import Tracker, Tracking

if TYPE_CHECKING:
    from .changes import Change
    from .config import Config
    from .keyspace import Keyspace
    from .session import Session
    from .waiting import Waiter

__all__ = ["News"]

NONE: Final[frozenset[str]] = frozenset()
POPS: Final = frozenset({"lpop", "rpop"})
POPPED_UNNOTICED: Final = {b"blpop", b"brpop", b"blmove", b"brpoplpush"}
"""What is popped for a client that waits in one of these is no change to who tracks keys: it was the push."""


class News:
    """The news of one server.

    Args:
        keyspace: tells of changes.
        sessions: all clients, by their numbers.

    Attributes:
        publishing: channels and who listens to them.
        notifications: keyspace events.
        tracking: keys that clients keep copies of.
        running: the client whose command is at work; that of one who does not listen need not be known.
        are_due: keys that are broadcast have changed in this tick.
    """

    def __init__(self, keyspace: Keyspace, sessions: dict[int, Session]) -> None:
        self._keyspace = keyspace
        self.publishing = Publishing()
        self.notifications = Notifications(self.publishing)
        self.tracking = Tracking(sessions)
        self.running: Session | None = None
        self._listens = False
        self.are_due = False
        self._unnoticed = NONE  # the events that are no change to who tracks keys

    def configure(self, config: Config) -> None:
        """Takes what the directives say."""
        events = config["notify-keyspace-events"]
        self.notifications.configure(events.letters if isinstance(events, EventClasses) else events)
        self.tracking.most = config.integer("tracking-table-max-keys")
        self._heed()

    # Who listens

    def start_tracking(self, session: Session, tracker: Tracker) -> None:
        """CLIENT TRACKING ON."""
        self.tracking.start(session, tracker)
        self._heed()

    def stop_tracking(self, session: Session) -> None:
        """CLIENT TRACKING OFF."""
        if session.tracker is not None:
            self.tracking.stop(session)
            self._heed()

    def forget(self, session: Session) -> None:
        """A client hears of nothing any more."""
        self.publishing.forget(session)
        self.stop_tracking(session)

    # What happens

    def attend(self, waiter: Waiter, begins: bool) -> None:
        """The turn of a blocked client begins, or is over: what it did itself it hears then."""
        session = waiter.session
        if begins and session.last_command is not None:
            self.running = session
            self._unnoticed = POPS if session.last_command.name in POPPED_UNNOTICED else NONE
            session.begin_reply(session.last_command, waiter.args)
        else:
            self.running = None
            self._unnoticed = NONE
            session.end_reply()
            self.tracking.command_over()

    def end_tick(self) -> None:
        """The tick ends: who asked for broadcasts hears what changed in it."""
        self.tracking.forget_surplus(None)
        if self.are_due:
            self.are_due = False
            self.tracking.broadcast()

    def _heed(self) -> None:
        """Hears of what somebody asked for, and of nothing else."""
        classes = self.notifications.classes
        self._keyspace.tells_misses = "m" in classes
        is_needed = bool(classes) or self.tracking.is_awaited
        if is_needed is not self._listens:
            self._listens = is_needed
            (self._keyspace.listen if is_needed else self._keyspace.unlisten)(self.hear)

    def hear(self, change: Change) -> None:
        """A key changed, or all: who tracks keys is told, and who listens to keyspace events."""
        if change.key is None:
            if change.event in {"flush", "replaced"}:
                self.tracking.flushed(self.running)
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
            changer = None if first == "expired" else self.running
            event = TRACKED_AS.get(last or first, last or first)
            if self.tracking.changed(key, changer, self.running, event):
                self.are_due = True
            if not self.tracking.is_awaited:
                self._heed()
        if not is_told_first:
            self.notifications.tell(database, key, events)
