"""What a check has at hand: connections to one server, clients under test, and ways to wait for a state."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any, Final, Self, TypeVar

import redis

from pressure.keys import SUFFIXES

from ..clients.flavours import FLAVOURS, MAKERS
from ..clients.judged import Client, Judged
from ..failure import Broken, Failure, Unsupported, exactly, expect, expect_error
from ..targets import Address
from ..wire import Hangup, RawConnection
from ..wire.gate import Gate
from . import running
from .limits import pauses
from .running import Running

__all__ = [
    "Broken",
    "Environment",
    "Failure",
    "Running",
    "Unsupported",
    "answered",
    "exactly",
    "expect",
    "expect_error",
]

T = TypeVar("T")
Resource = TypeVar("Resource", bound=AbstractContextManager[Any])

MOMENT: Final = 0.05
"""Seconds in which a client blocks on a server that does not tell that it has."""


@contextmanager
def answered(command: str) -> Iterator[None]:
    """A command of the suite's own: a server that does not answer or know it breaks no clause by that."""
    try:
        yield
    except redis.TimeoutError:
        raise Broken(f"the server did not answer the suite's {command} in {running.PATIENCE:.0f} s") from None
    except redis.ResponseError as error:
        if "unknown command" in str(error).lower():
            raise Broken(f"the suite's own {command}: {error}") from None
        raise


