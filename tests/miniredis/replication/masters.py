"""A master for tests, on a raw socket: it sends what a test tells it to send."""

from __future__ import annotations

import contextlib
import socket
from types import TracebackType
from typing import Any, Self

import hiredis
import redis

from conformance.wire import encode
from miniredis.engine.keyspace.keyspace import Keyspace
from miniredis.engine.rdb import snapshot
from tests.waiting import PATIENCE

NAME = b"a" * 40
OTHER_NAME = b"b" * 40
MARK = b"m" * 40


def snapshot_of(
    keys: dict[bytes, bytes], database: int = 0, deadlines: dict[bytes, int] | None = None
) -> bytes:
    """The snapshot of a master with some strings."""
    keyspace = Keyspace(16)
    for key, value in keys.items():
        keyspace.databases[database].create(key, value, None, deadline=(deadlines or {}).get(key))
    return b"".join(snapshot.write(keyspace, []))


class RawMaster:
    """Listens for one replica at a time."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(PATIENCE)
        self.port: int = self._listener.getsockname()[1]
        self._link: socket.socket | None = None

    @property
    def link(self) -> socket.socket:
        """The connection of the replica."""
        assert self._link is not None
        return self._link

    def accept(self) -> None:
        """Waits for the replica to connect."""
        self.hang_up()
        self._link, _ = self._listener.accept()
        self._link.settimeout(PATIENCE)
        self._reader = hiredis.Reader()

    def hang_up(self) -> None:
        """Closes the connection."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def say(self, *data: bytes) -> None:
        """Sends bytes."""
        self.link.sendall(b"".join(data))

    def do(self, *words: str | bytes) -> bytes:
        """Sends a command of the stream; returns its bytes."""
        data = encode(*(each.encode() if isinstance(each, str) else each for each in words))
        self.say(data)
        return data

    def hear(self) -> list[bytes]:
        """Waits for the replica's next command, and returns it.

        Raises:
            EOFError: the replica has hung up.
        """
        while (command := self._reader.gets()) is False:
            data = self.link.recv(1 << 16)
            if not data:
                raise EOFError
            self._reader.feed(data.removeprefix(b"\n"))  # a replica that loads sends it as a sign of life
        words: list[bytes] = command
        return words

    def hear_end(self) -> None:
        """Waits until the replica hangs up."""
        with contextlib.suppress(EOFError, ConnectionError):
            while True:
                self.hear()

    def hear_ack(self, offset: int) -> None:
        """Waits until the replica acknowledges an offset."""
        while (heard := self.hear()) != [b"REPLCONF", b"ACK", b"%d" % offset]:
            assert heard[:2] == [b"REPLCONF", b"ACK"]
            assert int(heard[2]) < offset, heard

    def shake_hands(self) -> list[list[bytes]]:
        """Accepts all commands of the replica up to PSYNC; returns them."""
        self.accept()
        heard = [self.hear()]
        self.say(b"+PONG\r\n")
        while heard[-1][0] != b"PSYNC":
            heard.append(self.hear())
            if heard[-1][0] != b"PSYNC":
                self.say(b"+OK\r\n")
        return heard

    def synchronize(self, content: bytes, *, name: bytes = NAME, offset: int = 0) -> list[list[bytes]]:
        """Sends a full synchronization to a new replica; returns the replica's commands."""
        heard = self.shake_hands()
        self.say(b"+FULLRESYNC %b %d\r\n" % (name, offset), b"$%d\r\n" % len(content), content)
        return heard

    def close(self) -> None:
        """Closes the connection, and stops listening."""
        self.hang_up()
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def role(client: redis.Redis) -> Any:
    """The reply to ROLE."""
    return client.execute_command("ROLE")  # type: ignore[no-untyped-call]
