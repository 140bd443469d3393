"""``Server``, the handle of a running server, and ``serve``, which runs a server in a Trio program."""

from __future__ import annotations

import contextlib
import datetime as dt
import secrets
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, Unpack

import trio

from .arguments import (
    Keywords,
    Seconds,
    as_microseconds,
    check_is_trio,
    check_loop,
    checked_config,
    kind,
)
from .clock import Clock, ClockChoice, chosen_in_run
from .engine import Config, ConfigurationError, Engine
from .environment import dial, this_process
from .handle import Handle, ServerAddress
from .network.forks import leave_to_parent_on_fork
from .network.listeners import Listener, listening
from .network.poll_loop import PollLoop
from .network.pollers import has_poller
from .network.stream_loop import StreamLoop, serve_stream
from .persistence.damage import DamagedFileError
from .replication.link import MasterLink
from .testing.fault_handles import Faults
from .testing.inspection import Inspected
from .ticks.loading import load_files
from .ticks.re_entrance import check_can_wait
from .ticks.tick_runner import HAS_STOPPED, TickRunner

if TYPE_CHECKING:
    import asyncio

    import redis.asyncio

    from .engine.environment import Dial

__all__ = ["LoopChoice", "Server", "StoppedWhileLoadingError", "serve"]

LoopChoice: TypeAlias = Literal["poll", "streams"] | None


class Started(Protocol):
    """Receives the ``Server`` as soon as clients can connect; Trio's ``TaskStatus`` does."""

    def started(self, server: Any, /) -> None:
        """Called once, when clients can connect."""


class StoppedWhileLoadingError(RuntimeError):
    """The server was stopped before it had loaded its data."""

    def __init__(self) -> None:
        super().__init__("the server was stopped while it loaded its data")


