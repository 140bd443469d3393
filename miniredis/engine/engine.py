"""The engine: databases, sessions and waiters. Bytes in, bytes out; no I/O, no clock, no thread.

The caller says what time it is, hands in what clients sent, and ends each tick with ``settle``, which tells
whose output is to be sent. The same bytes at the same times give the same replies.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from . import commands as _commands  # noqa: F401  (fills the table of commands)
from . import errors
from .config import Config
from .dispatch import execute
from .errors import CommandError, ProtocolError
from .instant import Instant
from .keyspace import Keyspace
from .replies import Reply
from .requests import FastLane, RequestParser
from .session import Session
from .waiting import Waiter, Waiting

__all__ = ["Engine", "Facts"]

BEGINNING: Final = Instant(0, 0)

EXPIRED_AT_ONCE: Final = 1000
"""How many keys one tick lets go, so that a crowd that expires together does not hold up the clients."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the engine cannot know of the process around it, for INFO.

    Attributes:
        pid: of the process.
        port: the TCP port, 0 if there is none.
        executable: its path.
        system: the operating system, its release and the machine's kind.
        memory: tells the resident memory, in bytes.
        poller: what the server waits with, such as ``epoll``.
    """

    pid: int = 0
    port: int = 0
    executable: str = ""
    system: str = ""
    memory: Callable[[], int] = lambda: 0
    poller: str = "none"


class Engine:
    """A Redis server without its sockets.

    Args:
        config: the directives; the defaults if omitted.
        now: the time of the start.
        seed: where randomness comes from.
    """

    def __init__(self, config: Config | None = None, now: Instant = BEGINNING, seed: int = 0) -> None:
        self.config = config or Config()
        self.facts = Facts()
        self.random = random.Random(seed)  # noqa: S311  (nothing here is secret)
        self.run_id = b"%040x" % self.random.getrandbits(160)
        self.started = self.now = now
        self.keyspace = Keyspace(self.config.integer("databases"), self._key_created)
        self.waiting = Waiting(self.keyspace.databases, self.wake)
        self.sessions: dict[int, Session] = {}
        self.outbox: dict[Session, None] = {}  # who has something to be sent, or is to be hung up
        self.shutdown_requested = False
        self.connections_received = 0
        self.connections_rejected = 0
        self.commands_processed = 0
        self.input_bytes = 0
        self.error_counts: Counter[bytes] = Counter()
        self._faults: list[tuple[Session, Exception]] = []
        self._unblocked: deque[Session] = deque()
        self._lane = FastLane()
        self._advance(now)

    # The caller's side

    def connect(
        self, now: Instant, *, address: str = "", local_address: str = "", descriptor: int = -1
    ) -> Session:
        """A client has come; the addresses and the descriptor are what CLIENT LIST shows."""
        self._advance(now)
        self.connections_received += 1
        parser = RequestParser(self._lane, self._max_bulk)
        session = Session(self, self.connections_received, parser, now)
        session.address, session.local_address = address.encode(), local_address.encode()
        session.descriptor = descriptor
        if len(self.sessions) >= self.config.integer("maxclients"):
            self.connections_rejected += 1
            session.reply(CommandError(errors.MAX_CLIENTS))
            session.connected = False
            session.close()
        else:
            self.sessions[session.id] = session
        return session

    def receive(self, session: Session, data: bytes, now: Instant) -> None:
        """A client sent bytes, cut anywhere; all commands in them run, unless it is or becomes blocked."""
        self._advance(now)
        if session.closing:
            return
        session.last_active = now
        self.input_bytes += len(data)
        session.parser.feed(data)
        if len(session.parser) > self.config.integer("client-query-buffer-limit"):
            self.hang_up(session)
        elif session.waiter is None:
            self._run(session)

    def disconnect(self, session: Session, now: Instant) -> None:
        """A client is gone: it leaves every queue, and what it watched is forgotten."""
        self._advance(now)
        self._forget(session)

    def settle(self, now: Instant) -> list[Session]:
        """Ends a tick: timeouts, expiry, and the input of clients that were woken.

        Returns:
            The sessions whose output is to be taken and sent, and that are to be hung up if ``closing``.
        """
        self._advance(now)
        for waiter in self.waiting.timed_out(now.monotonic):
            self.wake(waiter, waiter.when_over)
        self.keyspace.expire(EXPIRED_AT_ONCE)
        while self._unblocked:
            self._run(self._unblocked.popleft())
        due = list(self.outbox)
        self.outbox.clear()
        return due

    def next_deadline(self) -> int | None:
        """When ``settle`` is due even if nobody sends anything, in microseconds of monotonic time."""
        timeout = self.waiting.next_deadline()
        expiry = self.keyspace.next_expiry()
        if expiry is None:
            return timeout
        wait = (expiry + 1) * 1000 - self.now.wall
        expiry_due = self.now.monotonic + max(wait, 0)
        return expiry_due if timeout is None else min(timeout, expiry_due)

    def take_faults(self) -> list[tuple[Session, Exception]]:
        """The clients that were hung up on because a command of theirs met a fault of ours, to be logged."""
        faults, self._faults = self._faults, []
        return faults

    def reset(self, now: Instant) -> None:
        """Empties every database, as FLUSHALL does."""
        self._advance(now)
        for db in self.keyspace.databases:
            db.clear()

    # The commands' side

    def wake(self, waiter: Waiter, reply: Reply | CommandError) -> None:
        """A blocked client, out of its queues already, hears its reply; its input runs when the tick ends."""
        session = waiter.session
        session.waiter = None
        session.reply(reply)
        self._unblocked.append(session)

    def unblock(self, session: Session, reply: Reply | CommandError) -> None:
        """Ends a client's wait from outside."""
        assert session.waiter is not None
        self.waiting.remove(session.waiter)
        self.wake(session.waiter, reply)

    def hang_up(self, session: Session) -> None:
        """The server's side ends a connection, now."""
        self._forget(session)
        session.close()

    def count_error(self, error: CommandError) -> None:
        """INFO tells how many errors of each code there were."""
        self.error_counts[error.message.split(b" ", 1)[0]] += 1

    # Inside

    def _advance(self, now: Instant) -> None:
        self.now = now
        self.keyspace.milliseconds = now.milliseconds

    def _max_bulk(self) -> int:
        return self.config.integer("proto-max-bulk-len")

    def _key_created(self, database: int, key: bytes, kind: type) -> None:
        self.waiting.signal(database, key, kind)

    def _run(self, session: Session) -> None:
        try:
            while session.waiter is None and not session.closing:
                request = session.parser.next()
                if request is None:
                    return
                execute(session, request)
        except ProtocolError as error:
            session.reply(CommandError(error.message))
            session.close()
        except Exception as fault:
            self._faults.append((session, fault))
            self.hang_up(session)

    def _forget(self, session: Session) -> None:
        if not session.connected:
            return
        session.connected = False
        session.closing = True
        session.unwatch()
        if session.waiter is not None:
            self.waiting.remove(session.waiter)
            session.waiter = None
        del self.sessions[session.id]