class Environment:
    """What one check works with; leaving it removes the check's keys and closes its connections.

    Attributes:
        address: the server.
        redis: a redis-py client, to look at keys and to act as another client of the queue.
        prefix: what all keys of this check start with.
        client: makes the clients that are judged.
        of_kinds: options of all queues of a kind, by the kind's name.
    """

    def __init__(self, address: Address, client: Client) -> None:
        self.address = address
        self.of_kinds: dict[str, dict[str, Any]] = {}
        self.prefix = f"conformance:{uuid.uuid4().hex[:12]}"
        self.client = client
        self._resources = ExitStack()
        self._running: list[Running[Any]] = []
        self._clients: list[Judged] = []
        self._connections: list[RawConnection] = []
        self._keys: set[str] = set()
        self.redis: redis.Redis = redis.Redis.from_url(
            address.url,
            protocol=2,
            socket_timeout=running.PATIENCE,
            retry=None,  # what is lost is to be seen
        )
        self._blocked_before: int | None = 0

    def __enter__(self) -> Self:
        self._resources.callback(self.redis.close)
        self._resources.callback(self._remove_keys)
        try:
            with answered("INFO"):
                self._blocked_before = self._blocked()
        except BaseException:
            self.redis.close()
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Failure) and "unknown command" not in str(error).lower():
            error.args = ("; ".join([str(error), *self._unknown_commands()]),)
        self._resources.close()
        for work in self._running:  # nobody may have waited for it yet
            if work.done() and isinstance(unsupported := work.exception(), Unsupported):
                raise unsupported

    def _unknown_commands(self) -> list[str]:
        """Commands of the check that the server does not know, which may be why it failed."""
        for connection in self._connections:
            with suppress(OSError, Hangup, ValueError):  # the reply of one that was to wait is not read yet
                if not connection.is_silent():
                    connection.reply()
        return list(dict.fromkeys(each for connection in self._connections for each in connection.unknown))

    def _remove_keys(self) -> None:
        with answered("KEYS or DEL"):
            try:
                keys: Any = self.redis.keys(f"{self.prefix}*")
            except redis.ResponseError:  # it has no KEYS, or does not let everybody use it
                self._remove_named_keys()
            else:
                if keys:
                    self.redis.delete(*keys)

    def _remove_named_keys(self) -> None:
        """Removes the keys that the check has named, and those of queues with such a name."""
        suffixes = [suffix.decode() for suffix in SUFFIXES.values()]
        if keys := [name + suffix for name in [*self._keys] for suffix in suffixes]:
            with suppress(redis.ResponseError):  # nor has it DEL; the names of what is left are random
                self.redis.delete(*keys)

    # Who talks to the server

    def connect(self) -> RawConnection:
        """A connection for raw bytes, closed at the check's end."""
        to = self.address
        made = RawConnection(to.host, to.port, to.db, to.password, to.user)
        self._connections.append(made)
        return self._resources.enter_context(made)

    def using(self, resource: Resource) -> Resource:
        """Enters a context manager, which the check's end leaves."""
        self._resources.enter_context(resource)
        return resource

    def queue(self, name: str = "jobs") -> Judged:
        """A client that is judged; each call makes another one."""
        return self._judged(name, self.address.url)

    def _judged(self, name: str, url: str) -> Judged:
        self.key(name)
        made = self.client(name, url=url, prefix=self.prefix)
        self._resources.callback(made.disconnect)
        self._clients.append(made)
        return made

    @property
    def flavour(self) -> str:
        """The flavour under test if it is one of ours, else ``sync``."""
        return next((name for name, made in FLAVOURS.items() if made is self.client), "sync")

    def ours(self, name: str | bytes, **settings: object) -> Any:
        """A client with settings of its own, ours or the foreign one; the caller's to disconnect."""
        if self.foreign:
            foreign: Any = self.client
            return foreign(name, **settings)
        client: Any = self.client if self.client in FLAVOURS.values() else FLAVOURS["sync"]
        return client(name, **settings)

    def kind(self, kind: str, name: str = "jobs", **options: Any) -> Any:
        """A queue of another kind, of the flavour under test if it is one of ours, in this check's corner.

        Raises:
            Unsupported: the client is not one of ours.
        """
        if self.foreign:
            raise Unsupported(f"not supported by the client: {kind}")
        settings = {"url": self.address.url, "key": self.key(name), **self.of_kinds.get(kind, {}), **options}
        made = MAKERS[self.flavour](kind, name, **settings)
        self._resources.callback(made.disconnect)
        return made

    def gated_kind(self, kind: str, **options: Any) -> tuple[Any, Gate]:
        """The same, its way to the server a gate; it has connected already."""
        gate = self._resources.enter_context(Gate(self.address))
        made = self.kind(kind, url=gate.url, **options)
        getattr(made, "info" if kind == "ReliableQueue" else "length")()
        return made, gate

    def gated(self, name: str = "jobs") -> tuple[Judged, Gate]:
        """A client under test whose way to the server is a gate; it has connected already."""
        gate = self._resources.enter_context(Gate(self.address))
        made = self._judged(name, gate.url)
        made.exists()
        return made, gate

    @property
    def foreign(self) -> bool:
        """Whether the client under test is another program."""
        return getattr(self.client, "foreign", False)

    def created(self, bound: int = 0) -> Judged:
        """A client under test of a queue that has just been created."""
        made = self.queue()
        made.create(bound)
        return made

    @property
    def other_database(self) -> int:
        """The number of a database beside the one that is used; most servers have 16."""
        return self.address.db - 1 if self.address.db else 1

    def key(self, name: str) -> str:
        """A key of this check's own."""
        self._keys.add(key := f"{self.prefix}:{name}")
        return key

    def queue_key(self, suffix: str = "") -> str:
        """One of the keys of the queue ``jobs``: ``:bound``, ``:producer_free``..., or the list itself."""
        return self.key(f"jobs{suffix}")

    # Waiting

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Waits until a condition holds; fails with ``what`` if it never does."""
        for _ in pauses(running.PATIENCE):
            if condition():
                return
        raise Failure(f"never {what}")

    def until_done(self, all_of: Sequence[Running[Any]], progress: Callable[[], object]) -> None:
        """Waits for all of them as long as there is progress; ``finish`` tells who is not done then."""
        seen: object = self  # no progress looks like that
        while not all(each.done() for each in all_of) and (now := progress()) != seen:
            seen = now
            for _ in pauses(running.PATIENCE):
                if all(each.done() for each in all_of) or progress() != seen:
                    break

    def until_blocked(self, count: int, unless: Callable[[], bool] = bool) -> None:
        """Waits until so many clients of this check are blocked, or ``unless`` holds.

        A server that does not count them gets a moment for each.
        """
        if self._blocked_before is None:
            time.sleep(MOMENT)
        else:
            self.until(lambda: unless() or self.blocked() == count, f"were {count} clients blocked")

    def blocked(self) -> int | None:
        """How many clients of this check are blocked; None where the server does not count them."""
        if self._blocked_before is None:
            return None
        return (self._blocked() or 0) - self._blocked_before

    def _blocked(self) -> int | None:
        try:
            info: Any = self.redis.info("clients")
        except redis.ResponseError as error:
            if "unknown command" in str(error).lower():
                return None
            raise
        blocked: int = info["blocked_clients"]
        return blocked

    def start_blocked(self, work: Callable[[], T]) -> Running[T]:
        """Starts an operation that is to wait; returns when its client, and no other, is blocked."""
        waiting = self.start(work)
        self.until_blocked(1)
        return waiting

    def start(self, work: Callable[[], T]) -> Running[T]:
        """Runs something on a thread of its own, such as an operation that is to wait."""
        self._running.append(Running(work, self._unanswered))
        return self._running[-1]

    def _unanswered(self) -> dict[str, float]:
        """The requests that other programs have not answered yet, and for how many seconds."""
        clients: list[Any] = self._clients if self.foreign else []
        return {name: seconds for each in clients for name, seconds in each.unanswered()}
