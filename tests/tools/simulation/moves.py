"""A scenario as states and moves: who can do what, and what is the case then.

A state is a tuple of numbers, that of the server's state and those of the clients'. A move is somebody's:

``p``: the client p sends its next batch, and takes in what it is answered, now or when a wait is over.
``p~``: its wait, or its pause, ends without success. Time passes only when nobody can go on; in ``free`` time
any wait may end at any moment.
``p-role~``: its lease of a role runs out; at any moment.
``p!fault``: it sends its next batch, and something goes wrong (``FAULTS`` of ``actor``). Where those who fail
go on (``goes_on`` of ``scenario``) it has a new connection, or is started again, and does what comes next.
``p!cut-idle``: its connection is cut while it works on a message; it goes on over another one.
``p!moves``: it sends its next batch, and another server takes over, which knows of that, or
(``p!moves-before``) does not; all connections are lost.

To have another kind of move: a generator of moves, and its name in ``Game.moves``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from pressure.keys import Keys
from pressure.protocol import create

from .clients import Client, Failure, Local
from .contents import Contents
from .scenario import Deed, Member, Scenario, put
from .servers import Deliveries, Server, Servers

__all__ = ["Game", "Move", "State"]

State: TypeAlias = tuple[int, ...]
Move: TypeAlias = str

KEYS: Final = Keys.of("jobs")


class Game:
    """A scenario, state by state.

    Args:
        scenario: what goes on.
        scripts: whether the server runs scripts, and clients have it do so.
        free: whether a wait may end at any moment.
        exact: whether to tell all histories of a client apart.

    Attributes:
        servers: the states of the server.
        clients: the clients, each with its states.
        deeds: what is done by anybody.
        weak: whether only the weaker form of the invariant is asked for.
        is_repaired: whether one of them repairs or heals the queue while others work.
        start: the first state.
    """

    def __init__(
        self, scenario: Scenario, *, scripts: bool = False, free: bool = False, exact: bool = False
    ) -> None:
        self.scenario = scenario
        self.scripts = scripts
        self.free = free
        self.keys = KEYS
        self.names = [member.name for member in scenario.members]
        self.servers = Servers([*self.names, "before", "outside"], scripts=scripts)
        self.clients = [
            Client(member, KEYS, scripts=scripts, tries=scenario.tries, heal=scenario.goes_on, exact=exact)
            for member in scenario.members
        ]
        self._contents: dict[int, Contents] = {}
        self.deeds = [deed for member in scenario.members for deed in member.deeds]
        self.weak = not (scripts if scenario.strong is None else scenario.strong)
        repairs = any(deed.kind.startswith("repair") for deed in self.deeds)
        self.is_repaired = repairs or scenario.goes_on  # where they heal
        self.start: State = (self._set_up(), *(0 for _ in self.clients))

    def _set_up(self) -> int:
        if self.scenario.bound is None:
            return self.servers.hang_up(0, len(self.clients))[0]
        bound = self.scenario.bound
        made = Deed("create", lambda ctx, _: create(ctx, bound))
        server, _ = self.perform(0, made, *(put(value) for value in self.scenario.values), who="before")
        return self.servers.hang_up(server, len(self.clients))[0]

    def perform(self, server: int, *deeds: Deed, who: str = "outside", tries: int = 0) -> tuple[int, Client]:
        """Somebody does something while the others stand still; the server's state then, and theirs."""
        client = Client(
            Member(who, deeds), KEYS, scripts=self.scripts, tries=tries, heal=self.scenario.goes_on
        )
        me, at = len(self.clients) + (who == "outside"), 0
        while not (local := client.states[at]).over:
            replies = ()
            if local.commands is not None:
                server, deliveries = self.servers.send(server, me, local.commands)
                if me in self.servers.states[server].blocked:
                    server, deliveries = self.servers.end_wait(server, me)
                replies = dict(deliveries)[me]
            at = client.hear(at, replies)
        client.states.append(client.states[at])  # the last state is the last one
        return server, client

    # What can happen

    def moves(self, state: State) -> list[tuple[Move, State]]:
        """Everything that may happen next, and the state after it."""
        server = self.servers.states[state[0]]
        locals_ = [client.states[number] for client, number in zip(self.clients, state[1:], strict=True)]
        failed = server.faults + sum(local.dead or local.doomed for local in locals_)
        found: list[tuple[Move, State]] = []
        goes_on = self.scenario.goes_on
        for who, local in enumerate(locals_):
            if local.commands is None or local.dead or who in server.blocked:
                continue
            member = self.clients[who].member
            if member.later and not failed:
                continue
            found.append((member.name, self._sends(state, who, local)))
            if failed < self.scenario.faults and member.fails:
                found += self._mishaps(state, who, local) if goes_on else self._failures(state, who, local)
        if self.free or not found:
            found += self._time_passes(state, server, locals_)
        if server.leased:
            found += self._leases_run_out(state, server)
        return found

    def _sends(self, state: State, who: int, local: Local) -> State:
        assert local.commands is not None
        return self._after(state, *self.servers.send(state[0], who, local.commands))

    def _failures(self, state: State, who: int, local: Local) -> Iterator[tuple[Move, State]]:
        client, at, servers = self.clients[who], state[who + 1], self.servers
        commands, name = local.commands, client.member.name
        assert commands is not None
        told = _with(state, who, client.lose(at))
        died = _with(state, who, client.die(at))
        gone = servers.hang_up(state[0], who)
        yield f"{name}!dies-before", self._after(died, *gone)
        yield f"{name}!command-lost", self._after(told, *gone)
        whole = servers.cut(state[0], who, commands)
        yield f"{name}!dies-waiting", self._after(died, *whole)
        after, deliveries = servers.send(state[0], who, commands)
        if who in servers.states[after].blocked:
            yield f"{name}!reply-lost", self._after(_with(state, who, client.doom(at)), after, deliveries)
        else:
            yield f"{name}!reply-lost", self._after(told, *whole)
        for count in range(1, len(commands)):
            yield (
                f"{name}!cut-short-{count}",
                self._after(told, *servers.cut(state[0], who, commands[:count])),
            )

    def _mishaps(self, state: State, who: int, local: Local) -> Iterator[tuple[Move, State]]:
        """The same of one who goes on."""
        servers, commands, name = self.servers, local.commands, self.names[who]
        assert commands is not None
        gone = servers.hang_up(state[0], who)
        yield f"{name}!dies-before", self._goes_on(state, who, "started again", gone)
        yield f"{name}!command-lost", self._goes_on(state, who, "cut", gone)
        if local.idle and self.clients[who].member.deeds[len(local.results)].settles:
            yield f"{name}!cut-idle", self._goes_on(state, who, "cut idle", gone)
        whole = servers.cut(state[0], who, commands)
        yield f"{name}!dies-waiting", self._goes_on(state, who, "started again", whole)
        after, deliveries = servers.send(state[0], who, commands)
        if who in servers.states[after].blocked:
            doomed = _with(state, who, self.clients[who].doom(state[who + 1]))
            yield f"{name}!reply-lost", self._after(doomed, after, deliveries)
        yield f"{name}!connection-lost", self._goes_on(state, who, "cut", whole)
        for count in range(1, len(commands)):
            cut = servers.cut(state[0], who, commands[:count])
            yield f"{name}!cut-short-{count}", self._goes_on(state, who, "cut", cut)
        yield f"{name}!moves-before", self._moves(state, who, gone)
        yield f"{name}!moves", self._moves(state, who, whole)

    def _goes_on(self, state: State, who: int, failure: Failure, gone: tuple[int, Deliveries]) -> State:
        """The state when a client that is gone has a new connection."""
        return self._again(self._after(state, *gone), who, failure)

    def _again(self, state: State, who: int, failure: Failure, *, counts: bool = True) -> State:
        client = self.clients[who]
        number = client.go_on(state[who + 1], failure)
        server = self.servers.connect(state[0], who, client.states[number].connection)
        return _with((self.servers.fail(server) if counts else server, *state[1:]), who, number)

    def _moves(self, state: State, who: int, gone: tuple[int, Deliveries]) -> State:
        """The state when all have lost their connections, and go on."""
        after = self._after(state, *gone)
        others = [
            other
            for other, local in enumerate(self.locals(after))
            if other != who and not local.dead and (local.commands is not None or local.pauses)
        ]
        for other in others:
            server, deliveries = self.servers.hang_up(after[0], other)
            assert not deliveries, "who hangs up wakes nobody"
            after = (server, *after[1:])
        for other in others:
            failure: Failure = "cut idle" if self.clients[other].states[after[other + 1]].idle else "cut"
            after = self._again(after, other, failure, counts=False)
        return self._again(after, who, "cut")

    def _time_passes(
        self, state: State, server: Server, locals_: Sequence[Local]
    ) -> Iterator[tuple[Move, State]]:
        for who, local in enumerate(locals_):
            name = self.names[who]
            if who in server.blocked and not _waits_for_ever(local):
                yield f"{name}~", self._after(state, *self.servers.end_wait(state[0], who))
            elif local.pauses and not local.dead:
                yield f"{name}~", _with(state, who, self.clients[who].hear(state[who + 1], ()))

    def _leases_run_out(self, state: State, server: Server) -> Iterator[tuple[Move, State]]:
        for key, _ in server.leased:
            role = key.rpartition(b":")[2].decode()
            yield f"{role}~", self._after(state, *self.servers.expire(state[0], key))

    def _after(self, state: State, server: int, deliveries: Deliveries) -> State:
        """The state when everybody has taken in what they were answered."""
        numbers = [server, *state[1:]]
        for who, replies in deliveries:
            client, at = self.clients[who], numbers[who + 1]
            local = client.states[at]
            if local.dead:
                continue
            if not local.doomed:
                numbers[who + 1] = client.hear(at, replies)
                continue
            numbers[0], more = self.servers.hang_up(numbers[0], who)
            assert not more, "who hangs up wakes nobody"
            if self.scenario.goes_on:
                numbers = list(self._again(tuple(numbers), who, "cut"))
            else:
                numbers[who + 1] = client.lose(at)
        return tuple(numbers)

    # What is the case

    def has_died(self, server: int) -> bool:
        """Whether anybody has, in a state of the server."""
        now = self.servers.states[server]
        return now.faults > 0 or not all(now.connected[: len(self.clients)])

    def contents(self, server: int) -> Contents:
        """What is in the queue, in a state of the server."""
        if (known := self._contents.get(server)) is None:
            known = self._contents[server] = Contents(self.servers.states[server], KEYS)
        return known

    def is_over(self, state: State) -> bool:
        """Whether nobody will do anything more."""
        locals_ = self.locals(state)
        died = any(local.dead for local in locals_)
        return all(
            local.over or (client.member.later and not died)
            for client, local in zip(self.clients, locals_, strict=True)
        )

    def locals(self, state: State) -> list[Local]:
        """The clients' states."""
        return [client.states[number] for client, number in zip(self.clients, state[1:], strict=True)]

    def server(self, state: State) -> Server:
        """The server's state."""
        return self.servers.states[state[0]]


def _waits_for_ever(local: Local) -> bool:
    """Whether what it is blocked in has no timeout."""
    return local.commands is not None and local.commands[0][-1] in (0, b"0")


def _with(state: State, who: int, number: int) -> State:
    return (*state[: who + 1], number, *state[who + 2 :])
