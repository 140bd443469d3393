"""Clients of one engine, step by step: interleaved, killed or stopped as a schedule says, in held time.

A driver of ``pressure``'s operations without sockets, threads or clocks: the engine of miniredis is handed
what a client sends, and hands out what it is answered. Which client goes on next is asked of ``choose``, so
that the same choices give the same run, and all choices can be tried (``every_run``).

Time stands still while anybody can go on. When all wait, it moves on to where the first wait ends.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import hiredis

from miniredis import Engine
from miniredis.engine import Instant
from pressure.course import Course
from pressure.errors import ServerReplyError
from pressure.keys import Keys
from pressure.protocol import Context, Operation, Pause

__all__ = ["Actor", "Choose", "Simulation", "StuckError", "every_run", "operation", "seeded"]

Choose: TypeAlias = Callable[[int], int]
"""Picks one of so many, from 0 on."""

_SECOND: Final = 1_000_000
_pack: Final[Callable[[Any], bytes]] = hiredis.pack_command


class StuckError(Exception):
    """Nobody can go on, and time changes nothing; or it takes longer than anything should."""


def seeded(seed: int) -> Choose:
    """Choices that look random, and are the same for the same seed."""
    return random.Random(seed).randrange  # noqa: S311  (nothing here is secret)


def every_run(run: Callable[[Choose], None], limit: int = 100_000) -> int:
    """Runs something once for each way in which its choices can go; tells how often.

    Raises:
        StuckError: there are more ways than ``limit``.
    """
    path: list[int] = []
    for count in range(1, limit + 1):
        options: list[int] = []

        def choose(among: int, path: list[int] = path, options: list[int] = options) -> int:
            at = len(options)
            options.append(among)
            if at == len(path):
                path.append(0)
            return path[at]

        run(choose)
        del path[len(options) :]
        while path and path[-1] + 1 == options[len(path) - 1]:
            path.pop()
        if not path:
            return count
        path[-1] += 1
    raise StuckError(f"more than {limit} runs")


class Actor:
    """A client: operations of its own, one after the other, over a connection of its own.

    Attributes:
        name: as its identifier and its connection have it.
        results: what its operations returned, or the errors that they raised, in order.
        steps: how many steps it has been carried out.
    """

    def __init__(self, simulation: Simulation, name: str) -> None:
        self._simulation = simulation
        self._todo: list[Callable[[Context], Operation[Any]]] = []
        self._course: Course[Any] | None = None
        self._awaited = 0  # replies that are to come
        self._until: float | None = None  # when a pause is over
        self._reader = hiredis.Reader(replyError=ServerReplyError, notEnoughData=self)
        self._replies: list[Any] = []
        self.name = name
        self.results: list[Any] = []
        self.steps = 0
        self.alive = True
        self.session = simulation.connect(name)
        self.context = Context(
            simulation.keys, f"{name}:1/main/{0:08x}".encode(), simulation.seconds, slice=1.0
        )

    def will(self, *operations: Callable[[Context], Operation[Any]]) -> Actor:
        """Gives it more to do."""
        self._todo += operations
        return self

    @property
    def is_done(self) -> bool:
        """Whether there is nothing more that it will do."""
        return not self.alive or (self._course is None and not self._todo)

    @property
    def can_go_on(self) -> bool:
        """Whether it waits for nothing."""
        if self.is_done:
            return False
        if self._until is not None:
            return self._simulation.seconds() >= self._until
        return len(self._replies) == self._awaited

    def go_on(self) -> None:
        """Takes the replies that it has, and sends its next step."""
        try:
            if self._course is None:
                self._course = Course(self._todo.pop(0)(self.context), "simulation")
            else:
                self._advance(self._course)
            self._send(self._course)
        except Exception as error:
            self._over(error)

    def _advance(self, course: Course[Any]) -> None:
        replies, self._replies, self._awaited, self._until = self._replies, [], 0, None
        course.advance(replies)

    def _send(self, course: Course[Any]) -> None:
        step = course.step
        if step is None:
            self._over(course.result)
        elif isinstance(step, Pause):
            self._until = self._simulation.seconds() + step.seconds
        else:
            self.steps += 1
            self._awaited = len(step.commands)
            self._simulation.send(self, course.packed(step))

    def _over(self, result: Any) -> None:
        self._course = None
        self.results.append(result)

    def stop(self, wish: BaseException) -> None:
        """Throws an exception into its operation in place of a step that waits, which is broken off."""
        course = self._course
        assert course is not None
        assert course.waits
        if self._until is None:
            self._simulation.unblock(self)
        self._replies, self._awaited, self._until = [], 0, None
        try:
            course.stop(wish)
            self._send(course)
        except BaseException as error:
            self._over(error)

    def kill(self) -> None:
        """It dies: its connection is gone, and it does nothing any more."""
        self.alive = False
        self._simulation.disconnect(self)

    def hear(self, data: bytes) -> None:
        """Bytes of the server."""
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not self:
            self._replies.append(reply)


class Simulation:
    """A server, its clients, and its time.

    Args:
        choose: picks who goes on.
        name: of the queue.
    """

    def __init__(self, choose: Choose, name: str = "jobs") -> None:
        self.choose = choose
        self.keys = Keys.of(name)
        self.actors: list[Actor] = []
        self._now = Instant(_SECOND, 0)
        self._engine = Engine(now=self._now)
        self._of: dict[Any, Actor] = {}

    def seconds(self) -> float:
        """The time."""
        return self._now.monotonic / _SECOND

    def connect(self, name: str) -> Any:
        """A connection that carries a name."""
        session = self._engine.connect(self._now)
        self._engine.receive(session, _pack(("CLIENT", "SETNAME", f"{name}:1")), self._now)
        session.take_output()
        return session

    def actor(self, name: str) -> Actor:
        """A new client."""
        made = Actor(self, name)
        self.actors.append(made)
        self._of[made.session] = made
        return made

    def do(self, operation: Callable[[Context], Operation[Any]]) -> Any:
        """Has a client of its own do something at once, while the others stand still; its result."""
        made = Actor(self, f"extra{self._now.monotonic}")
        self._of[made.session] = made
        made.will(operation)
        while not made.is_done:
            if not made.can_go_on:
                self._let_time_pass([made])
            made.go_on()
        made.kill()
        (result,) = made.results
        if isinstance(result, Exception):
            raise result
        return result

    def ask(self, *words: bytes | str | int) -> Any:
        """One command, and its reply."""
        session = self._engine.connect(self._now)
        reader = hiredis.Reader(replyError=ServerReplyError)
        self._engine.receive(session, _pack(words), self._now)
        self._hand_out()
        reader.feed(session.take_output())
        self._engine.disconnect(session, self._now)
        return reader.gets()

    def send(self, actor: Actor, data: bytes) -> None:
        """Bytes of a client."""
        self._engine.receive(actor.session, data, self._now)
        self._hand_out()

    def unblock(self, actor: Actor) -> None:
        """Breaks a client's wait off; what it would have been answered is dropped."""
        self.ask("CLIENT", "UNBLOCK", actor.session.id)

    def disconnect(self, actor: Actor) -> None:
        """A client is gone."""
        self._engine.disconnect(actor.session, self._now)
        self._hand_out()

    def step(self) -> bool:
        """Lets one client go on, or time pass; False when all are done."""
        left = [actor for actor in self.actors if not actor.is_done]
        if not left:
            return False
        ready = [actor for actor in left if actor.can_go_on]
        if not ready:
            self._let_time_pass(left)
            return True
        ready[self.choose(len(ready)) if len(ready) > 1 else 0].go_on()
        return True

    def run(self, limit: int = 100_000) -> None:
        """Lets all do all they will.

        Raises:
            StuckError: they do not come to an end.
        """
        for _ in range(limit):
            if not self.step():
                return
        raise StuckError(f"not done in {limit} steps")

    def pass_time(self, seconds: float) -> None:
        """Moves time on."""
        microseconds = int(seconds * _SECOND)
        self._now = Instant(self._now.wall + microseconds, self._now.monotonic + microseconds)
        self._hand_out()

    def _let_time_pass(self, waiting: list[Actor]) -> None:
        due = [until * _SECOND for actor in waiting if (until := actor._until) is not None]
        if (deadline := self._engine.next_deadline()) is not None:
            due.append(deadline)
        if not due:
            raise StuckError("all wait for ever: " + ", ".join(actor.name for actor in waiting))
        self.pass_time(max(min(due) - self._now.monotonic, 1) / _SECOND)

    def _hand_out(self) -> None:
        for session in self._engine.settle(self._now):
            if (actor := self._of.get(session)) is not None:
                actor.hear(session.take_output())


def operation(function: Callable[..., Operation[Any]], *args: Any, **options: Any) -> Any:
    """What an actor ``will``: an operation of ``pressure.protocol``, with what follows its context."""
    return partial(_begun, function, args, options)


def _begun(
    function: Callable[..., Operation[Any]], args: tuple[Any, ...], options: dict[str, Any], context: Context
) -> Operation[Any]:
    return function(context, *(arg(context) if callable(arg) else arg for arg in args), **options)
