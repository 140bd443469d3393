"""A server on a thread of this process, for programs that do not run on Trio."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from functools import partial
from typing import Any

import trio

from .clock import ClockChoice
from .engine import Engine
from .server import LoopChoice, Server, serve

__all__ = ["EmbeddedServer", "start"]


class EmbeddedServer(Server):
    """A server with a thread of its own; leaving its ``with`` block stops both."""

    _thread: threading.Thread

    def stop(self) -> None:
        """Stops the server, and waits until its thread, sockets and files are gone."""
        super().stop()
        if threading.current_thread() is not self._thread:
            self._thread.join()


def start(
    *,
    engine: Engine | None = None,
    clock: ClockChoice = None,
    loop: LoopChoice = None,
    **directives: str | int,
) -> EmbeddedServer:
    """Starts a server on a free port of 127.0.0.1, and returns when clients can connect.

    ``with miniredis.start() as server:`` stops it at the end; so does ``server.stop()``. What it holds is in
    memory only. Bound to other addresses than 127.0.0.1 (``bind="0.0.0.0"``), it serves clients of other
    machines only with a password (``requirepass``), or ``protected_mode="no"``.

    It leaves the signals and the limits of its host as they are. Where ``maxclients`` is more than this
    process has file descriptors for, a client that comes when there is none left is refused, as one too many.

    Args:
        engine: an engine of your own making.
        clock: where the time comes from: the machine's clocks if omitted; ``"held"`` for one that stands
            still until ``server.fast_forward``.
        loop: ``"poll"`` for one task that waits on all sockets at once, ``"streams"`` for a task per client;
            if omitted, the former where the platform has epoll or kqueue.
        directives: redis-server's directives, with ``_`` for ``-``: ``port=6379``, ``databases=4``...

    Raises:
        ConfigurationError: a directive is unknown or takes no such value.
        OSError: it cannot listen there.
    """
    launch = Launch()
    options = directives | {
        "engine": engine,
        "clock": clock,
        "loop": loop,
        "alone": True,
        "handle": EmbeddedServer,
        "task_status": launch,
    }
    thread = threading.Thread(target=launch.run, args=(options,), name="miniredis", daemon=True)
    thread.start()
    try:
        server = launch.server.result()
    except BaseException:
        thread.join()
        raise
    server._thread = thread
    return server


class Launch:
    """Carries the handle, or why there is none, from the server's thread to the one that waits for it."""

    def __init__(self) -> None:
        self.server: Future[EmbeddedServer] = Future()

    def started(self, server: EmbeddedServer) -> None:
        """Clients can connect."""
        self.server.set_result(server)

    def run(self, options: dict[str, Any]) -> None:
        """The thread's life."""
        try:
            trio.run(partial(serve, **options))
        except BaseException as error:
            if self.server.done():
                raise
            self.server.set_exception(error)
