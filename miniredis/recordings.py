"""Recordings: what each client asked, and what it got, as a list, as JSON lines, or again on another server.

The commands of scripts are not in it. In a transaction the commands are there when they are queued.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import hiredis

from .engine.faults.recorders import BEGAN, CLIENT, ENDED, NOW, WORDS, Entry, encoded
from .redaction import REDACTED, tells_secret, without_secrets

if TYPE_CHECKING:
    from .ticks.tick_runner import TickRunner

__all__ = ["Call", "Recording", "load", "replay"]


@dataclass(slots=True)
class Call:
    """A request, and its reply if it had one when it was taken from the recording.

    Attributes:
        client: the client's name (CLIENT SETNAME), or its number where it has none.
        time: when the server had the request: microseconds of its wall clock.
        words: the request.
        began: its place among all beginnings and ends of calls.
        reply: the reply's bytes as the client got them; None if it has got none.
        ended: the place of the reply; None if there was none.
    """

    client: str
    time: int
    words: tuple[bytes, ...]
    began: int
    reply: bytes | None = None
    ended: int | None = None

    @property
    def text(self) -> str:
        """The request as one line, without passwords; of long words only the beginning."""
        return " ".join(shown(word) for word in without_secrets(self.words))

    @property
    def value(self) -> Any:
        """The reply as a Python value: bytes, int, None, a list, or a ``hiredis.ReplyError``."""
        reader = hiredis.Reader()
        reader.feed(self.reply or b"")
        value = reader.gets()
        return None if value is False else value

    def __str__(self) -> str:
        if self.reply is None:
            return f"{self.client}: {self.text} -> no reply"
        reply = REDACTED if tells_secret(self.words) else self.reply
        return f"{self.client}: {self.text} -> {shown(reply.replace(CRLF, b' ').rstrip())}"


pack: Final[Callable[[tuple[bytes, ...]], bytes]] = hiredis.pack_command  # type: ignore[assignment]  # any words

CRLF: Final = b"\r\n"

LONGEST: Final = 60
"""The most bytes of a word that are shown."""


def shown(word: bytes) -> str:
    text = word[:LONGEST].decode("utf-8", "backslashreplace")
    return f"{text}..." if len(word) > LONGEST else text


class Recording(Sequence[Call]):
    """The calls of a server, in the order of its requests, while it is recorded: see ``server.record``.

    Args:
        runner: has the server's engine.
        most: how many calls are kept: the last ones; None for all.
    """

    def __init__(self, runner: TickRunner, most: int | None = None) -> None:
        self._runner = runner
        self._entries: deque[Entry] = deque(maxlen=most)
        self._keep = self._entries.append  # one object, to be removed

    @property
    def _calls(self) -> list[Call]:
        return [*map(as_call, self._entries.copy())]  # other threads may add some

    def start(self) -> None:
        """Begins to record; raises ``RuntimeError`` when the server has stopped."""
        with self._runner.looked_into() as engine:
            engine.recorders.add(self._keep)

    def stop(self) -> None:
        """Records no further request; the replies to those before are added still."""
        with self._runner.lock:
            self._runner.engine.recorders.remove(self._keep)

    def __len__(self) -> int:
        return len(self._calls)

    def __getitem__(self, at: Any) -> Any:
        return self._calls[at]

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def save(self, path: str | Path) -> None:
        """Writes the calls as JSON lines; ``load`` reads them."""
        import json  # few programs do this, and it takes long to import

        Path(path).write_text("".join(f"{json.dumps(as_json(call))}\n" for call in self))


def as_call(entry: Entry) -> Call:
    client = entry[CLIENT]
    name = client.decode(errors="replace") if isinstance(client, bytes) else str(client)
    return Call(name, entry[NOW].wall, entry[WORDS], entry[BEGAN], encoded(entry), entry[ENDED])


def as_json(call: Call) -> dict[str, Any]:
    """The attributes of a call; latin-1 stands for bytes."""
    return {
        "client": call.client,
        "time": call.time,
        "words": [word.decode("latin-1") for word in call.words],
        "began": call.began,
        "reply": None if call.reply is None else call.reply.decode("latin-1"),
        "ended": call.ended,
    }


def load(path: str | Path) -> list[Call]:
    """The calls in a file that ``Recording.save`` has written."""
    import json

    calls = []
    for line in Path(path).read_text().splitlines():
        found = json.loads(line)
        found["words"] = tuple(word.encode("latin-1") for word in found["words"])
        found["reply"] = None if found["reply"] is None else found["reply"].encode("latin-1")
        calls.append(Call(**found))
    return calls


def replay(
    calls: Sequence[Call], address: tuple[str, int], timeout: float = 10.0
) -> Iterator[tuple[Call, bytes]]:
    """Sends the requests to another server in their order, and yields each call with a reply that differs.

    Each client has a connection. A call that has no reply is sent, and its reply is not waited for.

    Args:
        calls: a ``Recording``, or what ``load`` returns.
        address: the host and the port of the server.
        timeout: how many seconds to wait for a reply; one that does not come in time differs, and is empty.
    """
    moments = [(call.began, True, call) for call in calls]
    moments += [(call.ended, False, call) for call in calls if call.ended is not None]
    connections: dict[str, socket.socket] = {}
    try:
        for _, begins, call in sorted(moments, key=lambda moment: moment[0]):
            if call.client not in connections:
                connections[call.client] = socket.create_connection(address, timeout)
            if begins:
                connections[call.client].sendall(pack(call.words))
            elif (reply := read(connections[call.client], call.reply or b"")) != call.reply:
                yield call, reply
    finally:
        for connection in connections.values():
            connection.close()


def read(connection: socket.socket, expected: bytes) -> bytes:
    """A reply: as many bytes as are expected, and those that follow until it is whole."""
    data, reader = b"", hiredis.Reader()
    while True:
        try:
            more = connection.recv(max(len(expected) - len(data), 1))
        except TimeoutError:
            return data
        data += more
        reader.feed(more)
        if not more or reader.gets() is not False:
            return data
