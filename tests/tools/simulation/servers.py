"""Every state of the server that is reached, as a value, and what a client's commands make of it.

A state is whatever of an engine the clients could notice: values, who waits for what and in which order, who
watches what, who is connected. It is numbered; from a number the engine is put into that state again, so that
nothing has to be run from the beginning, and each step from each state is computed once.

Nothing here takes time. A wait ends when somebody says so, and a key with a lease expires when somebody says
so; to the server it is always the same moment.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeAlias

import hiredis

from miniredis import Engine
from miniredis.engine import Config, Environment, Instant
from miniredis.engine.clients.client_flags import WATCH_BROKEN
from miniredis.scripting import new_interpreter
from pressure.errors import ServerReplyError
from pressure.protocol import Command
from pressure.protocol.lua import CLOSE, GET, PUT, SETTLE

from .scenario import connection_of, process_of

__all__ = ["Deliveries", "Refusal", "Server", "Servers", "Value", "frozen", "thawed"]

NOW: Final = Instant(100_000_000, 100_000_000)  # up for longer than any doubt lasts
_pack: Final[Callable[[Any], bytes]] = hiredis.pack_command

Value: TypeAlias = "bytes | tuple[bytes, ...]"
Deliveries: TypeAlias = tuple[tuple[int, tuple[Any, ...]], ...]
"""Who was answered, and what: replies as values that can be compared; see ``thawed``."""


class Refusal(NamedTuple):
    """An error as a reply."""

    text: str


def thawed(reply: Any) -> Any:
    """A reply as an operation is sent it."""
    if type(reply) is Refusal:
        return ServerReplyError(reply.text)
    return [thawed(each) for each in reply] if type(reply) is tuple else reply


def frozen(reply: Any) -> Any:
    """A reply as it can be compared."""
    if isinstance(reply, ServerReplyError):
        return Refusal(str(reply))
    return tuple(map(frozen, reply)) if isinstance(reply, list) else reply


@dataclass(frozen=True, slots=True)
class Server:
    """A state.

    Attributes:
        values: each key, and its string or its list from left to right.
        leased: the keys that expire, and after how many milliseconds.
        waiting: who is blocked, and what it sent; of those for one key the first comes first.
        watched: of each client the keys it watches; None if one of them has changed.
        connected: of each client the name of its connection; empty if it has none.
        faults: how often something has failed of those who go on.
    """

    values: tuple[tuple[bytes, Value], ...]
    leased: tuple[tuple[bytes, int], ...]
    waiting: tuple[tuple[int, tuple[Command, ...]], ...]
    watched: tuple[frozenset[bytes] | None, ...]
    connected: tuple[bytes, ...]
    faults: int = 0
    blocked: frozenset[int] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocked", frozenset(who for who, _ in self.waiting))


class Servers:
    """All states that were reached.

    Args:
        names: of the clients; the last one looks on from outside.
        scripts: whether the server runs scripts; it has seen ours before.

    Attributes:
        states: by their numbers; the first is that of an empty server to which all are connected.
    """

    def __init__(self, names: Sequence[str], *, scripts: bool) -> None:
        self.states: list[Server] = []
        self._faults = 0
        self._numbers: dict[Server, int] = {}
        self._steps: dict[tuple[Any, ...], tuple[int, Deliveries]] = {}
        environment = Environment(new_interpreter=new_interpreter if scripts else None)
        self._engine = Engine(Config({"databases": "1"}), Instant(0, 0), environment=environment)
        self._sessions: list[Any] = [None] * len(names)
        self._sent: dict[int, tuple[Command, ...]] = {}
        if scripts:
            self._load()
        count = len(names)
        connected = tuple(connection_of(process_of(name)) for name in names)
        self.number(Server((), (), (), (frozenset(),) * count, connected))

    def _load(self) -> None:
        session = self._engine.connect(NOW)
        for script in (PUT, GET, SETTLE, CLOSE):
            self._engine.receive(session, _pack((b"SCRIPT", b"LOAD", script.text)), NOW)
        self._engine.disconnect(session, NOW)

    def number(self, state: Server) -> int:
        """The number of a state."""
        known = self._numbers.setdefault(state, len(self.states))
        if known == len(self.states):
            self.states.append(state)
        return known

    # Steps, each computed once

    def send(self, state: int, who: int, commands: tuple[Command, ...]) -> tuple[int, Deliveries]:
        """A client sends commands; the state after it, and who is answered."""
        return self._step(state, Servers._send, who, commands)

    def cut(self, state: int, who: int, commands: tuple[Command, ...]) -> tuple[int, Deliveries]:
        """A client sends commands, and is gone before any of them is answered."""
        return self._step(state, Servers._cut, who, commands)

    def hang_up(self, state: int, who: int) -> tuple[int, Deliveries]:
        """A client is gone."""
        return self._step(state, Servers._hang_up, who)

    def connect(self, state: int, who: int, name: bytes) -> int:
        """A client that is gone has a new connection."""
        return self._step(state, Servers._connect, who, name)[0]

    def fail(self, state: int) -> int:
        """One more failure is counted."""
        now = self.states[state]
        return self.number(replace(now, faults=now.faults + 1))

    def end_wait(self, state: int, who: int) -> tuple[int, Deliveries]:
        """The time of a client's wait is over."""
        return self._step(state, Servers._end_wait, who)

    def expire(self, state: int, key: bytes) -> tuple[int, Deliveries]:
        """The time of a key is over."""
        return self._step(state, Servers._expire, key)

    def _step(self, state: int, work: Callable[..., None], *args: Any) -> tuple[int, Deliveries]:
        key = (state, work, *args)
        if (known := self._steps.get(key)) is None:
            self._enter(self.states[state])
            work(self, *args)
            deliveries = tuple(self._hand_out())
            known = self._steps[key] = self.number(self._look()), deliveries
        return known

    def _send(self, who: int, commands: tuple[Command, ...]) -> None:
        self._sent[who] = commands
        self._engine.receive(self._sessions[who], b"".join(map(_pack, commands)), NOW)

    def _cut(self, who: int, commands: tuple[Command, ...]) -> None:
        self._send(who, commands)
        self._engine.settle(NOW)
        self._hang_up(who)

    def _hang_up(self, who: int) -> None:
        self._engine.disconnect(self._sessions[who], NOW)
        self._sessions[who] = None

    def _connect(self, who: int, name: bytes) -> None:
        self._sessions[who] = self._engine.connect(NOW)
        self._sessions[who].name = name

    def _end_wait(self, who: int) -> None:
        session = self._sessions[who]
        self._engine.unblock(session, session.waiter.reply_when_over())

    def _expire(self, key: bytes) -> None:
        self._engine.keyspace.databases[0].expire(key)

    # Between a state as a value and the engine

    def _enter(self, state: Server) -> None:
        engine = self._engine
        engine.reset(NOW)
        self._faults = state.faults
        for who, session in enumerate(self._sessions):
            if session is not None and session.waiter is not None:
                self._hang_up(who)
            elif session is not None:
                session.unwatch()
        for who, connected in enumerate(state.connected):
            if self._sessions[who] is None and connected:
                self._connect(who, connected)
            elif self._sessions[who] is not None and not connected:
                self._hang_up(who)
            elif connected:
                self._sessions[who].name = connected
        for who, commands in state.waiting:  # while there is nothing that they could get
            self._send(who, commands)
        db, leased = engine.keyspace.databases[0], dict(state.leased)
        for key, value in state.values:
            db.values[key] = deque(value) if isinstance(value, tuple) else value
            if key in leased:
                db.set_deadline(key, NOW.wall // 1000 + leased[key])
        for session, keys in zip(self._sessions, state.watched, strict=True):
            for key in keys or ():
                session.watch(key)
            if keys is None:
                session.watched_key_changed()
        engine.settle(NOW)

    def _look(self) -> Server:
        db = self._engine.keyspace.databases[0]
        live = [(who, session) for who, session in enumerate(self._sessions) if session is not None]
        watched: list[frozenset[bytes] | None] = [frozenset()] * len(self._sessions)
        for who, session in live:
            if not session.flags & WATCH_BROKEN:
                watched[who] = frozenset(key for _, key in session.watched)
            else:
                watched[who] = None
        return Server(
            tuple((key, _as_value(value)) for key, value in sorted(db.values.items())),
            tuple((key, when - NOW.wall // 1000) for key, when in sorted(db.deadlines.items())),
            tuple((who, self._sent[who]) for who in self._in_line()),
            tuple(watched),
            tuple(b"" if session is None else session.name for session in self._sessions),
            self._faults,
        )

    def _in_line(self) -> Iterator[int]:
        """Who waits: always the first by number of those behind whom all their keys' queues stand."""
        number = {session: who for who, session in enumerate(self._sessions) if session is not None}
        lines = [
            [number[waiter.session] for waiter in line]
            for database in self._engine.keyspace.databases
            for kinds in database.waiters.values()
            for line in kinds.values()
        ]
        left = sorted({who for line in lines for who in line})
        while left:
            who = next(each for each in left if all(each not in line[1:] for line in lines))
            left.remove(who)
            lines = [[each for each in line if each != who] for line in lines]
            yield who

    def _hand_out(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        self._engine.settle(NOW)
        for who, session in enumerate(self._sessions):
            if session is not None and (data := session.take_output()):
                yield who, tuple(self._replies(who, data))

    def _replies(self, who: int, data: bytes) -> Iterator[Any]:
        reader = hiredis.Reader(replyError=ServerReplyError, notEnoughData=self)
        reader.feed(data)
        for command in self._sent[who]:
            reply = reader.gets()
            assert reply is not self, "a reply is missing"
            yield self._shown(command, reply)

    def _shown(self, command: Command, reply: Any) -> Any:
        """A reply without what is this engine's and not the state's: the numbers of connections."""
        if command[0] == b"CLIENT" and command[1] == b"ID":
            return next(who for who, each in enumerate(self._sessions) if each and each.id == reply)
        if command[0] == b"CLIENT" and command[1] == b"LIST":
            return b"".join(
                b"id=%d name=%s\n" % (who, each.name) for who, each in enumerate(self._sessions) if each
            )
        if command[0] == b"INFO":
            return b"\r\n".join(re.findall(rb"(?:uptime_in_seconds|role|master_replid2):[^\r]*", reply))
        return frozen(reply)


def _as_value(value: Any) -> Value:
    return tuple(value) if isinstance(value, deque) else bytes(value)
