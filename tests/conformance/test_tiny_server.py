"""A server with seven commands is judged by these, without those that the suite would like to have."""

from __future__ import annotations

import socketserver
import threading
from collections import defaultdict
from collections.abc import Iterator

import pytest

from conformance import command
from conformance.failure import Broken, expect_error
from pressure import ConnectionFailedError, QueueDoesNotExistError
from pressure.errors import PressureError

DATA: defaultdict[bytes, list[bytes]] = defaultdict(list)


class Tiny(socketserver.StreamRequestHandler):
    """One client of a server that has few commands, and no KEYS."""

    def handle(self) -> None:
        while line := self.rfile.readline():
            words = []
            for _ in range(int(line[1:])):
                words.append(self.rfile.read(int(self.rfile.readline()[1:])))
                self.rfile.read(2)
            self.wfile.write(reply(words[0].upper(), words[1:]))


def reply(name: bytes, words: list[bytes]) -> bytes:
    match name:
        case b"PING":
            return b"+PONG\r\n"
        case b"LPUSH" | b"RPUSH":
            for word in words[1:]:
                DATA[words[0]].insert(0 if name == b"LPUSH" else len(DATA[words[0]]), word)
            return b":%d\r\n" % len(DATA[words[0]])
        case b"LLEN":
            return b":%d\r\n" % len(DATA.get(words[0], []))
        case b"RPOP":
            value = DATA[words[0]].pop() if DATA.get(words[0]) else None
            return b"$-1\r\n" if value is None else b"$%d\r\n%b\r\n" % (len(value), value)
        case b"DEL":
            return b":%d\r\n" % sum(DATA.pop(word, None) is not None for word in words)
    return b"-ERR unknown command '%b'\r\n" % name


@pytest.fixture
def url() -> Iterator[str]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Tiny) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"redis://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_server_with_few_commands_is_judged_by_those_and_told_which_it_lacks(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    alike = ["list.lrange", "list.lindex", "list.lpush.prepends", "decided.bound-is-a-number"]
    clauses = ["broker.down", "list.lpush-rpop", "list.llen", "use.needs-create", "put.needs-queue", *alike]
    assert command.main(["judge", url, *(word for each in clauses for word in ("--clause", each))]) == 1
    said = capsys.readouterr().out.splitlines()[1:]
    assert f"list-notes {url}: 2/5" in said, "what it has is judged"
    assert f"protocol-0.15 {url}: 1/3" in said, "a clause without a server passes"
    found = {
        line.split()[1].rstrip(":"): line.split()[0]
        for line in said
        if line[2:].startswith(("violated", "error"))
    }
    assert found == {
        "use.needs-create": "error",
        "put.needs-queue": "error",
        "decided.bound-is-a-number": "error",
        "list.lrange": "violated",
        "list.lindex": "violated",
        "list.lpush.prepends": "violated",
    }
    assert "  error put.needs-queue: as use.needs-create" in said
    assert said[-2] == "  the server does not know CLIENT, KEYS, LINDEX, LRANGE"
    assert DATA == {}, "the suite has removed its keys"


def test_where_there_is_no_connection_nothing_can_be_said_of_another_error() -> None:
    with (
        pytest.raises(Broken, match="put: wanted QueueDoesNotExistError, got ConnectionFailedError"),
        expect_error(QueueDoesNotExistError, "put"),
    ):
        raise ConnectionFailedError("gone")
    for wanted in (PressureError, ConnectionFailedError):
        with expect_error(wanted, "put"):
            raise ConnectionFailedError("gone")
