"""Several servers in one Trio program on one thread, which share a lock and a clock.

``ServerGroup`` starts, kills and restarts them; ``clusters.py`` and ``sentinels.py`` say what they are.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Self, TypeVar

import trio

from ..arguments import Seconds, as_microseconds, check_loop, checked_config, kind
from ..clock import ClockChoice, chosen, time_until
from ..engine import Engine
from ..environment import dial
from ..handle import Stoppable
from ..inprocess.local import LocalSocket
from ..launch import Launch
from ..server import LoopChoice, Server, run_server
from ..ticks.deadlines import advance_together
from ..ticks.re_entrance import check_can_wait, holds

if TYPE_CHECKING:
    import datetime as dt

    from ..engine import Instant
    from ..engine.environment import PeerConnection
    from ..network.listeners import Listener
    from ..ticks.tick_runner import TickRunner

__all__ = ["GroupedServer", "ServerGroup", "check_counts"]

T = TypeVar("T")
Member = TypeVar("Member", bound="GroupedServer")

GLANCE: Final = 0.0005
"""Seconds after which it is looked again whether replicas have come so far."""

PATIENCE: Final = 60
"""Seconds after which a replica that gets no further counts as stuck."""

MOST: Final = 1000
"""How many servers of a kind there can be: a larger number is a mistake, and would use up all descriptors."""

OWN: Final = ("port", "unixsocket", "tls_port", "replicaof", "cluster_enabled")
"""Directives that a group sets itself."""


class GroupedServer(Server):
    """A server of a group, which can be killed and restarted.

    Attributes:
        number: its place in the group.
    """

    group: ServerGroup[Any]

    def __init__(self, group: ServerGroup[Any], number: int) -> None:
        self.group = group
        self.number = number
        self.has_run = False
        self.ended = trio.Event()

    @property
    def is_up(self) -> bool:
        """Whether it runs."""
        return self.has_run and self._runner.is_open

    @property
    def master(self) -> GroupedServer | None:
        """The server whose replica it is; None if it has no master."""
        raise NotImplementedError

    def fast_forward(self, seconds: Seconds) -> None:
        """Moves the clock of the whole group forward: there is one for all."""
        self.group.fast_forward(seconds)

    def stop(self) -> None:
        """Ends this server at once, as the group's ``kill``; in a signal handler, as the group's ``stop``."""
        if holds(self._runner.lock):
            self.end()
        else:
            self.group.kill(self)

    # For its group

    @property
    def runner(self) -> TickRunner:
        """Runs its ticks."""
        return self._runner

    @property
    def lags(self) -> bool:
        """Whether it is a replica that does not have all data of its master, though both are up."""
        master = self.master
        if master is None or not (master.is_up and self.is_up):
            return False
        replication, theirs = self._runner.engine.replication, master._runner.engine.replication
        return replication.upstream.is_down or replication.history.offset < theirs.history.offset

    def begin(self, runner: TickRunner, listeners: list[Listener]) -> Self:
        """It starts, or starts again."""
        Server.__init__(self, runner, listeners)
        self.has_run, self.ended = True, trio.Event()
        return self

    def end(self) -> None:
        """Ends it; ``ended`` is set soon."""
        super().stop()

    def act(self, act: Callable[[], object]) -> None:
        """Does something in a tick of its own."""

        def tick(now: Instant) -> None:
            engine = self._runner.engine
            engine.advance(now)
            engine.attempt(None, act)

        self._runner.tick_with(tick)

    def read_arrived(self) -> None:
        """Runs all requests that have arrived."""
        for loop in self._runner.loops:
            loop.read_arrived()


class ServerGroup(Stoppable, Generic[Member]):
    """Some running servers. ``stop``, or leaving the ``with`` block, stops all of them.

    All methods may be called from any thread.
    """

    caller: ClassVar[str]

    def __init__(
        self,
        clock: ClockChoice,
        loop: LoopChoice,
        version: str | None,
        directives: Mapping[str, object],
    ) -> None:
        check_loop(self.caller, loop)
        for name in OWN:
            if name in directives:
                raise ValueError(f"{self.caller}(): {name} is different for each server, or set by itself")
        without_dir = {name: value for name, value in directives.items() if name != "dir"}
        checked_config(self.caller, without_dir, version=version)
        self._clock = chosen(clock)
        self._loop, self._version, self._directives = loop, version, directives
        self._lock = threading.RLock()
        self._servers: Sequence[Member] = ()
        self._nursery: trio.Nursery
        self._token: trio.lowlevel.TrioToken
        self._end = trio.Event()
        self._has_begun = False  # or failed to
        self._launch: Launch[None] = Launch(self._serve, f"miniredis {self.caller}")

    def wait_for_replicas(self) -> None:
        """Waits until each replica has all that its primary has, as far as both are up.

        Raises:
            TimeoutError: a replica gets no further.
        """
        self._call(self._catch_up)

    def kill(self, server: Member) -> None:
        """Ends a server at once."""
        self._check_is_own(server)
        self._call(self._kill, server)

    def restart(self, server: Member) -> None:
        """Starts a server that was killed, at the same port; raises ``ValueError`` if it is up."""
        self._check_is_own(server)
        if server.is_up:
            raise ValueError(f"{server!r} is up; kill it first")
        self._call(self._restart, server)

    def _check_is_own(self, server: Member) -> None:
        if server not in self._servers:
            raise ValueError(f"{server!r} is no server of this {self.caller}")

    @property
    def now(self) -> dt.datetime:
        """The time of all servers in UTC."""
        return self._servers[0].now

    def fast_forward(self, seconds: Seconds) -> None:
        """Moves the clock of all servers forward, as ``Server.fast_forward`` does that of one.

        When the call returns, replicas have what time has brought to their primaries.
        """
        self._call(self._advance, as_microseconds(seconds))

    def set_time(self, moment: dt.datetime) -> None:
        """Moves the clock of all servers forward to a date, as ``Server.set_time`` does that of one."""
        self.fast_forward(time_until("set_time", moment, self.now))

    def stop(self) -> None:
        """Stops all servers; returns when all sockets are closed. May be called more than once.

        In a signal handler that has interrupted a command of ``client()``, it does not wait for that.
        """
        try:
            self._token.run_sync_soon(self._end.set)
        except trio.RunFinishedError:
            return
        if threading.current_thread() is not self._launch.thread and not holds(self._lock):
            self._launch.thread.join()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {' '.join(each.public_url for each in self._servers)}>"

    # What kinds of groups do in their own way

    async def _form(self) -> None:
        """All servers have started: says what they are to each other."""
        raise NotImplementedError

    def _prepare(self, server: Member, engine: Engine) -> None:
        """A server is about to start, or to start again: no client has come yet."""

    def _is_down(self, server: Member) -> None:
        """A server has ended."""

    def _options(self, _: Member) -> dict[str, Any]:
        """The directives of a server."""
        return dict(self._directives)

    # On its own thread

    def _call(self, act: Callable[..., Awaitable[T]], *args: Any) -> T:
        check_can_wait(self._lock)
        try:
            return trio.from_thread.run(act, *args, trio_token=self._token)
        except (trio.RunFinishedError, trio.Cancelled):
            raise RuntimeError(f"the {self.caller} has stopped") from None

    def begin(self) -> Self:
        """Starts all servers; returns when clients can connect."""
        self._launch.run()
        return self

    async def _serve(self, task_status: Launch[None]) -> None:
        trouble: Exception | None = None
        self._token = trio.lowlevel.current_trio_token()
        async with trio.open_nursery() as self._nursery:
            try:
                for server in self._servers:
                    await self._start(server)
                await self._form()
                await self._catch_up()
            except Exception as error:  # raised below: the nursery would put it into an exception group
                trouble = error
            self._has_begun = True
            if trouble is None:
                task_status.started(None)
                await self._end.wait()
                for server in self._servers:
                    if server.master is not None:  # first, so that none looks for its master
                        server.end()
                        await server.ended.wait()
            self._nursery.cancel_scope.cancel()
        if trouble is not None:
            raise trouble

    async def _start(self, server: Member) -> None:
        options = self._options(server)
        if server.has_run:
            options["port"] = server.port
        if "dir" in options:
            options["dir"] = Path(options["dir"]) / f"node-{server.number}"
        config = checked_config(self.caller, options, version=self._version)
        engine = Engine(config, self._clock.now(), secrets.randbits(64))
        self._prepare(server, engine)
        await self._nursery.start(partial(self._run_one, server, engine))

    async def _run_one(self, server: Member, engine: Engine, task_status: Any) -> None:
        has_started = False

        def begin(runner: TickRunner, listeners: list[Listener]) -> Member:
            nonlocal has_started
            has_started = True
            return server.begin(runner, listeners)

        try:
            await run_server(
                engine.config,
                engine=engine,
                time_source=self._clock,
                loop=self._loop,
                handle=begin,
                lock=self._lock,
                dial=self._dial,
                task_status=task_status,
            )
        except OSError:
            if not self._has_begun or not has_started:
                raise  # else its log tells of it, and the others go on
        finally:
            if has_started:
                server.ended.set()
                self._is_down(server)

    async def _kill(self, server: Member) -> None:
        server.end()
        await server.ended.wait()

    async def _restart(self, server: Member) -> None:
        """Starts a server again, and lets the others know."""
        raise NotImplementedError

    async def _catch_up(self, *servers: Member) -> None:
        waiting = servers or self._servers
        await self._until(lambda: not any(server.lags for server in waiting), "did not get the data of")

    @staticmethod
    async def _until(condition: Callable[[], object], failed: str) -> None:
        """Waits for what becomes of a replica and its primary; ``TimeoutError`` says what it failed to do."""
        with trio.move_on_after(PATIENCE):
            while not condition():
                await trio.sleep(GLANCE)
            return
        raise TimeoutError(f"a replica {failed} its primary within {PATIENCE} s")

    async def _advance(self, microseconds: int) -> None:
        with self._lock:
            running = [server for server in self._servers if server.is_up]
            for server in running:
                server.read_arrived()
            advance_together(self._clock, [server.runner for server in running], microseconds)
            for server in running:
                server.runner.advance(0)
        await self._catch_up()

    def _dial(self, host: str, port: int, seconds: float) -> PeerConnection:
        """A connection to a server: those of the group answer at once, on the thread of the caller."""
        for server in self._servers:
            if server.is_up and server.port == port and host in {server.host, "localhost"}:
                if server.runner.in_tick:
                    break  # it calls itself, and gets no answer
                connection = LocalSocket(server.runner)
                connection.settimeout(0)
                return connection
        return dial(host, port, seconds)

    def _tell(self, server: Member, act: Callable[[Engine], object]) -> None:
        """Does something with a server's engine soon, unless it is down."""

        def act_if_up() -> None:
            if server.is_up:
                server.act(partial(act, server.runner.engine))

        self._token.run_sync_soon(act_if_up)


def check_counts(caller: str, counts: Mapping[str, tuple[object, int]]) -> None:
    """Raises an error unless each of these is a number that is not below the least one beside it.

    Raises:
        TypeError: it is no int.
        ValueError: it is too low or too high.
    """
    for name, (number, least) in counts.items():
        if not isinstance(number, int):
            raise TypeError(f"{caller}(): {name} must be an int, not {kind(number)}")
        if not least <= number <= MOST:
            raise ValueError(f"{caller}(): {name} must be from {least} to {MOST}, not {number}")
