"""One client's conversation: what was asked, what is to be sent, and all state that is the client's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .backlog import FREE
from .client_flags import (
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
    REPLICA,
    REPLIES_OFF,
    SKIPS_NEXT,
    SKIPS_REPLY,
    UNAUTHENTICATED,
    WATCH_BROKEN,
)
from .input import run_input
from .notifications import NONE, after_reply
from .replies import NO_REPLY, NULL_ARRAY, NoReply, Output, Reply, encode, joined
from .script_flags import may_write
from .waiting import Waiter

if TYPE_CHECKING:
    from .engine import Engine
    from .errors import CommandError
    from .instant import Instant
    from .keyspace import Database
    from .publishing import Kind
    from .registry import Command
    from .replication.replica import Replica
    from .requests import RequestParser
    from .tracking import Tracker

__all__ = ["Session", "Transaction", "serve_nobody"]


class Transaction:
    """What MULTI has queued.

    Attributes:
        queued: the commands, in order.
        aborted: one was refused by the gate, so EXEC will refuse them all.
        may_write: one may write, as far as it was known when it was queued.
    """

    __slots__ = ("aborted", "may_write", "queued")

    def __init__(self) -> None:
        self.queued: list[tuple[Command, list[bytes]]] = []
        self.aborted = False
        self.may_write = False

    def queue(self, session: Session, command: Command, args: list[bytes]) -> None:
        """Holds back a command; one more of those that will not run need not be kept."""
        if not (self.aborted or session.flags & WATCH_BROKEN):
            self.queued.append((command, args))
            self.may_write |= may_write(session.engine, command, args)


class Session:
    """A client of the engine, from ``Engine.connect`` to ``Engine.disconnect``.

    Attributes:
        id: unique and rising; CLIENT ID.
        flags: what is special about it, those of ``client_flags``.
        db: the database it SELECTed.
        resp: the version of the protocol it speaks, 2 or 3.
        waiter: set while it is blocked; its input then stays unread.
        watched: the (database, key) pairs of WATCH.
        subscriptions: what it listens to, by the way in which it does; ways without any are not there.
        tracker: how it is told of changes to keys, if it is.
        replica: what it has told as a replica, if it has.
        reached: the offset of the stream of effects behind its last command, for WAIT.
        after_reply: the keyspace events that it is to hear of only behind the reply at hand.
        postponed: the command that CLIENT PAUSE holds up.
        batch: the bytes of the requests that were read together and are being run, for CLIENT LIST.
        outgoing: the pieces of what is to be sent when the tick ends.
    """

    is_script = False
    """Whether it stands for a script."""

    must_obey = False
    """Whether what it says was checked when it was new: it does again what a file says."""

    __slots__ = (
        "_late", "_pushed", "address", "after_reply", "batch", "created", "db", "descriptor", "engine",
        "flags", "id", "last_active", "last_command", "local_address", "name", "outgoing", "parser",
        "postponed", "reached", "replica", "resp", "subscriptions", "tracker", "transaction", "waiter",
        "watched",
    )  # fmt: skip

    def __init__(self, engine: Engine, number: int, parser: RequestParser, now: Instant) -> None:
        self.engine = engine
        self.id: int = number
        self.flags = UNAUTHENTICATED if engine.config["requirepass"] else 0
        self.parser: RequestParser = parser
        self.db: Database = engine.keyspace.databases[0]
        self.resp: int = 2
        self.name: bytes = b""
        self.address: bytes = b""
        self.local_address: bytes = b""
        self.descriptor: int = -1
        self.created: Instant = now
        self.last_active: Instant = now
        self.last_command: Command | None = None
        self.transaction: Transaction | None = None
        self.watched: set[tuple[int, bytes]] = set()
        self.waiter: Waiter | None = None
        self.subscriptions: dict[Kind, dict[bytes, None]] = {}
        self.tracker: Tracker | None = None
        self.replica: Replica | None = None
        self.reached = 0
        self.after_reply: frozenset[str] = NONE
        self.postponed: list[bytes] | None = None
        self.batch = 0
        self.outgoing: list[Output] = []
        self._late: list[Output] = []  # pushes that come behind the reply at hand
        self._pushed = 0  # bytes that answer nothing, since they were last weighed

    # Replies

    def reply(self, value: Reply) -> None:
        """Queues a reply to be sent when the tick ends; a replica, which gets none, is hung up on."""
        if value is NO_REPLY or self.flags & MUTE:
            return
        if self.flags & REPLICA:
            self.engine.hang_up(self)
            return
        self.outgoing.append(encode(value, self.resp))
        self.engine.outbox[self] = None

    def end_command(self, *, empty: bool = False) -> None:
        """A command is over: CLIENT REPLY SKIP moves on, and CLIENT CACHING has held for it.

        Args:
            empty: it was a request without any words, which counts as one here.
        """
        skips = SKIPS_REPLY if self.flags & SKIPS_NEXT else 0
        self.flags = self.flags & ~(SKIPS_REPLY | SKIPS_NEXT) | skips
        if self.tracker is not None and self.transaction is None:
            command = self.last_command
            if empty or command is None or not command.name.startswith(b"client|"):
                self.tracker.caching = False

    def push(self, data: Output, event: str = "") -> None:
        """Queues bytes that answer nothing, unless too much is queued: then it hangs up when the tick ends.

        Args:
            data: the bytes.
            event: the keyspace event that they tell of, if any.
        """
        if self.flags & CLOSING:
            return
        if self.flags & REPLICA:  # it must not listen as well
            self._give_up()
            return
        if event in self.after_reply:
            self._late.append(data)
        else:
            self.outgoing.append(data)
        self.engine.outbox[self] = None
        self._pushed += len(data)
        if self._pushed > FREE and self.engine.backlogs.is_far_too_long(self, self._pushed):
            self._pushed = self.outgoing_bytes  # what was sent counts no more
            if self.engine.backlogs.is_far_too_long(self, self._pushed):
                self._give_up()

    def _give_up(self) -> None:
        """The connection ends when the tick does."""
        self.flags |= CLOSING
        self.drop_output()
        self.engine.backlogs.give_up(self)

    def begin_reply(self, command: Command, args: list[bytes]) -> None:
        """Has some pushes wait until the reply to a request is queued."""
        self.after_reply = after_reply(command.name, args)

    def end_reply(self) -> None:
        """Queues those pushes."""
        self.after_reply = NONE
        self.outgoing += self._late
        self._late.clear()

    def listen(self) -> None:
        """It is told of what others do from now on."""
        self.flags |= LISTENS

    def is_redirected_to(self) -> None:
        """Another client has it hear in its place."""
        self.flags |= LISTENS | HEARS_FOR_OTHERS

    def listen_or_not(self) -> None:
        """It has ceased to listen in one way: it may be plain again."""
        if not (self.subscriptions or self.tracker or self.flags & HEARS_FOR_OTHERS):
            self.flags &= ~LISTENS

    def reset(self) -> None:
        """Becomes what it was when it was new, but for the reply at hand."""
        self.engine.stop_listening(self)
        self.db = self.engine.keyspace.databases[0]
        self.resp = 2
        self.leave_transaction()
        self.name = b""
        self.flags &= ~(MONITORS | REPLIES_OFF | SKIPS_NEXT)
        if self.engine.config["requirepass"]:
            self.flags |= UNAUTHENTICATED
        else:
            self.flags &= ~UNAUTHENTICATED

    @property
    def client(self) -> Session:
        """Who asked for what it runs."""
        return self

    @property
    def connected(self) -> bool:
        """Whether the server knows it still."""
        return not self.flags & GONE

    @property
    def closing(self) -> bool:
        """Whether nothing more is read from it, and it is to be hung up once its output is sent."""
        return bool(self.flags & CLOSING)

    @property
    def must_authenticate(self) -> bool:
        """A password is set, and it was not told."""
        return bool(self.flags & UNAUTHENTICATED and self.engine.config["requirepass"])

    @property
    def outgoing_bytes(self) -> int:
        """How many bytes are to be sent when the tick ends."""
        return sum(map(len, self.outgoing))

    def take_output(self) -> bytes:
        """All bytes that are to be sent; they are the caller's from now on."""
        return bytes(self.take_pieces())

    def take_pieces(self) -> Output:
        """The same, with large strings by reference."""
        output = joined(self.outgoing)  # a single piece as it is
        self.outgoing.clear()
        self.engine.statistics.output_bytes += len(output)
        return output

    def drop_output(self) -> None:
        """What was to be sent will not be."""
        self.outgoing.clear()
        self._late.clear()

    def close(self) -> None:
        """Reads no more, and hangs up once all replies are sent: never, where there are to be none."""
        self.flags |= CLOSING
        if not self.flags & MUTE:
            self.engine.outbox[self] = None

    @property
    def is_unix(self) -> bool:
        """Whether it came through a Unix socket."""
        return self.address.endswith(b":0")

    @property
    def is_local(self) -> bool:
        """Whether it came from this machine, as Redis knows it: not from 127.0.0.2, say."""
        return self.is_unix or self.address.startswith((b"127.0.0.1:", b"[::1]:"))

    # Effects

    def also_propagate(self, effect: Callable[..., list[bytes]], *about: Any) -> None:
        """The command at hand has one more effect: ``effect(*about)``, if anybody wants to know."""
        if self.engine.effects is not None:
            self.engine.effects.add(self.db.index, effect(*about))

    # Blocking

    def block(
        self,
        keys: Iterable[bytes],
        waits_for: type,
        serve: Callable[[Database, bytes, Any], Reply],
        timeout: int | None,
        when_over: Reply = NULL_ARRAY,
        when_gone: CommandError | None = None,
    ) -> NoReply:
        """Waits until one of the keys can serve this client.

        Args:
            keys: in the order of the command; repeated ones count once.
            waits_for: the type of value that serves it.
            serve: pops from the value, and returns the reply.
            timeout: milliseconds; None waits for ever.
            when_over: the reply when the time is over.
            when_gone: what it hears when one of the keys goes; None if it goes on waiting.
        """
        deadline = None if timeout is None else self.engine.now.monotonic + timeout * 1000
        distinct = tuple(dict.fromkeys(keys))
        self.flags |= BLOCKED
        self.waiter = Waiter(self, self.db.index, distinct, waits_for, serve, deadline, when_over, when_gone)
        self.engine.waiting.add(self.waiter)
        return NO_REPLY

    def unblock(self) -> None:
        """Waits no more."""
        self.waiter = None
        self.flags &= ~BLOCKED

    def resume(self) -> None:
        """Runs what it sent while it was blocked."""
        run_input(self)

    def hold(self, args: list[bytes]) -> None:
        """Waits for the end of a CLIENT PAUSE, to run this command then."""
        self.block((), type(None), serve_nobody, None)
        self.postponed = args
        self.flags |= POSTPONED

    def take_postponed(self) -> list[bytes] | None:
        """The command that was held up, once."""
        args, self.postponed = self.postponed, None
        self.flags &= ~POSTPONED
        return args

    @property
    def may_block(self) -> bool:
        """Not inside EXEC, where a command that would block answers as if its time were over."""
        return not self.flags & EXECUTING

    # WATCH

    def watch(self, key: bytes) -> None:
        """Makes the next EXEC depend on this key staying as it is."""
        self.db.has_expired(key)  # it is watched as missing then
        if (self.db.index, key) not in self.watched:
            self.watched.add((self.db.index, key))
            self.db.watch(key, self)

    def unwatch(self) -> None:
        """Forgets all watched keys, and that one has changed."""
        for index, key in self.watched:
            self.engine.keyspace.databases[index].unwatch(key, self)
        self.watched.clear()
        self.flags &= ~WATCH_BROKEN

    def begin_transaction(self) -> None:
        """MULTI: holds back the commands that follow."""
        self.transaction = Transaction()
        self.flags |= IN_MULTI

    def leave_transaction(self) -> None:
        """Forgets what MULTI held back, and what WATCH watched."""
        self.transaction = None
        self.flags &= ~IN_MULTI
        self.unwatch()

    def watched_key_changed(self) -> None:
        """The next EXEC will run nothing."""
        self.flags |= WATCH_BROKEN


def serve_nobody(_db: Database, _key: bytes, _value: object) -> Reply:
    """For who waits for no key."""
    raise AssertionError("a client that waits for no key is served by none")
