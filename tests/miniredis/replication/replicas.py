"""Replicas for tests: one on a raw socket, and a real redis-server; and whether two servers have the same data."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hiredis
import redis

from conformance.wire import encode
from tests.servers import find_redis_7_0, start_redis
from tests.waiting import PATIENCE, until

Address = tuple[str, int]

PING = [b"ping"]


class RawReplica:
    """A replica that says and acknowledges nothing by itself.

    Attributes:
        name: the replication id of the master's history.
        offset: the offset of the snapshot in that history.
        snapshot: the bytes of the snapshot.
        taken: the bytes of the stream that ``commands`` returned.
    """

    def __init__(self, master: Address, *options: str) -> None:
        self.socket = socket.create_connection(master, timeout=PATIENCE)
        self._buffer = b""
        self.name, self.offset, self.snapshot, self.taken = b"", 0, b"", 0
        if options:
            assert self.ask("REPLCONF", *options) == b"+OK"

    def say(self, *words: str | bytes) -> None:
        """Sends a command."""
        self.socket.sendall(encode(*(each.encode() if isinstance(each, str) else each for each in words)))

    def ask(self, *words: str | bytes) -> bytes:
        """Sends a command; returns the line that answers it."""
        self.say(*words)
        return self.line()

    def _more(self) -> None:
        data = self.socket.recv(1 << 20)
        if not data:
            raise EOFError
        self._buffer += data

    def line(self) -> bytes:
        """The next line that is not empty."""
        self._buffer = self._buffer.lstrip(b"\n")
        while b"\r\n" not in self._buffer:
            self._more()
            self._buffer = self._buffer.lstrip(b"\n")
        line, self._buffer = self._buffer.split(b"\r\n", 1)
        return line

    def synchronize(self, name: str | bytes = "?", start: int = -1) -> bytes:
        """Sends PSYNC, and reads the snapshot if the master sends one; returns the master's answer."""
        answer = self.ask("PSYNC", name, str(start))
        if answer.startswith(b"+FULLRESYNC"):
            _, self.name, offset = answer.split()
            self.offset = int(offset)
            self.take_snapshot()
        return answer

    def take_snapshot(self) -> None:
        """Reads the length of the snapshot, and the snapshot."""
        size = int(self.line().removeprefix(b"$"))
        pieces, missing = [self._buffer], size - len(self._buffer)
        while missing > 0:
            data = self.socket.recv(1 << 20)
            if not data:
                raise EOFError
            pieces.append(data)
            missing -= len(data)
        came = b"".join(pieces)
        self.snapshot, self._buffer = came[:size], came[size:]

    def commands(self, last: list[bytes]) -> list[list[bytes]]:
        """Reads the stream up to a command; returns its commands without PING."""
        reader = hiredis.Reader()
        reader.feed(self._buffer)
        found = []
        while True:
            command = reader.gets()
            if command is False:
                self.socket.settimeout(PATIENCE)
                data = self.socket.recv(1 << 20)
                if not data:
                    raise EOFError
                self._buffer += data
                reader.feed(data)
                continue
            size = len(encode(*command))
            self._buffer = self._buffer[size:]
            self.taken += size
            if command != PING:
                found.append(command)
            if command == last:
                return found

    def acknowledge(self, offset: int) -> None:
        """Tells the master up to which offset the replica has the stream."""
        self.say("REPLCONF", "ACK", str(offset))

    def is_disconnected(self) -> bool:
        """Waits until the master hangs up, and reads what it sends before."""
        try:
            while self.socket.recv(1 << 20):
                pass
        except ConnectionError:
            pass
        return True

    def close(self) -> None:
        """Disconnects."""
        self.socket.close()


@contextmanager
def real_replica(folder: Path, master: Address, *flags: str, debug: bool = True) -> Iterator[Any]:
    """Starts a redis-server as a replica of a master; yields a client of the replica."""
    extra = ("--enable-debug-command", "yes") if debug else ()
    with (
        start_redis(folder, *extra, *flags, program=find_redis_7_0) as server,
        connect(("127.0.0.1", server.port)) as client,
    ):
        client.replicaof(*master)
        yield client


def info(client: Any) -> dict[str, Any]:
    """The section replication of INFO."""
    told: dict[str, Any] = client.info("replication")
    return told


def wait_until_up(replica: Any) -> None:
    """Waits until a replica has synchronized with its master."""
    until(lambda: info(replica)["master_link_status"] == "up", "the link is up")


def wait_until_caught_up(master: Any, replica: Any) -> None:
    """Waits until a replica has the whole stream of its master."""
    until(
        lambda: (
            (told := info(replica))["master_link_status"] == "up"
            and told["slave_repl_offset"] == info(master)["master_repl_offset"]
        ),
        "the replica has caught up",
    )


def all_data(client: Any) -> dict[object, object]:
    """All data of a server: the digest and the deadline of each key, the groups of each stream, the libraries."""
    found: dict[object, object] = {}
    for database in range(16):
        client.execute_command("SELECT", database)
        keys = sorted(client.execute_command("KEYS", "*"))
        told = (at_once(client, database, [(*words, key) for key in keys]) for words in OF_EACH)
        for key, digest, deadline, kind in zip(keys, *told, strict=True):
            found[database, key] = (digest, deadline, groups(client, key) if kind == b"stream" else None)
    client.execute_command("SELECT", 0)
    libraries = client.execute_command("FUNCTION", "LIST", "WITHCODE")
    found["libraries"] = sorted(library[b"library_code"] for library in libraries)
    return found


OF_EACH = (("DEBUG", "DIGEST-VALUE"), ("PEXPIRETIME",), ("TYPE",))
"""What is asked of each key."""


def at_once(client: Any, database: int, commands: list[tuple[str | bytes, ...]]) -> list[Any]:
    """The replies to commands that are sent together, to a database."""
    with client.pipeline(transaction=False) as pipeline:  # on a connection of its own
        for words in (("SELECT", database), *commands):
            pipeline.execute_command(*words)
        replies: list[Any] = pipeline.execute()
    return replies[1:]


def groups(client: Any, key: bytes) -> object:
    """The groups of a stream, without the number of entries read, which Redis 7.0 does not propagate."""
    told = client.execute_command("XINFO", "GROUPS", key)
    return [
        [group[name] for name in (b"name", b"consumers", b"pending", b"last-delivered-id")] for group in told
    ]


def expect_same(master: Any, replica: Any) -> None:
    """Waits until both have the same data. It compares again, because keys can expire in between."""
    with one_connection(master) as ours, one_connection(replica) as theirs:
        wait_until_caught_up(ours, theirs)
        found: dict[object, object] = {}

        def are_same() -> bool:
            nonlocal found
            found = differences(ours, theirs)
            return not found

        try:
            until(are_same, "both have the same data")
        except AssertionError:
            raise AssertionError(f"on the master and on the replica: {found}") from None


def differences(one: Any, other: Any) -> dict[object, object]:
    """Each key that differs between two servers, with the data of both."""
    ours, theirs = all_data(one), all_data(other)
    keys = ours.keys() | theirs.keys()
    return {key: (ours.get(key), theirs.get(key)) for key in keys if ours.get(key) != theirs.get(key)}


@contextmanager
def one_connection(client: Any) -> Iterator[Any]:
    with connect(address_of(client), single_connection_client=True) as single:
        yield single


def connect(address: Address, **options: Any) -> Any:
    """A client of a server."""
    return redis.Redis(*address, socket_timeout=PATIENCE, **options)


def address_of(client: Any) -> Address:
    """The address of a client's server."""
    options = client.connection_pool.connection_kwargs
    return options["host"], options["port"]
