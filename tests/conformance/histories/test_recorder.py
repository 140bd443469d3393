"""The recorder: what it writes of queues and raw connections, and which operations it leaves open."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.histories import Operation, read
from conformance.histories.recorder import (
    ErrorReply,
    Log,
    Notebook,
    RecordedConnection,
    RecordedQueue,
    Recorder,
    answer_of,
)
from conformance.judging.environment import Failure, Unsupported
from conformance.targets import Address
from conformance.wire import RawConnection
from pressure import (
    ConnectionFailedError,
    OutcomeUnknownError,
    Queue,
    QueueClosedError,
    QueueEmptyError,
    QueueFullError,
    QueueInUseError,
    ServerReplyError,
)
from tests.cases import for_each


class Playing:
    """A client whose operations do what they are told to."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.put = self.put_many = self.get = self.get_many = self.shutdown = lambda *_, **__: act()


def recorded(act: Callable[[], Any]) -> tuple[RecordedQueue, Notebook]:
    notebook = Notebook()
    return RecordedQueue(Playing(act), Recorder("c", notebook)), notebook


def raising(error: BaseException) -> Callable[[], Any]:
    def act() -> Any:
        raise error

    return act


CERTAIN = [QueueFullError, QueueEmptyError, QueueInUseError, QueueClosedError, ConnectionFailedError]
UNKNOWN = [OutcomeUnknownError, ServerReplyError, TimeoutError, OSError, KeyboardInterrupt]


@pytest.mark.parametrize("kind", CERTAIN)
def test_an_error_that_means_nothing_was_done_ends_its_operation(kind: type[Exception]) -> None:
    queue, notebook = recorded(raising(kind("why")))
    with pytest.raises(kind):
        queue.get()
    (one,) = notebook.operations
    assert (one.outcome, one.error, one.result) == ("error", kind.__name__, None)
    assert one.returned is not None
    assert one.returned > one.invoked


@pytest.mark.parametrize("kind", UNKNOWN)
def test_any_other_error_leaves_its_operation_open(kind: type[BaseException]) -> None:
    queue, notebook = recorded(raising(kind("why")))
    with pytest.raises(kind):
        queue.put(b"a")
    (one,) = notebook.operations
    assert (one.outcome, one.returned, one.argument) == ("open", None, (b"a",))


def test_a_put_many_that_failed_is_recorded_with_the_number_of_values_put() -> None:
    error = QueueFullError("why")
    error.done = 2
    queue, notebook = recorded(raising(error))
    with pytest.raises(QueueFullError):
        queue.put_many([b"a", b"b", b"c"])
    (one,) = notebook.operations
    assert (one.outcome, one.result, one.argument) == ("error", (b"2",), (b"a", b"b", b"c"))


def test_an_operation_is_recorded_when_it_begins() -> None:
    seen: list[Operation] = []
    queue, notebook = recorded(lambda: seen.extend(notebook.operations))
    queue.shutdown()
    assert [(each.name, each.outcome) for each in seen] == [("close", "open")]
    assert [(each.name, each.outcome) for each in notebook.operations] == [("close", "ok")]


