"""Records what clients do: each operation when it begins, as open, and again when it is over.

A recorder stands between whoever works with a client and the client. What it notes goes to a function: into a
``Notebook``, for threads, or behind a ``Log``, for a process that may be killed. Only an error that says for
certain that nothing was done closes an operation; any other exception leaves it open. The error of a server's
reply is noted by its code, such as ``WRONGTYPE``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..failure import Failure
from .model import Operation
from .records import record_of

if TYPE_CHECKING:  # a worker starts in half the time without miniredis
    from ..wire import RawConnection

__all__ = ["ErrorReply", "Log", "Notebook", "RecordedConnection", "RecordedQueue", "Recorder", "answer_of"]

T = TypeVar("T")

CERTAIN: Final = frozenset(
    "QueueDoesNotExistError QueueAlreadyExistsError QueueClosedError QueueInUseError QueueFullError "
    "QueueEmptyError ConnectionFailedError TypeError ValueError Unsupported".split()
)
"""The errors behind which nothing was done, or of a ``put_many`` what ``done`` says."""

REPLIES: Final[Mapping[str, bytes]] = {
    "LPUSH": b":", "RPUSH": b":", "LLEN": b":", "LREM": b":", "DEL": b":", "LPOP": b"$*", "RPOP": b"$*",
    "LINDEX": b"$", "LMOVE": b"$", "BLPOP": b"*", "BRPOP": b"*", "LRANGE": b"*", "LTRIM": b"+",
}  # fmt: skip
"""The first byte of a command's replies, where these commands are recorded; any other reply is wrong."""

Note = Callable[[Operation], None]


class Notebook:
    """What several recorders of one process noted; each operation once."""

    def __init__(self) -> None:
        self._noted: dict[tuple[str, int], Operation] = {}

    def __call__(self, operation: Operation) -> None:
        """Notes an operation; its end replaces its beginning."""
        self._noted[operation.client, operation.invoked] = operation

    @property
    def operations(self) -> list[Operation]:
        """All, as they began."""
        noted = self._noted.copy()  # somebody who is stuck may go on
        return sorted(noted.values(), key=lambda operation: operation.invoked)


