"""The server of a simulation, and its time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import hiredis

from miniredis import Engine
from miniredis.engine import Environment, Instant
from miniredis.scripting import new_interpreter
from pressure.errors import ServerReplyError
from pressure.keys import Keys
from pressure.protocol import Context, Operation

from .actor import Actor
from .choices import Choose, StuckError
from .scenario import connection_of, process_of

__all__ = ["Simulation", "held", "operation"]

_SECOND: Final = 1_000_000
_pack: Final[Callable[[Any], bytes]] = hiredis.pack_command


class Simulation:
    """A server, its clients, and its time.

    Args:
        choose: picks who goes on.
        name: of the queue.
        scripts: whether the server runs scripts, and clients have it do so.
        lease: for how many seconds clients take roles.
    """

    def __init__(
        self,
        choose: Choose,
        name: str = "jobs",
        *,
        scripts: bool = False,
        lease: float | None = None,
    ) -> None:
        self.choose = choose
        self.scripts = scripts
        self.lease = lease
        self.keys = Keys.of(name)
        self.actors: list[Actor] = []
        self._now = Instant(_SECOND, 0)
        environment = Environment(new_interpreter=new_interpreter if scripts else None)
        self._engine = Engine(now=self._now, environment=environment)
        self._of: dict[Any, Actor] = {}

    def seconds(self) -> float:
        """The time."""
        return self._now.monotonic / _SECOND

    def connect(self, name: str) -> Any:
        """A connection that carries a name."""
        session = self._engine.connect(self._now)
        self._engine.receive(
            session, _pack(("CLIENT", "SETNAME", connection_of(process_of(name)))), self._now
        )
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
            if made.can_go_on:
                made.go_on()
            else:
                self._let_time_pass([made])
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


def held(context: Context) -> bytes:
    """The id of the hold by which a client has received a message: its only hold that lives."""
    (hold_id,) = context.holds._live
    return hold_id


def _begun(
    function: Callable[..., Operation[Any]], args: tuple[Any, ...], options: dict[str, Any], context: Context
) -> Operation[Any]:
    return function(context, *(arg(context) if callable(arg) else arg for arg in args), **options)