@pytest.mark.parametrize("server", ["embedded_server", "real_server"])
def test_every_operation_of_a_queue_is_recorded_with_its_outcome(
    server: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    address: Address = request.getfixturevalue(server)
    with Queue("recorded", url=address.url) as client:
        client.create()
        queue = RecordedQueue(client, Recorder("c", Log(tmp_path / "log")), "q")
        queue.put(b"a")
        queue.put_many([b"b", b"c", b"d"])
        assert queue.get() == b"a"
        with queue.receive() as message:
            assert message.data == b"b"
        with suppress(ZeroDivisionError), queue.receive():
            raise ZeroDivisionError
        assert queue.get_many(5) == [b"c", b"d"]
        queue.shutdown()
        with pytest.raises(QueueClosedError):
            queue.get()
        client.delete()
    noted = [str(each).removeprefix("c: ") for each in read(tmp_path / "log").operations]
    assert noted == [
        "put a -> ok",
        "put_many b c d -> ok",
        "get -> a",
        "receive -> b",
        "ack b -> ok",
        "receive -> c",
        "put_back c -> ok",
        "get_many 5 -> c d",
        "close -> ok",
        "get -> QueueClosedError",
    ]


def fail_when_the_role_is_gone(queue: RecordedQueue, client: Queue) -> None:
    with queue.receive():
        client.repair(force=True)
        raise ZeroDivisionError


def test_a_put_back_that_failed_is_recorded_as_open(real_server: Address) -> None:
    notebook = Notebook()
    with Queue("recorded", url=real_server.url) as client:
        client.create()
        queue = RecordedQueue(client, Recorder("c", notebook), "q")
        queue.put(b"a")
        with pytest.raises(ZeroDivisionError):
            fail_when_the_role_is_gone(queue, client)
        client.delete()
    assert [(each.name, each.outcome) for each in notebook.operations][-1] == ("put_back", "open")


@pytest.mark.parametrize("server", ["embedded_server", "real_server"])
def test_every_command_of_a_connection_is_recorded_with_its_outcome(
    server: str, request: pytest.FixtureRequest
) -> None:
    address: Address = request.getfixturevalue(server)
    notebook = Notebook()
    with RawConnection(address.host, address.port) as raw:
        connection = RecordedConnection(raw, Recorder("c", notebook))
        connection.command("rpush", "recorded", "a", b"")
        connection.command("LRANGE", "recorded", "0", "-1")
        connection.command("LPOP", "recorded", "2")
        connection.command("LPOP", "recorded")
        with pytest.raises(ErrorReply, match="ERR"):
            connection.command("LPOP", "recorded", "x")
        connection.command("SET", "recorded", "x")
        with pytest.raises(ErrorReply, match="WRONGTYPE"):
            connection.command("LLEN", "recorded")
        raw.command("DEL", "recorded")
        raw.socket.close()
        with pytest.raises(OSError, match="descriptor"):
            connection.command("LLEN", "recorded")
    assert [(each.name, each.argument, each.result, each.ending) for each in notebook.operations] == [
        ("RPUSH", (b"a", b""), (b"2",), "2"),
        ("LRANGE", (b"0", b"-1"), (b"a", b""), "a "),
        ("LPOP", (b"2",), (b"a", b""), "a "),
        ("LPOP", (), None, "nil"),
        ("LPOP", (b"x",), None, "ERR"),
        ("SET", (b"x",), (b"OK",), "OK"),
        ("LLEN", (), None, "WRONGTYPE"),
        ("LLEN", (), None, "open"),
    ]
    assert {each.queue for each in notebook.operations} == {"recorded"}


@for_each(
    ("reply", "words"),
    [
        (b"+OK\r\n", (b"OK",)),
        (b":3\r\n", (b"3",)),
        (b":-1\r\n", (b"-1",)),
        (b"$2\r\n\r\n\r\n", (b"\r\n",)),
        (b"$-1\r\n", None),
        (b"*-1\r\n", None),
        (b"*0\r\n", ()),
        (b"*2\r\n$1\r\na\r\n$0\r\n\r\n", (b"a", b"")),
    ],
)
def test_replies_are_recorded_as_words(reply: bytes, words: tuple[bytes, ...] | None) -> None:
    assert answer_of(reply) == words


@pytest.mark.parametrize(
    ("name", "reply"), [("LPOP", b"+x\r\n"), ("LLEN", b"$1\r\n1\r\n"), ("LRANGE", b"*1\r\n+x\r\n")]
)
def test_a_reply_of_a_type_that_a_command_never_has_is_reported(name: str, reply: bytes) -> None:
    connection = RecordedConnection(SimpleNamespace(command=lambda *_: reply), Recorder("c", Notebook()))  # type: ignore[arg-type]
    with pytest.raises(Failure, match=re.escape(repr(reply))):
        connection.command(name, "key")


class Unable:
    """A client of another program that cannot put several values."""

    def put_many(self, *_: Any) -> None:
        raise Unsupported("not supported")


def test_what_a_client_does_not_support_was_not_done() -> None:
    notebook = Notebook()
    with pytest.raises(Unsupported):
        RecordedQueue(Unable(), Recorder("c", notebook)).put_many([b"a"])
    assert [(each.outcome, each.result) for each in notebook.operations] == [("error", (b"0",))]


def test_a_put_many_is_open_if_nobody_knows_how_much_was_put() -> None:
    error: Any = QueueFullError("why")
    error.done = None
    queue, notebook = recorded(raising(error))
    with pytest.raises(QueueFullError):
        queue.put_many([b"a", b"b"])
    assert [each.outcome for each in notebook.operations] == ["open"]


def test_no_two_recorded_moments_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic_ns", lambda: 5)
    recorder = Recorder("c", Notebook())
    assert [recorder.moment() for _ in range(3)] == [5, 6, 7]
