r"""Plays conversations that are written as text: what each client sends, and the very bytes that it gets.

A file holds scenarios. ``== title`` begins one; each is played on empty databases, with clients of its own:

    a: SET k v          client a sends an inline command
    a! *1\r\n$4\r\nPING   client a sends these bytes, escaped as in Python
    a= +OK\r\n          client a gets these bytes
    a waits             client a is blocked by now
    a speaks 3          client a says HELLO 3, and passes over the answer
    a leaves            client a hangs up
    a closed            the server has hung up on a

``<id:b>`` in a request is the number of client b, ``<addr:b>`` its address and ``<laddr:b>`` that of the server's end,
as CLIENT INFO tells them.
"""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, Self

from ...judging import running
from ...judging.environment import Failure
from ...judging.limits import countdown, pauses

__all__ = ["Player", "RawClient", "Scenario", "Step", "escape", "read"]

STEP: Final = re.compile(r"(?P<client>\w+)(?P<verb>[:!=]| speaks| waits$| leaves$| closed$) ?(?P<text>.*)")
CONNECTED: Final = re.compile(rb"\r\nconnected_clients:(\d+)\r\n")
FIELD: Final = re.compile(r"\b(id|l?addr)=(\S+)")
TOLD: Final = re.compile(r"<(id|l?addr):(\w+)>")


@dataclass(frozen=True)
class Step:
    """One line of a scenario."""

    client: str
    verb: str
    text: str = ""

    @property
    def data(self) -> bytes:
        """The bytes that are sent or expected."""
        if self.verb == ":":
            return self.text.encode() + b"\r\n"
        return self.text.encode().decode("unicode_escape").encode("latin-1")

    def __str__(self) -> str:
        gap = " " if self.verb.isalpha() else ""
        return f"{self.client}{gap}{self.verb} {self.text}".rstrip(" ")


@dataclass
class Scenario:
    """What happens one after the other on a server without data."""

    title: str
    steps: list[Step] = field(default_factory=list)


def escape(data: bytes) -> str:
    """Bytes as a step shows them."""
    return data.decode("latin-1").encode("unicode_escape").decode()


def read(path: Path) -> list[Scenario]:
    """The scenarios of a file."""
    scenarios: list[Scenario] = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if line.startswith("== "):
            scenarios.append(Scenario(line.removeprefix("== ")))
        elif line and not line.startswith("#"):
            step = STEP.fullmatch(line)
            if step is None:
                raise ValueError(f"{path.name}:{number}: not a step: {line}")
            scenarios[-1].steps.append(Step(step["client"], step["verb"].strip(), step["text"]))
    return scenarios