class Server(Handle, Inspected):
    """A running server: its address, its clock, and its clients without sockets.

    ``start`` and ``serve`` create it. ``stop``, or leaving its ``with`` block, stops the server.

    Attributes:
        host: the address for clients on this machine: the first one of ``bind``, or ``127.0.0.1`` where that
            is ``0.0.0.0``, and ``::1`` where it is ``::``; empty if the server has only a Unix socket.
        port: the TCP port; 0 if the server has only a Unix socket.
        tls_port: the TCP port for TLS; 0 if the server has no certificate.
        unixsocket: the path of its Unix socket; empty if it has none.
        faults: what goes wrong on demand: rules for requests; see ``miniredis.faults``.
    """

    def __init__(self, runner: TickRunner, listeners: list[Listener]) -> None:
        tcp = next((listener for listener in listeners if not listener.is_unix), None)
        host, port = (tcp.reachable_host, tcp.port) if tcp else ("", 0)
        tls_port = next((each.port for each in listeners if each.tls), 0)
        unixsocket = next((each.host for each in listeners if each.is_unix), "")
        super().__init__(ServerAddress(host, port, tls_port, unixsocket))
        self.faults = Faults(runner)
        self._runner = runner
        self._token = trio.lowlevel.current_trio_token()
        self._scope = trio.CancelScope()
        self._link = MasterLink(runner)

    def _password(self) -> str:
        return self._runner.engine.config["requirepass"]

    @property
    def failure(self) -> OSError | None:
        """The disk error that stopped the server, or that lost its last writes at the end; None otherwise."""
        return self._runner.failure

    def reset(self) -> None:
        """Removes every key of every database, as FLUSHALL does.

        Clients stay connected, and blocked clients stay blocked, except those in XREADGROUP, which get an
        error. When the call returns, the server has sent these errors, and messages to clients that track
        keys. May be called from any thread, and has no effect on a server that has stopped.

        Raises:
            RuntimeError: a script has been running for longer than ``busy-reply-threshold``; this process was
                forked from the server's; or a signal handler called this in the middle of a command.
        """
        runner = self._runner
        runner.check_is_here()
        with runner.lock:
            if runner.is_open:
                runner.act_between_commands(runner.engine.reset)

    @property
    def now(self) -> dt.datetime:
        """The server's time in UTC, as the command TIME answers it."""
        wall = self._runner.clock.now().wall
        return dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(microseconds=wall)

    def fast_forward(self, seconds: Seconds) -> None:
        """Moves the server's clock forward: keys expire, blocked clients time out, TIME answers the new time.

        All events that are due on the way happen in order, each at its own time. When the call returns, the
        server has sent the replies to these clients, and to every command that had arrived before. A clock
        that is not held runs on from the new time. May be called from any thread::

            server.fast_forward(60)  # a minute

        Args:
            seconds: from 0 to 10,000,000,000 (about 317 years); fractions count, down to a microsecond. Or a
                ``datetime.timedelta``.

        Raises:
            TypeError: ``seconds`` is neither a number nor a timedelta.
            ValueError: ``seconds`` is negative, too large, or NaN: time cannot be moved back.
            RuntimeError: the server has stopped, or runs in the process that this one was forked from; or a
                signal handler called this in the middle of a command.
        """
        microseconds = as_microseconds(seconds)
        self._runner.check_is_here()
        check_can_wait(self._runner.lock)
        if self._runner.is_own_thread:
            self._advance(microseconds)
            return
        try:
            trio.from_thread.run_sync(self._advance, microseconds, trio_token=self._token)
        except trio.RunFinishedError:
            raise RuntimeError(HAS_STOPPED) from None

    def _advance(self, microseconds: int) -> None:
        with self._runner.looked_into():
            for loop in self._runner.loops:
                loop.read_arrived()
            self._runner.advance(microseconds)

    async def serve_stream(self, stream: trio.abc.Stream) -> None:
        """Serves one more client over a Trio stream; returns when either side closes the connection.

        Use it for TLS (a ``trio.SSLStream``), or for a test without sockets (one end of
        ``trio.testing.memory_stream_pair()``), which may run on a ``trio.testing.MockClock``. Await it in the
        Trio program that runs ``serve``.

        Raises:
            ConnectionRefusedError: the server has stopped.
            RuntimeError: the server runs in another Trio program, such as the thread that ``start`` begins.
            TypeError: ``stream`` is not a Trio stream.
        """
        if not isinstance(stream, trio.abc.Stream):
            raise TypeError(f"serve_stream() takes a trio.abc.Stream, not {kind(stream)}")
        if self._runner.is_open and not self._runner.is_own_thread:
            raise RuntimeError(
                "serve_stream() must be awaited in the Trio program that runs the server, and this server "
                "runs on another thread; run it with 'await nursery.start(miniredis.serve)' instead"
            )
        await serve_stream(self._runner, stream)

    def client(self, **options: Any) -> redis.Redis:
        """A ``redis.Redis`` client that reaches this server without a socket, which is faster than TCP.

        Everything else is as over TCP: blocking commands, timeouts, pipelines, several threads, RESP3. A
        command runs on the thread that calls it::

            with server.client(decode_responses=True) as client:
                client.set("greeting", "hello")

        It authenticates with the server's password, unless ``username``, ``password`` or
        ``credential_provider`` is given.

        On the thread that runs the server itself (in a Trio program that uses ``serve``), a command that has
        to wait for another client raises ``RuntimeError`` instead of waiting forever. When the server has
        stopped, commands raise ``redis.ConnectionError``.

        Args:
            options: those of ``redis.Redis`` that do not say where the server is: ``db``,
                ``decode_responses``, ``protocol``, ``socket_timeout``, ``password``...

        Raises:
            TypeError: an option is unknown, or says where the server is (``host``, ``port``...).
        """
        from .inprocess import clients  # loads redis-py

        return clients.client(self._runner, **options)

    def async_client(self, **options: Any) -> redis.asyncio.Redis:
        """A ``redis.asyncio.Redis`` client that reaches this server without a socket.

        It is as ``client``, except that its commands may wait on any thread.

        Args:
            options: those of ``redis.asyncio.Redis`` that do not say where the server is.

        Raises:
            TypeError: an option is unknown, or says where the server is (``host``, ``port``...).
        """
        from .inprocess import clients

        return clients.async_client(self._runner, **options)

    def new_event_loop(self, threshold: float = 0) -> asyncio.AbstractEventLoop:
        """An event loop of asyncio whose time is the server's, and jumps while all tasks wait.

        So an hour takes milliseconds, whether a task sleeps or a command blocks. The server's clock is best
        held::

            with asyncio.Runner(loop_factory=server.new_event_loop) as runner:
                runner.run(main())

        Args:
            threshold: seconds of real time for which the loop waits for threads and sockets before the time
                jumps. 0 is enough for tasks that use ``async_client`` alone.
        """
        from .inprocess.jumping_loop import JumpingLoop  # loads asyncio

        return JumpingLoop(self, self._runner, threshold)

    def stop(self) -> None:
        """Closes all connections and stops listening.

        May be called from any thread, and more than once. In a process that was forked from the server's it
        has no effect.
        """
        if not self._runner.is_open:
            return  # another server may use the engine by now
        self._runner.engine.scripts.must_end = True
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._scope.cancel)

    async def _run(self, task_status: Started) -> None:
        leave_to_parent_on_fork(self._runner)
        has_started = False
        trouble: Exception | None = None
        with self._scope:
            async with self._serving() as nursery:
                try:
                    has_started = await load_files(self._runner)
                except (ConfigurationError, DamagedFileError, OSError) as error:
                    trouble = error  # raised below: a nursery would put it into an exception group
                if has_started:
                    task_status.started(self)
                    nursery.start_soon(self._link.run)
                    await self._runner.run()
        if trouble := trouble or self.failure:
            raise trouble
        if not has_started:
            raise StoppedWhileLoadingError

    @contextlib.asynccontextmanager
    async def _serving(self) -> AsyncIterator[trio.Nursery]:
        """Serves clients meanwhile; at the end they get their last replies before the loops end."""
        clients = trio.CancelScope(shield=True)

        async def run() -> None:
            with clients:
                async with trio.open_nursery() as each:
                    for loop in self._runner.loops:
                        each.start_soon(loop.run)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            try:
                yield nursery
            finally:
                try:
                    self._link.stop()
                    self._runner.close()
                finally:  # else the clients' tasks would go on for ever
                    clients.cancel()
                    nursery.cancel_scope.cancel()


