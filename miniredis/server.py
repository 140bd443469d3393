"""A running server as its users hold it, and ``serve``, which runs one in a Trio program."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import platform
import resource
import secrets
import selectors
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, Self, TypeAlias

import trio

from .clock import ClockChoice, chosen
from .engine import Config, Engine, Facts
from .host import Host
from .listeners import Listener, open_listeners
from .poll import PollLoop
from .pollers import has_poller
from .scripting import new_interpreter
from .streams import StreamLoop, serve_stream

if TYPE_CHECKING:
    import redis.asyncio

__all__ = ["LoopChoice", "Server", "serve"]

LoopChoice: TypeAlias = Literal["poll", "streams"] | None

FURTHEST: Final = 10_000_000_000
"""Seconds that time may be moved by at once: about 317 years."""


class Started(Protocol):
    """Who wants the handle as soon as clients can connect; Trio's ``TaskStatus`` is one."""

    def started(self, server: Any, /) -> None:
        """Clients can connect."""


class Server:
    """A server that listens.

    Attributes:
        host: the address of its first listener, such as ``127.0.0.1``.
        port: its TCP port.
        url: both, as redis clients take them: ``redis://127.0.0.1:6379``.
        unixsocket: the path of its Unix socket; empty if it has none.
    """

    def __init__(self, host: Host, listeners: list[Listener]) -> None:
        tcp = next(listener for listener in listeners if not listener.is_unix)
        self.host = tcp.host
        self.port = tcp.port
        self.url = f"redis://[{tcp.host}]:{tcp.port}" if ":" in tcp.host else f"redis://{tcp.host}:{tcp.port}"
        self.unixsocket = next((each.host for each in listeners if each.is_unix), "")
        self._host = host
        self._take_in: Callable[[], None] = lambda: None
        self._token = trio.lowlevel.current_trio_token()
        self._scope = trio.CancelScope()

    def reset(self) -> None:
        """Removes every key, as FLUSHALL does; clients stay connected, and blocked ones blocked.

        May be called from any thread.
        """
        with self._host.lock:
            self._host.engine.reset(self._host.clock.now())

    @property
    def now(self) -> dt.datetime:
        """What time it is on this server, in UTC; TIME tells the same."""
        wall = self._host.clock.now().wall
        return dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(microseconds=wall)

    def fast_forward(self, seconds: float) -> None:
        """Makes it so much later on this server: for keys that expire, clients that wait, and TIME.

        What comes due on the way happens in order, each at its own moment. When it returns, the replies to
        all of that, and to whatever had arrived before the call, are on their way. On a server whose clock is
        not held, time goes on from there. May be called from any thread.

        Args:
            seconds: 0 or more, up to three centuries.

        Raises:
            ValueError: it is negative, too far, or not a number.
            RuntimeError: the server has stopped.
        """
        if not 0 <= seconds <= FURTHEST:
            raise ValueError(f"time goes forward, by 0 to {FURTHEST} seconds: not by {seconds}")
        microseconds = round(seconds * 1_000_000)
        if self._host.is_own_thread:
            self._advance(microseconds)
            return
        try:
            trio.from_thread.run_sync(self._advance, microseconds, trio_token=self._token)
        except trio.RunFinishedError:
            raise RuntimeError("the server has stopped") from None

    def _advance(self, microseconds: int) -> None:
        self._take_in()
        self._host.advance(microseconds)

    async def serve_stream(self, stream: trio.abc.Stream) -> None:
        """Serves one more client, over any stream of Trio's, until either side hangs up.

        That is how to serve TLS (a ``trio.SSLStream``), or a client of a test (one end of
        ``trio.testing.memory_stream_pair``), whose time may be a ``trio.testing.MockClock``'s. To be awaited
        in the Trio program that runs ``serve``.

        Raises:
            ConnectionRefusedError: the server has stopped.
        """
        await serve_stream(self._host, stream)

    def client(self, **options: Any) -> redis.Redis:
        """A redis-py client whose connections have no socket: each hands its bytes to the engine itself.

        All else is as over TCP: blocking commands, timeouts, several threads, RESP3. Commands run on the
        thread that asks for them; on the thread that runs the server, none may wait for another client.

        Args:
            options: as for ``redis.Redis``: ``db``, ``decode_responses``, ``protocol``, ``socket_timeout``...
        """
        from . import clients  # loads redis-py

        return clients.client(self._host, **options)

    def async_client(self, **options: Any) -> redis.asyncio.Redis:
        """As ``client``, for asyncio; it may wait on any thread.

        Args:
            options: as for ``redis.asyncio.Redis``.
        """
        from . import clients

        return clients.async_client(self._host, **options)

    def stop(self) -> None:
        """Hangs up on all clients and stops listening. May be called from any thread, and again."""
        self._host.engine.scripts.must_end = True
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._scope.cancel)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"

    async def _run(self, loop: PollLoop | StreamLoop, task_status: Started) -> None:
        self._take_in = loop.take_in
        try:
            task_status.started(self)
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(loop.run)
                    await self._host.run()
                    nursery.cancel_scope.cancel()
        finally:
            self._host.close()
            loop.close()