class RawClient:
    """A connection on which any bytes may be sent."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.settimeout(running.PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # also after what gets no reply

    def send(self, data: bytes) -> None:
        """Sends them."""
        self.socket.sendall(data)

    def ask(self, line: str) -> bytes:
        """The reply to an inline command; the beginning of it, if it is long."""
        self.send(line.encode() + b"\r\n")
        return self._receive(1 << 20)

    def get(self, size: int) -> bytes:
        """Up to ``size`` bytes: fewer if no more come."""
        data = b""
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while len(data) < size and (more := self._receive(size - len(data))):
                data += more
        return data

    def _receive(self, size: int) -> bytes:
        """Up to so many of the next bytes.

        Raises:
            TimeoutError: none came in time, of which a busy machine has more.
        """
        try:
            for seconds in countdown(running.PATIENCE):
                self.socket.settimeout(seconds)
                with contextlib.suppress(TimeoutError):
                    return self.socket.recv(size)
        finally:
            self.socket.settimeout(running.PATIENCE)
        raise TimeoutError("timed out")

    def pending(self) -> bytes:
        """The bytes that have come already."""
        self.socket.setblocking(False)
        try:
            return self.socket.recv(1 << 16)
        except BlockingIOError:
            return b""
        finally:
            self.socket.settimeout(running.PATIENCE)

    def close(self) -> None:
        """Hangs up."""
        self.socket.close()


SUBSCRIBED: Final = (
    b"-ERR Can't execute 'discard': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed "
    b"in this context\r\n*2\r\n$4\r\npong\r\n"
)
"""The reply to DISCARD, and the beginning of that to PING, for a client that has subscribed."""


class Player:
    """Plays a scenario on a server, and compares each byte.

    Args:
        address: the server's host and port. It is emptied, and its configuration is changed back and forth.
    """

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.clients: dict[str, RawClient] = {}
        self.told: dict[str, dict[str, str]] = {}
        self.waiting: set[str] = set()
        self.gone: set[str] = set()

    def __enter__(self) -> Self:
        self.control = RawClient(self.address)
        self.expect_same(self.control.ask("FLUSHALL"), b"+OK\r\n", "FLUSHALL")
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
        self.until(lambda: wanted in self.control.ask("INFO clients"), f"were {count} clients blocked")

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Waits until a condition holds; fails if it never does."""
        for _ in pauses(running.PATIENCE):
            if condition():
                return
        raise Failure(f"never {what}")

    def expect_same(self, seen: bytes, wanted: bytes, what: str) -> None:
        """Fails unless these bytes are those."""
        if seen != wanted:
            raise Failure(f"{what}: wanted {escape(wanted)}, got {escape(seen)}")

    def client(self, name: str) -> RawClient:
        """The client of that name, which connects when it is first named."""
        if name not in self.clients:
            self.clients[name] = RawClient(self.address)
        return self.clients[name]

    def play(self, scenario: Scenario) -> None:
        """Has the clients do what the scenario says.

        Raises:
            Failure: a client got something else.
        """
        for step in scenario.steps:
            getattr(self, self.VERBS[step.verb])(step)
        for name in self.clients:
            if name not in self.gone:
                self.check_nothing_more(name)

    VERBS: ClassVar = {
        ":": "send", "!": "send", "=": "expect", "speaks": "speak", "waits": "wait", "leaves": "leave",
        "closed": "expect_end",
    }  # fmt: skip

    def send(self, step: Step) -> None:
        """A client sends something."""
        text = TOLD.sub(self.tell, step.text)
        self.client(step.client).send(Step(step.client, step.verb, text).data)

    def tell(self, match: re.Match[str]) -> str:
        """What CLIENT INFO tells of a client; a blocked one cannot be asked for it the first time."""
        field, name = match.groups()
        if name not in self.told:
            answer = self.client(name).ask("CLIENT INFO").decode()
            self.told[name] = dict(FIELD.findall(answer))
        return self.told[name][field]

    def speak(self, step: Step) -> None:
        """A client changes its protocol."""
        answer = self.client(step.client).ask(f"HELLO {step.text}")
        begins = b"%7" if step.text == "3" else b"*14"
        self.expect_same(answer[: len(begins)], begins, f"HELLO {step.text}")

    def expect(self, step: Step) -> None:
        """A client gets something, or this fails."""
        self.waiting.discard(step.client)
        seen = self.client(step.client).get(len(step.data))
        self.expect_same(seen, step.data, f"what client {step.client} gets")

    def wait(self, step: Step) -> None:
        """A client is blocked, or this fails."""
        self.waiting.add(step.client)
        self.await_blocked(len(self.waiting))

    def connected(self) -> int:
        """How many clients are connected."""
        answer = CONNECTED.search(self.control.ask("INFO clients"))
        return int(answer[1]) if answer else 0

    def leave(self, step: Step) -> None:
        """Disconnects a client that has got nothing more, and waits until the server has noticed."""
        seen = self.clients[step.client].pending()
        self.expect_same(seen, b"", f"what client {step.client} gets before it leaves")
        before = self.connected()
        self.clients[step.client].close()
        self.until(lambda: self.connected() != before, f"had client {step.client} left")
        self.gone.add(step.client)
        self.waiting.discard(step.client)
        self.await_blocked(len(self.waiting))

    def expect_end(self, step: Step) -> None:
        """A client is hung up on, or this fails."""
        self.expect_same(self.client(step.client).get(1), b"", f"what client {step.client} gets at its end")
        self.gone.add(step.client)
        self.waiting.discard(step.client)

    def check_nothing_more(self, name: str) -> None:
        """A client that waits must have got nothing, and another nothing before its reply to a PING."""
        if name in self.waiting:
            self.await_blocked(len(self.waiting))
            self.expect_same(self.clients[name].pending(), b"", f"what client {name} gets while it waits")
        else:
            self.clients[name].send(b"DISCARD\r\nPING end\r\n")
            answer = self.read_until(name, b"$3\r\nend\r\n")
            if answer not in {b"+OK\r\n", SUBSCRIBED}:
                self.expect_same(
                    answer, b"-ERR DISCARD without MULTI\r\n", f"what client {name} gets in the end"
                )

    def read_until(self, name: str, end: bytes) -> bytes:
        """What a client gets before these bytes."""
        data = b""
        while not data.endswith(end):
            more = self.clients[name].get(1)
            if not more:
                raise Failure(f"client {name} got {escape(data)}, and no more")
            data += more
        return data.removesuffix(end)
