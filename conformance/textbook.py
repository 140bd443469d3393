"""A client as somebody would write it from version 0.15 alone, to be the other side of a queue.

It sends the commands of the document's reference pseudocode one by one, corrected only where those cannot run
or the prose says otherwise:

* ``BRPOP`` and ``LPUSH`` get the timeout and the value that the pseudocode leaves out.
* ``RPOP consumer_free 0`` would pop nothing; it loses the ``0``. ``RPOP queue closed 0`` is two commands.
* The counters are under ``:stats:``.
* A role goes back on every way out; so does the consumer's when it hears of a close. The mark that told it of
  the close is not put back, as nobody asks for that.
* Get refills ``:not_full`` only if the queue is below its bound.

It waits for ever where the document does. It is nobody's idea of a good client.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import redis

__all__ = ["Gone", "Shut", "Textbook"]


class Gone(Exception):  # noqa: N818  (what the document calls QueueDoesNotExistError)
    """There is no such queue."""


class Shut(Exception):  # noqa: N818  (what the document calls QueueClosedError)
    """The queue is closed."""


class Textbook:
    """One client of one queue.

    Args:
        url: the server.
        key: prefix and name of the queue.
        name: the client's identifier.
    """

    def __init__(self, url: str, key: str, name: str = "textbook") -> None:
        self._key = key
        self._name = name
        self._redis: Any = redis.Redis.from_url(url, protocol=2, retry=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._redis.close()

    def put(self, value: bytes) -> None:
        """Put.

        Raises:
            Gone: there is no queue.
            Shut: it is closed.
        """
        ask, key = self._redis, self._key
        with self._role("producer"):
            if ask.exists(f"{key}:closed"):
                raise Shut
            ask.brpop(f"{key}:not_full", 0)
            length = ask.lpush(key, value)
            self._refill(length)
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
            value = self._drain() if ask.exists(f"{key}:closed") else self._wait()
            self._refill(ask.llen(key))
            ask.incr(f"{key}:stats:consumed_messages")
            ask.incrby(f"{key}:stats:consumed_bytes", len(value))
            return value

    def close(self) -> None:
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

    def _refill(self, length: int) -> None:
        bound = int(self._redis.get(f"{self._key}:bound") or 0)
        if bound == 0 or length < bound:
            self._redis.lpush(f"{self._key}:not_full", 0)
            self._redis.ltrim(f"{self._key}:not_full", 0, 0)
