"""The flavours of ``pressure`` as clients under test: those with coroutines are made synchronous.

Coroutines run on a loop that has a thread of its own, all those that come from one thread in one task: as a
client is a thread to the synchronous flavour, it is a task to the others.

To judge another flavour, add a row to ``MAKERS``.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from functools import cache, partial
from importlib import import_module
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    import trio

    from .judged import Client

__all__ = ["FLAVOURS", "MAKERS"]

Work: TypeAlias = tuple[Callable[[], Awaitable[Any]], "Future[Any]"]
Inbox: TypeAlias = Callable[[Work], None]


class Host(ABC):
    """A loop on a thread of its own."""

    def __init__(self) -> None:
        self._inboxes: dict[int, Inbox] = {}
        self._up = threading.Event()
        threading.Thread(target=self._run, name="flavours", daemon=True).start()
        self._up.wait()

    @abstractmethod
    def _run(self) -> None:
        """Runs the loop; sets ``_up``."""

    @abstractmethod
    def _inbox(self) -> Inbox:
        """Starts a task that does what it is handed, and returns what hands it something."""

    @abstractmethod
    async def aside(self, work: Callable[[], Any]) -> Any:
        """Runs a function on a thread, where it may have this loop do something."""

    def do(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Has the task of this thread do something, and waits for it."""
        future: Future[Any] = Future()
        me = threading.get_ident()
        if me not in self._inboxes:
            self._inboxes[me] = self._inbox()
        self._inboxes[me]((work, future))
        return future.result()


async def done(work: Work) -> None:
    """Does some work, and says how it ended."""
    what, future = work
    try:
        future.set_result(await what())
    except BaseException as error:  # whoever waits for it is told
        future.set_exception(error)


class AsyncioHost(Host):
    """asyncio's."""

    def _run(self) -> None:
        asyncio.run(self._live())

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._up.set()
        await asyncio.Event().wait()

    async def aside(self, work: Callable[[], Any]) -> Any:
        """Asyncio's way."""
        return await asyncio.to_thread(work)

    def _inbox(self) -> Inbox:
        box: asyncio.Queue[Work] = asyncio.Queue()
        self._loop.call_soon_threadsafe(lambda: self._tasks.add(self._loop.create_task(self._serve(box))))

        def hand_in(work: Work) -> None:
            self._loop.call_soon_threadsafe(box.put_nowait, work)

        return hand_in

    async def _serve(self, box: asyncio.Queue[Work]) -> None:
        while True:
            await done(await box.get())


class TrioHost(Host):
    """Trio's."""

    def _run(self) -> None:
        import trio

        trio.run(self._live)

    async def _live(self) -> None:
        import trio

        self._token = trio.lowlevel.current_trio_token()
        async with trio.open_nursery() as self._nursery:
            self._up.set()
            await trio.sleep_forever()

    async def aside(self, work: Callable[[], Any]) -> Any:
        """Trio's way."""
        import trio

        return await trio.to_thread.run_sync(work)

    def _inbox(self) -> Inbox:
        import trio

        hand_in, box = trio.open_memory_channel[Work](1)
        self._token.run_sync_soon(self._nursery.start_soon, self._serve, box)
        return lambda work: self._token.run_sync_soon(hand_in.send_nowait, work)

    async def _serve(self, box: trio.MemoryReceiveChannel[Work]) -> None:
        async for work in box:
            await done(work)


class Synchronous:
    """A queue with coroutines, with methods instead; what it calls back, its first argument, is a function.

    Args:
        host: runs them.
        make: makes the queue.
    """

    def __init__(self, host: Host, make: Callable[[], Any]) -> None:
        self._host = host
        self._queue = make()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._queue, name)
        if not callable(method):
            return method
        if name in {"receive", "take"}:
            return lambda *args, **options: Block(self._host, method(*args, **options))
        return lambda *args, **options: self._host.do(lambda: method(*map(self._given, args), **options))

    def _given(self, argument: Any) -> Any:
        """A function as a coroutine function that runs it on a thread; a queue as what it stands for."""
        if isinstance(argument, Synchronous):
            return argument._queue
        if not isinstance(argument, FunctionType | MethodType):
            return argument
        return lambda *args: self._host.aside(lambda: argument(*args))


class Block:
    """An asynchronous context manager as a synchronous one."""

    def __init__(self, host: Host, block: Any) -> None:
        self._host = host
        self._block = block

    def __enter__(self) -> Any:
        return self._host.do(self._block.__aenter__)

    def __exit__(self, *error: object) -> None:
        self._host.do(lambda: self._block.__aexit__(*error))


@cache
def shared(loop: type[Host]) -> Host:
    """The loop of a kind that all queues share."""
    return loop()


def maker(package: str, loop: type[Host] | None = None, **settings: Any) -> Callable[..., Any]:
    """What makes queues of a package; with a loop, of one with coroutines.

    Args:
        package: its name. It is imported when the first queue is made.
        loop: what its coroutines run on.
        settings: of all queues.
    """

    def make(kind: str, *args: Any, **options: Any) -> Any:
        queue = partial(getattr(import_module(package), kind), *args, **options | settings)
        return queue() if loop is None else Synchronous(shared(loop), queue)

    return make


MAKERS: Final[Mapping[str, Callable[..., Any]]] = {
    "sync": maker("pressure"),
    "plain": maker("pressure", scripts=False),
    "aio": maker("pressure.aio", AsyncioHost),
    "trio": maker("pressure.trio", TrioHost),
}
"""What makes queues of each flavour, of the kind that is named first; by the flavour's name."""

FLAVOURS: Final[Mapping[str, Client]] = {name: partial(make, "Queue") for name, make in MAKERS.items()}
"""What makes clients of each flavour, by the flavour's name."""
