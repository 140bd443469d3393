"""What the engine is compared with: a real Redis, or the engine again behind one of miniredis's own loops."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from miniredis.testing.real_servers import NotInstalledError

from ..targets import Address, Target, real_redis, target_named
from ..wire import RawConnection

if TYPE_CHECKING:
    from miniredis.server import LoopChoice

__all__ = ["DEBUG", "RIVALS", "Rival", "rival_named"]

DEBUG: Final = ("--enable-debug-command", "yes")
"""Lets clients of a Redis since 7.0 use DEBUG."""


class Rival:
    """A server that is up.

    Attributes:
        origin: what it is, for people.
    """

    def __init__(self, address: Address) -> None:
        self.origin = address.origin
        self._address = address

    def connect(self) -> RawConnection:
        """One more client."""
        client = RawConnection(self._address.host, self._address.port)
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client

    def hears(self, client: RawConnection) -> bool:
        """Whether a client has something to read, or is hung up on."""
        return bool(select.select([client.socket], [], [], 0)[0])


class InProcess(Rival):
    """miniredis without sockets."""

    def __init__(self, address: Address, connect: Callable[[], object]) -> None:
        super().__init__(address)
        self._connect = connect

    def connect(self) -> RawConnection:
        """One more client."""
        return RawConnection.over(self._connect())

    def hears(self, client: RawConnection) -> bool:
        """As in the base."""
        return bool(client.socket.can_read(0))  # type: ignore[attr-defined]


@contextmanager
def real() -> Iterator[Rival]:
    with real_redis(*DEBUG) as address:
        yield Rival(address)


@contextmanager
def behind_loop(loop: LoopChoice) -> Iterator[Rival]:
    import miniredis

    with miniredis.start(loop=loop, enable_debug_command="yes") as server:
        yield Rival(Address(server.url, f"the same behind its loop {loop!r}"))


@contextmanager
def in_process() -> Iterator[Rival]:
    import miniredis
    from miniredis.inprocess.local import LocalSocket

    with miniredis.start(enable_debug_command="yes") as server:
        address = Address(server.url, "the same without sockets")
        yield InProcess(address, partial(LocalSocket, server._runner))


RIVALS: Final[Mapping[str, Callable[[], AbstractContextManager[Rival]]]] = {
    "redis-server": real,
    "poll": partial(behind_loop, "poll"),
    "streams": partial(behind_loop, "streams"),
    "in-process": in_process,
}
"""By their names on the command line."""


def rival_named(name: str) -> AbstractContextManager[Rival]:
    """One of ``RIVALS``, or a server that the conformance suite has a target for and that may be emptied.

    Raises:
        ValueError: it is neither, or it was there before.
    """
    if name in RIVALS:
        return RIVALS[name]()
    return started(target_named(name))


@contextmanager
def started(target: Target) -> Iterator[Rival]:
    """A server of that kind, with DEBUG allowed where one has to ask for that."""
    with target.up() as address, ExitStack() as up:
        if address.another is None:
            raise ValueError(
                f"{target.name} cannot be used: this command would empty a server that is in use"
            )
        try:
            yield Rival(up.enter_context(address.another(*DEBUG)))
        except NotInstalledError:  # it is older, and knows no such flag
            yield Rival(address)
