"""A server on a thread of this process, for programs that do not run on Trio."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Unpack

from .arguments import Keywords, check_loop, checked_config
from .clock import ClockChoice, chosen
from .engine import Engine
from .launch import Launch
from .server import LoopChoice, Server, serve
from .ticks.re_entrance import holds

if TYPE_CHECKING:
    from .network.listeners import Listener
    from .ticks.tick_runner import TickRunner

__all__ = ["EmbeddedServer", "start"]


class EmbeddedServer(Server):
    """A ``Server`` that runs on a thread of its own; ``start`` makes it.

    ``stop``, or leaving its ``with`` block, ends the server and its thread.
    """

    def __init__(self, runner: TickRunner, listeners: list[Listener]) -> None:
        super().__init__(runner, listeners)
        self._thread = threading.current_thread()

    def stop(self) -> None:
        """Closes all connections and stops listening; waits until the thread has ended.

        Its sockets and the file of its Unix socket are gone then. May be called from any thread, and more
        than once. In a signal handler that has interrupted a command of ``client()``, it does not wait: the
        server stops after that command.
        """
        super().stop()
        if threading.current_thread() is not self._thread and not holds(self._runner.lock):
            self._thread.join()


def start(
    *,
    engine: Engine | None = None,
    clock: ClockChoice = None,
    loop: LoopChoice = None,
    version: str | None = None,
    **directives: Unpack[Keywords],
) -> EmbeddedServer:
    """Starts a server on a thread of this process; returns when clients can connect.

    It listens on a free port of 127.0.0.1, and keeps its data in memory; with ``dir`` also on disk::

        with miniredis.start() as server:  # leaving the block stops it, as server.stop() does
            client = redis.Redis(host=server.host, port=server.port)
            client.set("greeting", "hello")

    ``dir`` alone stands for ``appendonly="yes"`` and ``appendfsync="always"``: what was answered is on the
    disk, and the next ``start`` with this directory loads it. The directory is made if it is not there. With
    ``appendonly``, ``save`` or ``dbfilename`` as well, these say what is kept, and it must be there.

    Clients of other machines can connect with ``bind="0.0.0.0"`` and a password (``requirepass="..."``);
    without a password only with ``protected_mode=False``, as with redis-server.

    The server changes neither the signal handlers of this process nor its limit on open files. When no file
    is left for one more client, that client is refused, as if ``maxclients`` were reached.

    Args:
        engine: an engine that you made yourself, with its own directives.
        clock: where the server's time comes from. None: the machine's clocks, also in a test that replaces
            the functions of ``time``. ``"follow"``: the date and time that such a test sees. ``"held"``: a
            clock that stands still until ``server.fast_forward(seconds)``. ``HeldClock(...)``: the same, from
            a time of your choice.
        loop: how the server waits for its clients. ``"poll"``: one task for all sockets, the faster one.
            ``"streams"``: a task for each client. None: ``"poll"`` where the platform has epoll or kqueue.
        version: what the server answers as, such as ``"7.2"`` or ``"valkey-8.1"``; VERSIONS.md has the list.
            None: 7.0.
        directives: redis-server's directives, with ``_`` for ``-``, and values as in redis.conf:
            ``port=6379`` (a free one if omitted), ``bind="127.0.0.1 -::1"`` (several words in one str),
            ``unixsocket="/tmp/redis.sock"``, ``requirepass="secret"``, ``databases=4``, ``maxclients=100``,
            ``notify_keyspace_events="KEA"``. True and False mean ``yes`` and ``no``. Of a directive whose
            feature miniredis does not have, such as ``maxmemory``, only the value that turns it off is
            accepted.

    Raises:
        TypeError: a keyword is neither a parameter nor a directive, or a value has a wrong type.
        ConfigurationError: a directive does not accept the value that it was given (a ``ValueError``).
        ValueError: there is no such ``clock``, ``loop`` or ``version``.
        DamagedFileError: the data on disk cannot be loaded.
        BlockingIOError: another server, of this process or another one, keeps its data in this directory.
        OSError: the server cannot listen where it was told to, for example as the port is in use; or the disk
            fails.
    """
    check_loop("start", loop)
    config = checked_config("start", directives, engine=engine, version=version)
    launch: Launch[EmbeddedServer] = Launch(
        partial(
            serve,
            config=None if engine else config,
            engine=engine,
            clock=chosen(clock),
            loop=loop,
            alone=True,
            handle=EmbeddedServer,
        )
    )
    return launch.run()
