"""A client as somebody would write it from one of the documents alone, to be the other side of a queue.

It sends the commands of the document's reference pseudocode one by one, corrected only where those cannot run
or the prose says otherwise:

* ``BRPOP`` and ``LPUSH`` get the timeout and the value that the pseudocode leaves out.
* ``RPOP consumer_free 0`` would pop nothing; it loses the ``0``. ``RPOP queue closed 0`` is two commands.
* The counters are under ``:stats:``.
* ``:not_full`` is reduced to one element, as the prose of both has it; 0.1's pseudocode leaves two.
* A role goes back on every way out; so does the consumer's when it hears of a close. The mark that told it of
  the close is not put back, as nobody asks for that.
* Get refills ``:not_full`` only if the queue is below its bound; by 0.1 it always does.

It waits for ever where the document does. It is nobody's idea of a good client.

Where the editions part is in ``Edition``; to have another, make one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self

import redis

__all__ = ["FIRST", "LATER", "MOVING", "Edition", "Gone", "Shut", "Textbook"]

SLICE: Final = 0.05
"""Seconds for which a client waits that cannot wait for a close at the same time."""


@dataclass(frozen=True, slots=True)
class Edition:
    """Which document a client was written from, and what it made of what it may.

    Attributes:
        name: for people.
        overfills: whether a Put may skip ``:not_full``.
        always_refills: whether a Get refills ``:not_full`` however long the queue still is.
        moves: whether a Get is one BRPOPLPUSH onto ``:not_full``, which then holds values and grows. It is
            on one list alone, so that it waits in slices and looks for a close between them.
    """

    name: str
    overfills: bool = True
    always_refills: bool = False
    moves: bool = False


FIRST: Final = Edition("0.1", overfills=False, always_refills=True)
LATER: Final = Edition("0.15")
MOVING: Final = Edition("0.15 by BRPOPLPUSH", moves=True)


class Gone(Exception):  # noqa: N818  (what the document calls QueueDoesNotExistError)
    """There is no such queue."""


class Shut(Exception):  # noqa: N818  (what the document calls QueueClosedError)
    """The queue is closed."""


class Textbook:
    """One client of one queue.

    Args:
        url: the server.
        key: prefix and name of the queue.
        edition: which document it is from.
        name: the client's identifier.
    """

    def __init__(self, url: str, key: str, edition: Edition = LATER, name: str = "textbook") -> None:
        self._key = key
        self._edition = edition
        self._name = name
        self._redis: Any = redis.Redis.from_url(url, protocol=2, retry=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._redis.close()

    def create(self, bound: int) -> None:
        """Create; it is an error to create what exists, which nobody here does."""
        ask, key = self._redis, self._key
        assert ask.setnx(f"{key}:bound", bound)
        for suffix in ("producer_free", "consumer_free", "not_full"):
            ask.lpush(f"{key}:{suffix}", 1)

    def put(self, value: bytes, *, overfill: bool = False) -> None:
        """Put.

        Raises:
            Gone: there is no queue.
            Shut: it is closed.
        """
        ask, key = self._redis, self._key
        assert self._edition.overfills or not overfill
        with self._role("producer"):
            if ask.exists(f"{key}:closed"):
                raise Shut
            if not overfill:
                ask.brpop(f"{key}:not_full", 0)
            length = ask.lpush(key, value)
            if self._has_room(length):
                self._refill()
            ask.incr(f"{key}:stats:produced_messages")
            ask.incrby(f"{key}:stats:produced_bytes", len(value))

    def get(self) -> bytes:
        """Get.

        Raises:
            Gone: there is no queue.
            Shut: it is closed, and nothing is left; or it is being deleted.
        """
        ask, key = self._redis, self._key
        with self._role("consumer"):
            value = self._move() if self._edition.moves else None
            if value is None:
                value = self._drain() if ask.exists(f"{key}:closed") else self._wait()
                if self._edition.always_refills or self._has_room(ask.llen(key)):
                    self._refill()
            ask.incr(f"{key}:stats:consumed_messages")
            ask.incrby(f"{key}:stats:consumed_bytes", len(value))
            return value

    def shutdown(self) -> None:
        """Close.

        Raises:
            Gone: there is no queue.
            Shut: it is closed already.
        """
        with self._role("producer"):
            if self._redis.exists(f"{self._key}:closed"):
                raise Shut
            self._redis.lpush(f"{self._key}:closed", 0, 0)

    def delete(self) -> None:
        """Delete.

        Raises:
            Gone: there is no queue.
        """
        ask, key = self._redis, self._key
        if not ask.exists(f"{key}:bound"):
            raise Gone
        ask.delete(f"{key}:bound")
        ask.lpush(f"{key}:not_full", 0)
        ask.lpush(f"{key}:closed", 0, 0)
        for role in ("producer", "consumer"):
            ask.brpop(f"{key}:{role}_free", 0)
            ask.delete(f"{key}:{role}", f"{key}:{role}_free")
        ask.delete(f"{key}:not_full", f"{key}:closed")
        for done in ("produced", "consumed"):
            ask.delete(f"{key}:stats:{done}_messages", f"{key}:stats:{done}_bytes")
        ask.delete(key)

    @contextmanager
    def _role(self, role: str) -> Iterator[None]:
        ask, key = self._redis, self._key
        if not ask.exists(f"{key}:bound"):
            raise Gone
        ask.brpop(f"{key}:{role}_free", 0)
        ask.set(f"{key}:{role}", self._name)
        try:
            yield
        finally:
            ask.lpush(f"{key}:{role}_free", 0)

    def _drain(self) -> bytes:
        value: bytes | None = self._redis.rpop(self._key)
        if value is None:
            raise Shut
        return value

    def _wait(self) -> bytes:
        key, value = self._redis.brpop([self._key, f"{self._key}:closed"], 0)
        if key != self._key.encode():
            raise Shut
        return bytes(value)

    def _move(self) -> bytes | None:
        """A value that is in ``:not_full`` now; None if the queue is closed, and nothing has been moved."""
        key = self._key
        while not self._redis.exists(f"{key}:closed"):
            if (value := self._redis.brpoplpush(key, f"{key}:not_full", SLICE)) is not None:
                return bytes(value)
        return None

    def _has_room(self, length: int) -> bool:
        bound = int(self._redis.get(f"{self._key}:bound") or 0)
        return bound == 0 or length < bound

    def _refill(self) -> None:
        self._redis.lpush(f"{self._key}:not_full", 0)
        self._redis.ltrim(f"{self._key}:not_full", 0, 0)