async def serve(
    config: Config | None = None,
    *,
    engine: Engine | None = None,
    clock: ClockChoice = None,
    loop: LoopChoice = None,
    alone: bool = False,
    handle: type[Server] = Server,
    version: str | None = None,
    task_status: Started = trio.TASK_STATUS_IGNORED,
    **directives: Unpack[Keywords],
) -> None:
    """Runs a server in a Trio program, until it is stopped or cancelled.

    ``nursery.start`` returns the ``Server`` as soon as clients can connect and the data on disk are loaded::

        async with trio.open_nursery() as nursery:
            server = await nursery.start(miniredis.serve)
            print(server.url)
            server.stop()

    ``nursery.start`` passes no keywords on; for directives use ``functools.partial(miniredis.serve,
    port=6379)``. Outside Trio use ``start``.

    Args:
        config: all directives at once, instead of ``directives``; its port is 6379 by default.
        engine: an engine that you made yourself, which brings its own ``config``.
        clock: where the server's time comes from. None: the machine's clocks, or the ``MockClock`` on which
            the Trio program runs. ``"held"``: a clock that stands still until
            ``server.fast_forward(seconds)``. ``HeldClock(...)``: the same, from a time of your choice.
        loop: how the server waits for its clients. ``"poll"``: one task for all sockets, the faster one.
            ``"streams"``: a task for each client. None: ``"poll"`` where the platform has epoll or kqueue.
        alone: whether nothing else runs in this Trio program. If so, the server may keep the thread for 10
            milliseconds at a time, and answers sooner.
        handle: the class of the ``Server``, for subclasses.
        version: what the server answers as, such as ``"7.2"`` or ``"valkey-8.1"``; VERSIONS.md has the list.
            None: 7.0.
        task_status: given by ``nursery.start``.
        directives: redis-server's directives, with ``_`` for ``-``, with the same meaning as for ``start``.

    Raises:
        TypeError: a keyword is neither a parameter nor a directive, or a value has a wrong type.
        ConfigurationError: a directive does not accept the value that it was given (a ``ValueError``).
        ValueError: there is no such ``clock``, ``loop`` or ``version``.
        DamagedFileError: the file with the data cannot be loaded.
        OSError: the server cannot listen on an address, for example because the port is in use.
        RuntimeError: no Trio program runs here; or the server was stopped while it loaded its data.
    """
    check_is_trio()
    check_loop("serve", loop)
    time_source = chosen_in_run(clock)
    config = checked_config("serve", directives, config, engine, version)
    await run_server(
        config,
        engine=engine,
        time_source=time_source,
        loop=loop,
        alone=alone,
        handle=handle,
        task_status=task_status,
    )


async def run_server(
    config: Config,
    *,
    engine: Engine | None = None,
    time_source: Clock,
    loop: LoopChoice = None,
    alone: bool = False,
    handle: Callable[[TickRunner, list[Listener]], Server] = Server,
    lock: threading.RLock | None = None,
    dial: Dial = dial,
    task_status: Started = trio.TASK_STATUS_IGNORED,
) -> None:
    """Does what ``serve`` does, without checking the arguments; servers may share a lock."""
    engine = engine or Engine(config, time_source.now(), secrets.randbits(64))
    with listening(config) as listeners:
        engine.config.learn("dir", str(Path(engine.config["dir"]).absolute()))
        runner = TickRunner(engine, time_source, this_process()._replace(dial=dial), lock)
        server = handle(runner, listeners)
        engine.config.learn("port", str(server.port))
        engine.config.learn("tls-port", str(server.tls_port))
        try:
            # create the loops before the caller continues, who may use up all file descriptors
            add_loops(loop, runner, listeners, alone=alone)
            await server._run(task_status)
        finally:
            for each in runner.loops:
                each.close()


def add_loops(choice: LoopChoice, runner: TickRunner, listeners: list[Listener], *, alone: bool) -> None:
    """Makes the loops of the listeners: those for TLS have one of streams, since Trio does the TLS."""
    plain = [each for each in listeners if not each.tls]
    secured = [each for each in listeners if each.tls]
    if choice == "streams" or (choice is None and not has_poller()):
        StreamLoop(runner, listeners)
        return
    PollLoop(runner, plain, alone=alone and not secured)
    if secured:
        StreamLoop(runner, secured)
