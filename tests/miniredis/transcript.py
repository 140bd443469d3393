"""Conversations with a server, as text: what each client sends, and the very bytes it gets.

A file holds scenarios. ``== title`` begins one; each runs on empty databases, with clients of its own:

    a: SET k v          client a sends an inline command
    a! *1\\r\\n$4\\r\\nPING   client a sends these bytes, escaped as in Python
    a= +OK\\r\\n          client a gets these bytes
    a waits             client a is blocked by now
    a speaks 3          client a says HELLO 3, and passes over the answer
    a leaves            client a hangs up
    a closed            the server has hung up on a

``<id:b>`` in a request is the number of client b, as CLIENT ID answers it.

The expected bytes were recorded from redis-server 7.0.15, by ``python -m tests.miniredis.record HOST PORT``.
"""

from __future__ import annotations

import contextlib
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self

from ..waiting import PATIENCE, until

TRANSCRIPTS = Path(__file__).parent / "transcripts"
STEP = re.compile(r"(?P<client>\w+)(?P<verb>[:!=]| speaks| waits$| leaves$| closed$) ?(?P<text>.*)")
CONNECTED = re.compile(rb"\r\nconnected_clients:(\d+)\r\n")
NUMBER = re.compile(r"<id:(\w+)>")


@dataclass(frozen=True)
class Step:
    client: str
    verb: str
    text: str = ""

    @property
    def data(self) -> bytes:
        if self.verb == ":":
            return self.text.encode() + b"\r\n"
        return self.text.encode().decode("unicode_escape").encode("latin-1")

    def __str__(self) -> str:
        gap = " " if self.verb.isalpha() else ""
        return f"{self.client}{gap}{self.verb} {self.text}".rstrip(" ")


@dataclass
class Scenario:
    title: str
    steps: list[Step] = field(default_factory=list)


def escape(data: bytes) -> str:
    """Bytes as a step shows them."""
    return data.decode("latin-1").encode("unicode_escape").decode()


def read(path: Path) -> list[Scenario]:
    scenarios: list[Scenario] = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if line.startswith("== "):
            scenarios.append(Scenario(line.removeprefix("== ")))
        elif line and not line.startswith("#"):
            step = STEP.fullmatch(line)
            assert step, f"{path.name}:{number}: not a step: {line}"
            scenarios[-1].steps.append(Step(step["client"], step["verb"].strip(), step["text"]))
    return scenarios


class Client:
    """A raw connection."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.settimeout(PATIENCE)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def ask(self, line: str) -> bytes:
        self.send(line.encode() + b"\r\n")
        return self.socket.recv(1 << 20)

    def get(self, size: int) -> bytes:
        """Up to ``size`` bytes: fewer if no more come."""
        data = b""
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while len(data) < size and (more := self.socket.recv(size - len(data))):
                data += more
        return data

    def pending(self) -> bytes:
        """The bytes that have come already."""
        self.socket.setblocking(False)
        try:
            return self.socket.recv(1 << 16)
        except BlockingIOError:
            return b""
        finally:
            self.socket.settimeout(PATIENCE)

    def close(self) -> None:
        self.socket.close()


SUBSCRIBED = (
    b"-ERR Can't execute 'discard': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed "
    b"in this context\r\n*2\r\n$4\r\npong\r\n"
)
"""The reply to DISCARD, and the beginning of that to PING, for a client that has subscribed."""


class Player:
    """Plays a scenario on a server, comparing each byte."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.clients: dict[str, Client] = {}
        self.numbers: dict[str, str] = {}
        self.waiting: set[str] = set()
        self.gone: set[str] = set()

    def __enter__(self) -> Self:
        self.control = Client(self.address)
        assert self.control.ask("FLUSHALL") == b"+OK\r\n"
        self.await_blocked(0)
        return self

    def __exit__(self, *error: object) -> None:
        self.control.ask('CONFIG SET requirepass ""')  # a scenario that failed may have left one
        self.control.ask("CLIENT UNPAUSE")
        self.control.ask('CONFIG SET notify-keyspace-events ""')
        for client in (self.control, *self.clients.values()):
            client.close()

    def await_blocked(self, count: int) -> None:
        """Waits until ``count`` clients are blocked, as INFO says."""
        wanted = f"\r\nblocked_clients:{count}\r\n".encode()
        until(lambda: wanted in self.control.ask("INFO clients"), f"{count} clients are blocked")

    def client(self, name: str) -> Client:
        if name not in self.clients:
            self.clients[name] = Client(self.address)
        return self.clients[name]

    def play(self, scenario: Scenario) -> None:
        for step in scenario.steps:
            getattr(self, self.VERBS[step.verb])(step)
        for name in self.clients.keys() - self.gone:
            self.check_nothing_more(name)

    VERBS: ClassVar = {
        ":": "send", "!": "send", "=": "expect", "speaks": "speak", "waits": "wait", "leaves": "leave",
        "closed": "expect_end",
    }  # fmt: skip

    def send(self, step: Step) -> None:
        text = NUMBER.sub(self.number, step.text)
        self.client(step.client).send(Step(step.client, step.verb, text).data)

    def number(self, match: re.Match[str]) -> str:
        """The number of a client; a blocked one cannot be asked for it the first time."""
        name = match[1]
        if name not in self.numbers:
            self.numbers[name] = self.client(name).ask("CLIENT ID").decode()[1:-2]
        return self.numbers[name]

    def speak(self, step: Step) -> None:
        answer = self.client(step.client).ask(f"HELLO {step.text}")
        assert answer.startswith(b"%7" if step.text == "3" else b"*14"), answer

    def expect(self, step: Step) -> None:
        self.waiting.discard(step.client)
        assert self.client(step.client).get(len(step.data)) == step.data, str(step)

    def wait(self, step: Step) -> None:
        self.waiting.add(step.client)
        self.await_blocked(len(self.waiting))

    def connected(self) -> int:
        answer = CONNECTED.search(self.control.ask("INFO clients"))
        assert answer
        return int(answer[1])

    def leave(self, step: Step) -> None:
        """Disconnects a client, and waits until the server has noticed."""
        before = self.connected()
        self.clients[step.client].close()
        until(lambda: self.connected() != before, f"{step.client} has left")
        self.gone.add(step.client)
        self.waiting.discard(step.client)
        self.await_blocked(len(self.waiting))

    def expect_end(self, step: Step) -> None:
        assert self.client(step.client).get(1) == b"", str(step)
        self.gone.add(step.client)
        self.waiting.discard(step.client)

    def check_nothing_more(self, name: str) -> None:
        """Asserts that a blocked client got nothing, and another one nothing before its reply to a PING."""
        if name in self.waiting:
            self.await_blocked(len(self.waiting))
            assert self.clients[name].pending() == b""
        else:
            self.clients[name].send(b"DISCARD\r\nPING end\r\n")
            answer = self.read_until(name, b"$3\r\nend\r\n")
            assert answer in {b"-ERR DISCARD without MULTI\r\n", b"+OK\r\n", SUBSCRIBED}

    def read_until(self, name: str, end: bytes) -> bytes:
        data = b""
        while not data.endswith(end):
            more = self.clients[name].get(1)
            assert more, f"{name} got {data!r} and no more"
            data += more
        return data.removesuffix(end)