async def serve(
    config: Config | None = None,
    *,
    engine: Engine | None = None,
    clock: ClockChoice = None,
    loop: LoopChoice = None,
    alone: bool = False,
    handle: type[Server] = Server,
    task_status: Started = trio.TASK_STATUS_IGNORED,
    **directives: str | int,
) -> None:
    """Runs a server until it is cancelled or stopped: ``server = await nursery.start(miniredis.serve)``.

    Args:
        config: its directives, if they are at hand as such; ``nursery.start`` passes it on.
        engine: an engine of your own making, which brings its own ``config``.
        clock: where the time comes from: the machine's clocks if omitted; ``"held"`` for one that stands
            still until ``server.fast_forward``.
        loop: ``"poll"`` for one task that waits on all sockets at once, ``"streams"`` for a task per client;
            if omitted, the former where the platform has epoll or kqueue.
        alone: nothing else runs in this Trio program, so that the server may keep the thread for a
            millisecond at a time; it answers sooner then.
        handle: the class of the handle.
        task_status: hands a ``Server`` to ``nursery.start`` as soon as clients can connect.
        directives: redis-server's directives, with ``_`` for ``-``; the port is a free one unless given.

    Raises:
        ConfigurationError: a directive is unknown or takes no such value.
        OSError: it cannot listen there.
    """
    time_source = chosen(clock)
    config = config or (engine.config if engine else configure(directives))
    engine = engine or Engine(config, time_source.now(), secrets.randbits(64))
    with listening(config) as listeners:
        host = Host(engine, time_source)
        server = handle(host, listeners)
        engine.config.learn("port", str(server.port))
        engine.config.learn("dir", str(Path.cwd()))
        engine.facts = facts(server.port)
        engine.scripts.new_interpreter = new_interpreter
        # before the caller goes on: it may leave no descriptor for what the loop needs
        await server._run(new_loop(loop, host, listeners, alone=alone), task_status)


def new_loop(
    choice: LoopChoice, host: Host, listeners: list[Listener], *, alone: bool
) -> PollLoop | StreamLoop:
    if choice == "poll" or (choice is None and has_poller()):
        return PollLoop(host, listeners, alone=alone)
    return StreamLoop(host, listeners)


def configure(directives: dict[str, str | int]) -> Config:
    """The configuration of an embedded server: like redis-server's, but on a free port."""
    given = {name.replace("_", "-"): str(value) for name, value in directives.items()}
    return Config({"port": "0"} | given)


@contextlib.contextmanager
def listening(config: Config) -> Iterator[list[Listener]]:
    listeners = open_listeners(config)
    try:
        yield listeners
    finally:
        for listener in listeners:
            listener.close()


def facts(port: int) -> Facts:
    return Facts(
        pid=os.getpid(),
        port=port,
        executable=sys.executable,
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        memory=resident_memory,
        cpu=cpu_seconds,
        stopwatch=time.perf_counter,
        poller=selectors.DefaultSelector.__name__.removesuffix("Selector").lower(),
    )


def resident_memory() -> int:
    """Bytes of this process in memory; its peak where the system tells no more."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def cpu_seconds() -> tuple[float, float]:
    """How long this process has run, in the system and by itself."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_stime, usage.ru_utime
