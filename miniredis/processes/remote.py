"""What the handles of servers in other processes share: clients with sockets, and waiting by asking."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..arguments import check_condition
from ..clock import Machine
from ..handle import Handle

if TYPE_CHECKING:
    import redis.asyncio

__all__ = ["RemoteServer"]

SHORTEST: Final = 0.0005
LONGEST: Final = 0.02
"""Seconds between two looks at a condition: they grow from the first to the second."""


class RemoteServer(Handle):
    """A server in another process."""

    def client(self, **options: Any) -> redis.Redis:
        """A ``redis.Redis`` client, connected by TCP, or by the Unix socket if there is nothing else.

        It gives the server's password and tries nothing twice, unless the options say otherwise.

        Args:
            options: those of ``redis.Redis`` that do not say where the server is.

        Raises:
            TypeError: an option is unknown, or says where the server is (``host``, ``port``...).
        """
        from ..inprocess import clients  # loads redis-py

        return clients.remote_client(self.url, options)

    def async_client(self, **options: Any) -> redis.asyncio.Redis:
        """As ``client``, for asyncio."""
        from ..inprocess import clients

        return clients.remote_async_client(self.url, options)

    def wait_until(self, condition: Callable[[], object], timeout: float = 10.0) -> None:
        """Waits until a condition holds, which is looked at again and again.

        What holds only for some milliseconds may be missed: it happens in another process.

        Args:
            condition: returns something true when it holds. It may use this server, and must not block.
            timeout: how many seconds of real time to wait.

        Raises:
            TimeoutError: it did not hold in time; the message tells who was connected or blocked.
            RuntimeError: the server has stopped.
        """
        check_condition(condition)
        deadline, pause = Machine.monotonic() + timeout, SHORTEST
        while not condition():
            if Machine.monotonic() >= deadline:
                raise TimeoutError(f"waited {timeout:g} s; {self._who_is_there()}")
            time.sleep(pause)
            pause = min(2 * pause, LONGEST)

    def _who_is_there(self) -> str:
        """The clients, for the message of ``wait_until``."""
        raise NotImplementedError