class Log:
    """A file of records that outlives its process."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def __call__(self, operation: Operation) -> None:
        """Notes an operation; it is not lost when the process is killed after it."""
        os.write(self._file, json.dumps(record_of(operation)).encode() + b"\n")


class Recorder:
    """Records what one client does.

    Args:
        client: its name in the history.
        note: takes what is recorded.
    """

    def __init__(self, client: str, note: Note) -> None:
        self.client = client
        self._note = note
        self._last = 0

    def moment(self) -> int:
        """This moment; never the same one twice."""
        self._last = max(time.monotonic_ns(), self._last + 1)
        return self._last

    def saw(self, queue: str, name: str) -> None:
        """Notes something that was seen of the client, such as ``blocked``."""
        now = self.moment()
        self._note(Operation(self.client, queue, name, (), None, now, now))

    def call(
        self, queue: str, name: str, argument: Sequence[bytes], work: Callable[[], T],
        answer: Callable[[T], tuple[bytes, ...] | None] = lambda _: None,
    ) -> T:  # fmt: skip
        """Does something, and records it.

        Args:
            queue: where.
            name: of the operation.
            argument: its words.
            work: does it.
            answer: the words of what ``work`` returns.
        """
        begun = Operation(self.client, queue, name, tuple(argument), None, self.moment(), None, "open")
        self._note(begun)
        try:
            result = work()
        except Exception as error:
            kind, done = _certain(error), getattr(error, "done", 0) if name == "put_many" else 0
            if kind is not None and done is not None:
                put = (b"%d" % done,) if name == "put_many" else None
                self._note(replace(begun, returned=self.moment(), outcome="error", result=put, error=kind))
            raise
        self._note(replace(begun, returned=self.moment(), outcome="ok", result=answer(result)))
        return result


class ErrorReply(ValueError):  # noqa: N818  (what it is called)
    """The server answered with an error; nothing was done."""


def _certain(error: Exception) -> str | None:
    """The name of an error, if nothing was done."""
    if isinstance(error, ErrorReply):
        return str(error).partition(" ")[0]
    return next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in CERTAIN), None)


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class RecordedQueue:
    """A queue client whose operations are recorded: the methods of ``pressure.Queue`` that move values.

    Args:
        client: the one under test.
        recorder: of it.
        name: of the queue in the history.
    """

    def __init__(self, client: Any, recorder: Recorder, name: str = "jobs") -> None:
        self._client = client
        self._recorder = recorder
        self._name = name

    def _call(
        self, name: str, argument: Sequence[bytes], work: Callable[[], T],
        answer: Callable[[T], tuple[bytes, ...] | None] = lambda _: None,
    ) -> T:  # fmt: skip
        return self._recorder.call(self._name, name, argument, work, answer)

    def put(self, value: bytes, *args: Any, **options: Any) -> None:
        """Puts a value."""
        self._call("put", [value], lambda: self._client.put(value, *args, **options))

    def put_many(self, values: Sequence[bytes], *args: Any, **options: Any) -> None:
        """Puts values."""
        self._call("put_many", values, lambda: self._client.put_many(values, *args, **options))

    def get(self, *args: Any, **options: Any) -> bytes:
        """Gets a value."""
        return self._call("get", (), lambda: _bytes(self._client.get(*args, **options)), lambda got: (got,))

    def get_many(self, max: int, *args: Any, **options: Any) -> list[bytes]:  # noqa: A002
        """Gets values."""
        return self._call(
            "get_many", [b"%d" % max],
            lambda: [_bytes(value) for value in self._client.get_many(max, *args, **options)], tuple,
        )  # fmt: skip

    @contextmanager
    def receive(self, *args: Any, **options: Any) -> Iterator[Any]:
        """Receives a value for the length of a block."""
        block = self._client.receive(*args, **options)
        message = self._call("receive", (), block.__enter__, lambda got: (_bytes(got.data),))
        data = [_bytes(message.data)]
        try:
            yield message
        except BaseException as error:
            self._put_back(block, data, error)
            raise
        self._call("ack", data, lambda: block.__exit__(None, None, None))

    def _put_back(self, block: Any, data: list[bytes], error: BaseException) -> None:
        notes = len(getattr(error, "__notes__", ()))

        def leave() -> None:
            block.__exit__(*sys.exc_info())
            if len(getattr(error, "__notes__", ())) > notes:  # its way to say that it could not
                raise ConnectionError

        try:
            self._call("put_back", data, leave)
        except ConnectionError:
            return

    def shutdown(self, *args: Any, **options: Any) -> None:
        """Closes the queue."""
        self._call("close", (), lambda: self._client.shutdown(*args, **options))

    def disconnect(self) -> None:
        """Hangs up."""
        self._client.disconnect()


class RecordedConnection:
    """A raw connection whose commands are recorded, each with its key as the queue.

    Args:
        connection: the connection.
        recorder: of the client.
    """

    def __init__(self, connection: RawConnection, recorder: Recorder) -> None:
        self._connection = connection
        self._recorder = recorder

    def command(self, name: str, key: str, *argument: str | bytes) -> tuple[bytes, ...] | None:
        """Sends a command; the words of its reply. After an exception the connection is of no use."""
        words = [each.encode() if isinstance(each, str) else each for each in argument]

        def ask() -> tuple[bytes, ...] | None:
            reply = self._connection.command(name, key, *words)
            if reply[:1] not in REPLIES.get(name.upper(), reply[:1]) + b"-":
                raise Failure(
                    f"{name} was answered by {reply[:80]!r}, which is not the type of reply that it has"
                )
            return answer_of(reply)

        return self._recorder.call(key, name.upper(), words, ask, lambda answer: answer)


ARRAYS: Final = {b"*": 1, b"~": 1, b"%": 2}
"""Arrays, and the sets and maps of RESP3, with how many items each of their elements has."""


def answer_of(reply: bytes) -> tuple[bytes, ...] | None:
    """The words of a reply as it is on the wire: a number is its digits, any null is None.

    Raises:
        ErrorReply: it is an error.
        Failure: it is an array of anything but strings.
    """
    kind, line = reply[:1], reply[1:].split(b"\r\n", 1)[0]
    if kind == b"-":
        raise ErrorReply(line.decode("latin-1"))
    if kind == b"_" or (line == b"-1" and kind in {b"$", b"*"}):
        return None
    if kind in ARRAYS:
        return tuple(_items(reply, 1 + len(line) + 2, int(line) * ARRAYS[kind]))
    return (reply[3 + len(line) : -2],) if kind == b"$" else (line,)


def _items(reply: bytes, at: int, count: int) -> Iterator[bytes]:
    for _ in range(count):
        if reply[at : at + 1] != b"$" or reply[at + 1 : at + 2] == b"-":
            raise Failure(f"the reply {reply[:80]!r} has an item that is not a string")
        begin = reply.index(b"\r\n", at) + 2
        end = begin + int(reply[at + 1 : begin - 2])
        yield reply[begin:end]
        at = end + 2
