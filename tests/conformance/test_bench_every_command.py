"""The bench over all commands: none is forgotten, and every line does what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import miniredis
from conformance.bench.every_command import LEFT_OUT, LINES, Client, commands_of
from conformance.wire import RawConnection, encode
from tests.waiting import PATIENCE


class Server:
    """A server in this process, as the bench sees one."""

    def __init__(self, port: int) -> None:
        self.port = port

    def connect(self) -> RawConnection:
        """A client of it."""
        return RawConnection("127.0.0.1", self.port)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with miniredis.start() as server, Client(Server(server.port)) as client:  # type: ignore[arg-type]
        client._connection.socket.settimeout(PATIENCE)
        yield client


def test_each_command_has_a_line_or_a_reason_why_not(client: Client) -> None:
    measured = {command[0] for line in LINES for command in commands_of(line, b"")}
    names = client.play(encode("COMMAND", "LIST"), 1)
    known = {name.decode().upper() for name in names if not {*b"|."} & {*name}}
    assert known <= measured | LEFT_OUT.keys()
    assert not measured & LEFT_OUT.keys()


def test_every_line_can_be_repeated_without_an_error(client: Client) -> None:
    dumped = client.fill()
    for line in LINES:
        commands = commands_of(line, dumped)
        request = b"".join(encode(*command) for command in commands) * 3
        client.play(request, 3 * len(commands))
