"""One client: its protocol state, its queued output, its transaction and what it waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from ..clients.notifications import NONE, after_reply
from ..clients.waiting import Waiter
from ..declarations.registry import by_version, chosen
from ..input import run_input
from ..protocol.replies import NO_REPLY, NULL_ARRAY, NoReply, Output, Reply, encode, joined
from ..scripts.script_flags import may_write
from .client_flags import (
    ASKS,
    BLOCKED,
    CLOSING,
    EXECUTING,
    GONE,
    HEARS_FOR_OTHERS,
    IN_MULTI,
    LISTENS,
    MONITORS,
    MUTE,
    POSTPONED,
    READS_REPLICA,
    REPLICA,
    REPLIES_OFF,
    SKIPS_NEXT,
    SKIPS_REPLY,
    TRICKLES,
    UNAUTHENTICATED,
    WATCH_BROKEN,
)
from .output_limits import FREE

if TYPE_CHECKING:
    from ..acl.user import User
    from ..declarations.registry import Command
    from ..engine import Engine
    from ..instant import Instant
    from ..keyspace.keyspace import Database
    from ..protocol.requests import RequestParser
    from ..replication.replica import Replica
    from .publishing import SubscriptionKind
    from .tracking import Tracker

__all__ = ["Session", "Transaction", "serve_nobody"]


NO_LIBRARY: Final = {b"lib-name": b"", b"lib-ver": b""}
"""What is known of a library until CLIENT SETINFO."""


holds_pushes: Final = by_version(False, {"7.2+": True})
"""Whether delayed pushes wait for all replies of a transaction, not only for the current one."""
hears_when_mute: Final = by_version(True, {"6.0": False})
"""Whether CLIENT REPLY OFF and SKIP leave out replies only, not pushes."""


class Transaction:
    """The commands that MULTI has queued.

    Attributes:
        queued: the commands, in order.
        aborted: whether a command was refused when it was queued; EXEC then refuses the whole transaction.
        may_write: whether a command may write, as far as known when it was queued.
    """

    __slots__ = ("aborted", "may_write", "queued")

    def __init__(self) -> None:
        self.queued: list[tuple[Command, list[bytes]]] = []
        self.aborted = False
        self.may_write = False

    def queue(self, session: Session, command: Command, args: list[bytes]) -> None:
        """Queues a command, unless the transaction cannot succeed any more."""
        if not (self.aborted or session.flags & WATCH_BROKEN):
            self.queued.append((command, args))
            self.may_write |= may_write(session.engine, command, args)


class Session:
    """A client of the engine, from ``Engine.connect`` to ``Engine.disconnect``.

    Attributes:
        id: the number that CLIENT ID returns; unique and rising.
        flags: bits of ``client_flags``.
        library: what CLIENT SETINFO said of the program that connected.
        db: the database that it SELECTed.
        resp: the version of the protocol it speaks, 2 or 3.
        user: what it may do.
        waiter: set while it is blocked; its input then stays unread.
        watched: the (database, key) pairs of WATCH.
        subscriptions: the names it is subscribed to, by kind of subscription; kinds without names are absent.
        tracker: its CLIENT TRACKING state; None if it does not track keys.
        replica: its state as a replica; None if it is an ordinary client.
        reached: the replication offset after its last command, for WAIT.
        after_reply: the keyspace events that it gets only after the current reply.
        postponed: the command that runs after CLIENT PAUSE, after the delay of a fault, or on another thread.
        batch: the bytes of the requests that were read together and are being run, for CLIENT LIST.
        outgoing: the pieces of output to send when the tick ends.
    """

    is_script = False
    """Whether this session runs the commands of a script."""

    must_obey = False
    """Whether its commands skip most checks of the gate: they come from a master or an append-only file."""

    __slots__ = (
        "_late", "_pushed", "address", "after_reply", "batch", "created", "db", "descriptor", "engine",
        "flags", "id", "last_active", "last_command", "library", "local_address", "name", "outgoing",
        "parser", "postponed", "reached", "replica", "resp", "subscriptions", "tracker", "transaction",
        "user", "waiter", "watched",
    )  # fmt: skip

    def __init__(self, engine: Engine, number: int, parser: RequestParser, now: Instant) -> None:
        self.engine = engine
        self.id: int = number
        self.flags: int = 0
        engine.users.begin(self)
        self.user: User
        self.parser: RequestParser = parser
        self.db: Database = engine.keyspace.databases[0]
        self.resp: int = 2
        self.name: bytes = b""
        self.address: bytes = b""
        self.library: dict[bytes, bytes] = NO_LIBRARY
        self.local_address: bytes = b""
        self.descriptor: int = -1
        self.created: Instant = now
        self.last_active: Instant = now
        self.last_command: Command | None = None
        self.transaction: Transaction | None = None
        self.watched: set[tuple[int, bytes]] = set()
        self.waiter: Waiter | None = None
        self.subscriptions: dict[SubscriptionKind, dict[bytes, None]] = {}
        self.tracker: Tracker | None = None
        self.replica: Replica | None = None
        self.reached = 0
        self.after_reply: frozenset[str] = NONE
        self.postponed: list[bytes] | None = None
        self.batch = 0
        self.outgoing: list[Output] = []
        self._late: list[Output] = []  # pushes to send after the current reply
        self._pushed = 0  # bytes of pushes since the output was last measured

    # Replies

    def reply(self, value: Reply) -> None:
        """Queues a reply to send when the tick ends. Disconnects a replica, which must not get replies."""
        if value is NO_REPLY or self.flags & MUTE:
            return
        if self.flags & REPLICA:
            self.engine.hang_up(self)
            return
        self.outgoing.append(encode(value, self.resp))
        self.engine.outbox[self] = None

    def end_command(self, *, empty: bool = False) -> None:
        """Ends a command: CLIENT REPLY SKIP advances, and CLIENT CACHING and ASKING no longer apply.

        Args:
            empty: whether the request had no words; that counts as a command here.
        """
        skips = SKIPS_REPLY if self.flags & SKIPS_NEXT else 0
        self.flags = self.flags & ~(SKIPS_REPLY | SKIPS_NEXT) | skips
        if self.transaction is not None:
            return
        command = self.last_command
        if command is None or command.name != b"asking":
            self.flags &= ~ASKS
        is_of_client = command is not None and command.name.startswith(b"client|")
        if self.tracker is not None and (empty or not is_of_client):
            self.tracker.caching = False

    def push(self, data: Output, event: str = "") -> None:
        """Queues bytes that are not a reply; if too much is queued, disconnects when the tick ends.

        Args:
            data: the bytes.
            event: the keyspace event that they report; empty for none.
        """
        if self.flags & CLOSING:
            return
        if self.flags & REPLICA:  # a replica must not subscribe or monitor
            self._give_up()
            return
        if self.flags & MUTE and not hears_when_mute(self.engine.version):
            return
        if event in self.after_reply:
            self._late.append(data)
        else:
            self.outgoing.append(data)
        self.engine.outbox[self] = None
        self._pushed += len(data)
        if self._pushed > FREE and self.engine.output_limits.is_far_too_long(self, self._pushed):
            self._pushed = self.outgoing_bytes  # leaves out what was sent meanwhile
            if self.engine.output_limits.is_far_too_long(self, self._pushed):
                self._give_up()

    def _give_up(self) -> None:
        """Drops the output and disconnects the client when the tick ends."""
        self.flags |= CLOSING
        self.drop_output()
        self.engine.output_limits.give_up(self)

    def begin_reply(self, command: Command, args: list[bytes]) -> None:
        """Delays some pushes until the reply to a request is queued."""
        self.after_reply = chosen(self.engine.version, after_reply)(command.name, args)

    def end_reply(self) -> None:
        """Queues the delayed pushes."""
        self.after_reply = NONE
        if not (self.flags & EXECUTING and holds_pushes(self.engine.version)):
            self.outgoing += self._late
            self._late.clear()

    def listen(self) -> None:
        """Marks the client as one that gets pushes."""
        self.flags |= LISTENS

    def is_redirected_to(self) -> None:
        """Marks the client as the target of another client's CLIENT TRACKING REDIRECT."""
        self.flags |= LISTENS | HEARS_FOR_OTHERS

    def listen_or_not(self) -> None:
        """Clears the mark if nothing is left for which the client gets pushes."""
        if not (self.subscriptions or self.tracker or self.flags & HEARS_FOR_OTHERS):
            self.flags &= ~LISTENS

    def reset(self) -> None:
        """RESET: restores the state of a new client, except for the current reply."""
        self.engine.stop_listening(self)
        self.db = self.engine.keyspace.databases[0]
        self.resp = 2
        self.leave_transaction()
        self.name = b""
        self.flags &= ~(MONITORS | REPLIES_OFF | SKIPS_NEXT | READS_REPLICA)
        self.engine.users.begin(self)

    @property
    def client(self) -> Session:
        """The client on whose behalf commands run; for a script, its caller."""
        return self

    @property
    def connected(self) -> bool:
        """Whether the client has not been disconnected."""
        return not self.flags & GONE

    @property
    def closing(self) -> bool:
        """Whether no more input is read, and the client is disconnected once its output is sent."""
        return bool(self.flags & CLOSING)

    @property
    def must_authenticate(self) -> bool:
        """Whether the client has to give a password first."""
        return bool(self.flags & UNAUTHENTICATED and self.engine.users.must_authenticate)

    @property
    def outgoing_bytes(self) -> int:
        """The number of bytes to send when the tick ends."""
        return sum(map(len, self.outgoing))

    def take_output(self) -> bytes:
        """Removes and returns all queued output."""
        return bytes(self.take_pieces())

    def take_pieces(self) -> Output:
        """The same as ``take_output``, without copying large strings."""
        if self.flags & TRICKLES:
            output = self.engine.trickles.take(self)
        elif len(self.outgoing) == 1:
            output = self.outgoing.pop()
        else:
            output = joined(self.outgoing)
            self.outgoing.clear()
        self.engine.statistics.output_bytes += len(output)
        return output

    def drop_output(self) -> None:
        """Discards all queued output."""
        self.outgoing.clear()
        self._late.clear()

    def close(self) -> None:
        """Reads no more input; disconnects once all replies are sent, or never if CLIENT REPLY is OFF."""
        self.flags |= CLOSING
        if not self.flags & MUTE:
            self.engine.outbox[self] = None

    @property
    def is_unix(self) -> bool:
        """Whether the client connected through a Unix socket."""
        return self.address.endswith(b":0")

    @property
    def is_local(self) -> bool:
        """Whether Redis takes the client for local: a Unix socket, 127.0.0.1 or ::1, but not 127.0.0.2."""
        return self.is_unix or self.address.startswith((b"127.0.0.1:", b"[::1]:"))

    # Effects

    def also_propagate(self, effect: Callable[..., list[bytes]], *about: Any) -> None:
        """Adds ``effect(*about)`` to the effects of the current command, if effects are recorded."""
        if self.engine.effects is not None:
            self.engine.effects.add(self.db.index, effect(*about))

    # Blocking

    def block(
        self,
        keys: Iterable[bytes],
        waits_for: type,
        serve: Callable[[Database, bytes, Any], Reply],
        timeout: int | None,
        when_over: Reply | Callable[[], Reply] = NULL_ARRAY,
        when_gone: Callable[[], object] | None = None,
    ) -> NoReply:
        """Blocks this client until one of the keys can serve it.

        Args:
            keys: in the order of the command; repeated keys count once.
            waits_for: the type of value that serves it.
            serve: runs the command on the value and returns the reply.
            timeout: milliseconds; None waits for ever.
            when_over: the reply when the timeout passes, or what tells it then.
            when_gone: raises the error when one of the keys is deleted; None to go on waiting.
        """
        deadline = None if timeout is None else self.engine.now.monotonic + timeout * 1000
        distinct = tuple(dict.fromkeys(keys))
        self.flags |= BLOCKED
        self.waiter = Waiter(self, self.db.index, distinct, waits_for, serve, deadline, when_over, when_gone)
        self.engine.waiting.add(self.waiter)
        return NO_REPLY

    def unblock(self) -> None:
        """Marks the client as no longer blocked: as if it had sent something now."""
        self.last_active = self.engine.now
        self.waiter = None
        self.flags &= ~BLOCKED

    def resume(self) -> None:
        """Runs what it sent while it was blocked."""
        run_input(self)

    def postpone(self, args: list[bytes], milliseconds: int | None = None) -> None:
        """Blocks the client until CLIENT PAUSE ends, or for some time, and keeps the command to run then."""
        self.block((), type(None), serve_nobody, milliseconds, NO_REPLY)
        self.postponed = args
        self.flags |= POSTPONED

    def take_postponed(self) -> list[bytes] | None:
        """Removes and returns the command that CLIENT PAUSE held up."""
        args, self.postponed = self.postponed, None
        self.flags &= ~POSTPONED
        return args

    @property
    def may_block(self) -> bool:
        """Whether a command may block. Inside EXEC it may not: it replies as if it had timed out."""
        return not self.flags & EXECUTING

    @property
    def runs_request(self) -> bool:
        """Whether the command is a request of its client, and is run neither by EXEC nor by a script."""
        return self.may_block  # what EXEC and scripts run may not

    # WATCH

    def watch(self, key: bytes) -> None:
        """Makes the next EXEC fail if the key is modified before it."""
        if (self.db.index, key) not in self.watched:
            self.watched.add((self.db.index, key))
            self.db.watch(key, self)

    def unwatch(self) -> None:
        """Stops watching all keys, and forgets that one has changed."""
        for index, key in self.watched:
            self.engine.keyspace.databases[index].unwatch(key, self)
        self.watched.clear()
        self.flags &= ~WATCH_BROKEN

    def begin_transaction(self) -> None:
        """MULTI: queues the commands that follow."""
        self.transaction = Transaction()
        self.flags |= IN_MULTI

    def leave_transaction(self) -> None:
        """Discards the queued commands and all watches."""
        self.transaction = None
        self.flags &= ~IN_MULTI
        self.unwatch()

    def watched_key_changed(self) -> None:
        """Makes the next EXEC run nothing."""
        self.flags |= WATCH_BROKEN


def serve_nobody(_db: Database, _key: bytes, _value: object) -> Reply:
    """The ``serve`` of a client that waits for no key; never called."""
    raise AssertionError("a client that waits for no key is served by none")
