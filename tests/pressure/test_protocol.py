"""The operations as generators: the test scripts the replies and the time; there is no server."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import pressure.protocol
from pressure import (
    QueueClosedError,
    QueueDoesNotExistError,
    QueueEmptyError,
    QueueFullError,
    QueueInUseError,
    ServerReplyError,
    protocol,
)
from pressure.identity import client_id, name_in
from pressure.keys import SUFFIXES, Keys
from pressure.protocol import Batch, Context, Operation, Patience, Pause, Server, Step, Wait
from pressure.protocol.roles import PRODUCER
from pressure.protocol.scripted import Answer, Run, problem
from pressure.protocol.steps import carrying
from pressure.protocol.vitals import LOOK_APART

KEYS = Keys.of("q", "p")
ME = b"host:1/main/00000000"
OK, NULL, QUEUED = b"OK", None, b"QUEUED"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def context(clock: Callable[[], float] | None = None) -> Context:
    return Context(KEYS, ME, clock or Clock(), 1.0)


def words(step: Step) -> list[str]:
    """The commands of a step as text, keys without their root."""
    assert isinstance(step, Batch)
    return [
        " ".join(
            re.sub("^p:q", "", word.decode()) or "queue" if isinstance(word, bytes) else str(word)
            for word in command
        )
        for command in step.commands
    ]


class Play:
    """Runs an operation against scripted replies and records what it sent."""

    def __init__(self, operation: Operation[Any]) -> None:
        self.operation = operation
        self.step: Step | None = next(operation)
        self.result: Any = None
        self.error: BaseException | None = None

    def _go(self, advance: Callable[[], Step]) -> None:
        try:
            self.step = advance()
        except StopIteration as stop:
            self.step, self.result = None, stop.value
        except BaseException as error:
            self.step, self.error = None, error

    def reply(self, *replies: Any) -> Play:
        if isinstance(self.step, Batch):
            assert len(replies) == len(self.step.commands), words(self.step)
        self._go(lambda: self.operation.send(list(replies)))
        return self

    def throw(self, error: BaseException) -> Play:
        self._go(lambda: self.operation.throw(error))
        return self

    @property
    def sent(self) -> list[str]:
        assert self.step is not None, self.error
        return words(self.step)


def put(block: bool = True, timeout: float | None = None, **options: Any) -> Play:
    ctx = context()
    return Play(protocol.put(ctx, b"v", Patience.of(ctx, block, timeout), **options))


def get(block: bool = True, timeout: float | None = None) -> Play:
    ctx = context()
    return Play(protocol.get(ctx, Patience.of(ctx, block, timeout)))


def test_a_get_that_waited_returns_its_value_when_scripts_turn_out_to_be_refused_meanwhile() -> None:
    ctx = Context(KEYS, ME, Clock(), 1.0, Server(scripts=True))
    play = Play(protocol.get(ctx, Patience.of(ctx)))
    play.reply([b"wait", 0, b"", b"", b"", []])
    ctx.server.scripts = False  # what is known of the server is shared by all threads
    play.reply([b"queue", b"v"], b"0", 0)
    assert play.sent == ["WATCH :consumer", "GET :consumer"]
    assert isinstance(play.step, Batch)
    assert play.step.taken == (b"v",)
    play.reply(OK, ME).reply(*[QUEUED] * 6, [1, OK, 1, 1, 1])
    assert (play.result, play.error) == (b"v", None)


class StopError(Exception):
    """Why an operation is to stop."""


def test_carrying_adds_its_values_to_each_batch_and_passes_on_errors_and_close() -> None:
    log: list[str] = []

    def body(steps: int) -> Operation[int]:
        try:
            for _ in range(steps):
                yield Batch((), taken=(b"2",))
        except StopError:
            log.append("stopped")
            yield Batch(((b"UNWATCH",),))
        finally:
            log.append("over")
        return steps

    with pytest.raises(StopIteration) as stop:
        next(carrying([b"1"], body(0)))
    assert stop.value.value == 0
    play = Play(carrying([b"1"], body(1)))
    assert play.step == Batch((), taken=(b"1", b"2"))
    play.throw(StopError())
    assert play.step == Batch(((b"UNWATCH",),), taken=(b"1",))
    assert play.reply(OK).result == 1
    carried = carrying([], body(1))
    next(carried)
    carried.close()
    assert log == ["over", "stopped", "over", "over"]


def test_a_put_with_room_is_three_round_trips() -> None:
    play = put()
    assert play.sent == ["EXISTS :bound", "EXISTS :closed", "RPOP :producer_free"]
    play.reply(1, 0, b"0")
    assert play.sent == [
        f"SET :producer {ME.decode()}",
        "WATCH :producer :bound",
        "EXISTS :closed",
        "RPOP :not_full",
        "GET :bound",
        "LLEN queue",
    ]
    play.reply(OK, OK, 0, b"0", b"5", 3)
    assert play.sent == [
        "MULTI",
        "LPUSH queue v",
        "INCRBY :stats:produced_messages 1",
        "INCRBY :stats:produced_bytes 1",
        "LPUSH :not_full 0",
        "LTRIM :not_full 0 0",
        "LPUSH :producer_free 0",
        "EXEC",
    ]
    play.reply(OK, *[QUEUED] * 6, [4, 1, 1, 1, OK, 1])
    assert (play.step, play.error) == (None, None)


@pytest.mark.parametrize(("length", "room"), [(5, False), (4, True)])
def test_a_put_at_the_bound_refills_the_token_by_the_length_that_the_push_returned(
    length: int, room: bool
) -> None:
    play = put().reply(1, 0, b"0").reply(OK, OK, 0, b"0", b"5", 4)
    assert play.sent[-2:] == ["WATCH :producer", "GET :producer"]
    assert "LPUSH :not_full 0" not in play.sent
    play.reply(OK, *[QUEUED] * 3, [length, 1, 1], OK, ME)
    refill = ["LPUSH :not_full 0", "LTRIM :not_full 0 0"] if room else []
    assert play.sent == ["MULTI", *refill, "LPUSH :producer_free 0", "EXEC"]


def test_a_get_with_a_value_is_three_round_trips() -> None:
    play = get()
    assert play.sent == ["EXISTS :bound", "EXISTS :closed", "RPOP :consumer_free"]
    play.reply(1, 0, b"0")
    assert play.sent == [
        f"SET :consumer {ME.decode()}",
        "WATCH :consumer",
        "EXISTS :closed",
        "RPOP queue",
        "GET :bound",
        "LLEN queue",
    ]
    play.reply(OK, OK, 0, b"value", b"5", 4)
    assert play.sent == [
        "MULTI",
        "LPUSH :not_full 0",
        "LTRIM :not_full 0 0",
        "INCRBY :stats:consumed_messages 1",
        "INCRBY :stats:consumed_bytes 5",
        "LPUSH :consumer_free 0",
        "EXEC",
    ]
    play.reply(OK, *[QUEUED] * 5, [1, OK, 1, 1, 1])
    assert play.result == b"value"


def test_a_get_from_an_overfilled_queue_does_not_refill_the_token() -> None:
    play = get().reply(1, 0, b"0").reply(OK, OK, 0, b"v", b"5", 5)
    assert not [command for command in play.sent if "not_full" in command]


def test_a_get_during_a_delete_keeps_its_value_and_writes_nothing_but_its_release() -> None:
    play = get().reply(1, 0, b"0").reply(OK, OK, 0, b"v", NULL, 3)
    assert play.sent == ["MULTI", "LPUSH :consumer_free 0", "EXEC"]
    assert play.reply(OK, QUEUED, [1]).result == b"v"


def test_a_get_whose_role_was_taken_away_keeps_its_value() -> None:
    play = get().reply(1, 0, b"0").reply(OK, OK, 0, b"v", b"5", 3)
    assert play.reply(OK, *[QUEUED] * 5, NULL).result == b"v"


def test_a_get_that_pops_a_mark_of_close_pushes_it_back_and_tries_the_queue_again() -> None:
    play = get().reply(1, 0, b"0").reply(OK, OK, 0, NULL, b"5", 0)
    assert isinstance(play.step, Wait)
    assert play.sent == ["BRPOP queue :closed 1.000", "GET :bound", "LLEN queue"]
    play.reply([KEYS.closed, b"mark"], b"5", 1)
    assert play.sent == ["LPUSH :closed mark", "RPOP queue", "GET :bound", "LLEN queue"]
    assert play.reply(2, b"last", b"5", 0).reply(OK, *[QUEUED] * 5, [1] * 5).result == b"last"


ERROR = ServerReplyError("OOM command not allowed")
OURS = [OK, OK, ME]
RELEASE = {"producer": "LPUSH :producer_free 0", "consumer": "LPUSH :consumer_free 0"}
TOKEN = ["LPUSH :not_full 0", "LTRIM :not_full 0 0"]
WITH_ROLE = [1, 0, b"0"]

#: What an operation was answered -> the error it raises, and what it gives back before.
WAYS_OUT: dict[str, tuple[Callable[[], Play], list[list[Any]], type[Exception], list[str]]] = {
    "put: closed meanwhile": (
        put,
        [WITH_ROLE, [OK, OK, 1, b"0", b"5", 0]],
        QueueClosedError,
        [*TOKEN, RELEASE["producer"]],
    ),
    "put: deleted meanwhile": (
        put,
        [WITH_ROLE, [OK, OK, 0, NULL, NULL, 0]],
        QueueDoesNotExistError,
        [RELEASE["producer"]],
    ),
    "put: full": (
        lambda: put(block=False),
        [WITH_ROLE, [OK, OK, 0, NULL, b"5", 5]],
        QueueFullError,
        [RELEASE["producer"]],
    ),
    "put: an error beside the token": (
        put,
        [WITH_ROLE, [OK, OK, 0, b"0", b"5", ERROR]],
        ServerReplyError,
        [*TOKEN, RELEASE["producer"]],
    ),
    "put: the transaction refused": (
        put,
        [WITH_ROLE, [OK, OK, 0, b"0", b"5", 0], [OK, ERROR, *[QUEUED] * 5, ERROR]],
        ServerReplyError,
        [*TOKEN, RELEASE["producer"]],
    ),
    "put: deleted before the transaction": (
        put,
        [WITH_ROLE, [OK, OK, 0, b"0", b"5", 0], [OK, *[QUEUED] * 6, NULL], [NULL, ME]],
        QueueDoesNotExistError,
        [*TOKEN, RELEASE["producer"]],
    ),
    "put: deleted while waiting for room": (
        put,
        [WITH_ROLE, [OK, OK, 0, NULL, b"5", 5], [[KEYS.not_full, b"0"], NULL, 5]],
        QueueDoesNotExistError,
        [*TOKEN, RELEASE["producer"]],
    ),
    "get: empty": (
        lambda: get(block=False),
        [WITH_ROLE, [OK, OK, 0, NULL, b"5", 0]],
        QueueEmptyError,
        [RELEASE["consumer"]],
    ),
    "get: closed and empty": (
        get,
        [WITH_ROLE, [OK, OK, 1, NULL, b"5", 0]],
        QueueClosedError,
        [RELEASE["consumer"]],
    ),
    "get: deleted while waiting": (
        get,
        [WITH_ROLE, [OK, OK, 0, NULL, b"5", 0], [NULL, NULL, 0]],
        QueueDoesNotExistError,
        [RELEASE["consumer"]],
    ),
    "get: an error while waiting": (
        get,
        [WITH_ROLE, [OK, OK, 0, NULL, b"5", 0], [ERROR, b"5", 0]],
        ServerReplyError,
        [RELEASE["consumer"]],
    ),
}


@pytest.mark.parametrize("way", WAYS_OUT)
def test_the_role_is_given_back_however_an_operation_ends(way: str) -> None:
    start, script, error, given_back = WAYS_OUT[way]
    play = start()
    for replies in script:
        play.reply(*replies)
    assert play.sent[0] == "UNWATCH"
    play.reply(*OURS)
    assert play.sent == ["MULTI", *given_back, "EXEC"]
    play.reply(OK, *[QUEUED] * len(given_back), [1] * len(given_back))
    assert isinstance(play.error, error)


@pytest.mark.parametrize("way", WAYS_OUT)
def test_a_role_that_another_client_holds_is_not_given_back(way: str) -> None:
    start, script, error, _ = WAYS_OUT[way]
    play = start()
    for replies in script:
        play.reply(*replies)
    play.reply(OK, OK, b"another")
    if len(play.sent) > 1:  # a token that was popped goes back, or another producer waits for it for ever
        assert play.sent == ["UNWATCH", "WATCH :bound", "EXISTS :bound"]
        play.reply(OK, OK, 1)
        assert play.sent == ["MULTI", "LPUSH :not_full 0", "LTRIM :not_full 0 0", "EXEC"]
        play.reply(OK, QUEUED, QUEUED, [1, OK])
    else:
        assert play.sent == ["UNWATCH"]
        play.reply(OK)
    assert isinstance(play.error, error)


@pytest.mark.parametrize(
    ("replies", "error"),
    [
        ([0, 0, b"0"], QueueDoesNotExistError),
        ([1, 1, b"0"], QueueClosedError),
        ([ERROR, 0, b"0"], ServerReplyError),
    ],
)
def test_a_role_popped_by_an_operation_that_cannot_start_is_given_back_at_once(
    replies: list[Any], error: type[Exception]
) -> None:
    play = put().reply(*replies)
    assert play.sent == ["LPUSH :producer_free 0"]
    assert isinstance(play.reply(1).error, error)


def test_a_client_that_could_not_write_its_id_gives_the_role_back_without_reading_it() -> None:
    play = put().reply(*WITH_ROLE).reply(ERROR, OK, 0, NULL, b"5", 0)
    assert play.sent == ["UNWATCH", "LPUSH :producer_free 0"]
    play.reply(OK, ERROR)
    assert play.error is not None
    assert "repair frees it" in play.error.__notes__[0]


@pytest.mark.parametrize("start", [put, get])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("stop")])
def test_an_exception_during_a_wait_gives_the_role_back_and_is_raised(
    start: Callable[[], Play], error: BaseException
) -> None:
    play = start().reply(*WITH_ROLE).reply(OK, OK, 0, NULL, b"1", 1)
    assert isinstance(play.step, Wait)
    play.throw(error).reply(*OURS)
    assert play.sent[0] == "MULTI"
    assert play.sent[1] in RELEASE.values()
    assert play.reply(OK, QUEUED, [1]).error is error


@pytest.mark.parametrize("start", [put, get])
def test_an_operation_whose_connection_is_lost_sends_nothing_more(start: Callable[[], Play]) -> None:
    play = start().reply(*WITH_ROLE).reply(OK, OK, 0, NULL, b"1", 1)
    play.operation.close()


def test_one_deadline_holds_for_all_slices_of_all_waits() -> None:
    clock = Clock()
    ctx = context(clock)
    play = Play(protocol.put(ctx, b"v", Patience.of(ctx, True, 2.5)))
    seconds: list[float] = []
    play.reply(1, 0, NULL)
    for popped in (NULL, [KEYS.producer_free, b"0"]):
        assert isinstance(play.step, Wait)
        seconds.append(play.step.seconds)
        clock.now += play.step.seconds
        play.reply(popped, 1, 0)
    play.reply(OK, OK, 0, NULL, b"5", 5)
    assert isinstance(play.step, Wait)
    seconds.append(play.step.seconds)
    clock.now += play.step.seconds
    play.reply(NULL, b"5", 5)
    assert seconds == [1.0, 1.0, 0.5]
    assert type(play.step) is Batch
    assert play.sent[0] == "RPOP :not_full"
    play.reply(NULL, b"5", 5).reply(*OURS).reply(OK, QUEUED, [1])
    assert isinstance(play.error, QueueFullError)


@pytest.mark.parametrize("timeout", [0.0, 0.0004, 0.004])
def test_a_wait_is_never_rounded_to_0(timeout: float) -> None:
    play = get(timeout=timeout).reply(1, 0, NULL)
    assert type(play.step) is Batch
    assert play.sent[0] == "RPOP :consumer_free"
    play.reply(NULL, 1, 0).reply(b"somebody")
    assert isinstance(play.error, QueueInUseError)


@pytest.mark.parametrize(("lease", "told"), [(None, 0), (0.0001, 1), (0.0014, 1), (0.0016, 2), (2.5, 2500)])
def test_a_lease_is_sent_in_milliseconds_at_least_1(lease: float | None, told: int) -> None:
    made = Context(KEYS, ME, Clock(), lease=lease)
    assert (made.lease_ms, made.slice) == (told, 1.0)


MEBIBYTE = 1 << 20


@pytest.mark.parametrize(
    ("sizes", "stored", "sent"),
    [
        ([1] * 1001, 0, 1000),
        ([1] * 2100, 1000, 1000),
        ([1] * 2100, 2000, 100),
        ([MEBIBYTE, 1], 0, 1),
        ([MEBIBYTE - 1, 1], 0, 2),
        ([MEBIBYTE - 1, 2], 0, 1),
        ([MEBIBYTE + 1, 1], 0, 1),
        ([1, 2 * MEBIBYTE, 2 * MEBIBYTE], 1, 1),
        ([MEBIBYTE, 1, 1, MEBIBYTE], 1, 2),
    ],
)
def test_a_script_gets_at_most_a_thousand_values_or_a_mebibyte_but_at_least_one_value(
    sizes: list[int], stored: int, sent: int
) -> None:
    values = [bytes(size) for size in sizes]
    assert Run(values, stored).next() == values[stored : stored + sent]


@pytest.mark.parametrize(
    ("refusal", "goes_on"),
    [
        ("NOPERM this user may not", True),
        ("ERR unknown command 'EVALSHA'", True),
        ("ERR something else", False),
        ("BUSY with a script", False),
        ("OOM no memory", False),
    ],
)
def test_only_a_client_that_may_not_run_scripts_falls_back_to_batches(refusal: str, goes_on: bool) -> None:
    ctx = Context(KEYS, ME, Clock(), server=Server(scripts=True))
    play = Play(protocol.put(ctx, b"v", Patience.of(ctx))).reply(ServerReplyError(refusal))
    if goes_on:
        assert play.sent[0] == "EXISTS :bound"
    else:
        assert isinstance(play.error, ServerReplyError)
    assert ctx.server.scripts is not goes_on


STATUSES: dict[bytes, type[Exception] | None] = {
    b"ok": None,
    b"wait": None,
    b"gone": QueueDoesNotExistError,
    b"closed": QueueClosedError,
    b"busy": QueueInUseError,
    b"lost": QueueInUseError,
    b"full": QueueFullError,
    b"empty": QueueEmptyError,
    b"error": ServerReplyError,
    b"a status": ServerReplyError,
    b"zero": ServerReplyError,
}


@pytest.mark.parametrize("stuck", [b"", b"NOPERM no"])
@pytest.mark.parametrize(("status", "kind"), STATUSES.items())
def test_each_status_that_a_script_returns_becomes_its_error(
    status: bytes, kind: type[Exception] | None, stuck: bytes
) -> None:
    status = bytes(bytearray(status))  # as from a server, no object that the program has
    error = problem(context(), PRODUCER, Answer(status, 0, b"NOPERM no", b"", stuck, []))
    assert type(error) is (kind or type(None))
    assert len(getattr(error, "__notes__", ())) == (1 if stuck and error else 0)


@pytest.mark.parametrize(
    ("bound", "kind"),
    [(b"many", "is not a number of 0 or more: "), (b"-1", "is not a number of 0 or more: ")],
)
def test_a_script_that_finds_no_bound_says_what_it_found(bound: bytes, kind: str) -> None:
    error = problem(context(), PRODUCER, Answer(b"bound", 0, bound, b"", b"", []))
    assert kind in str(error)


@pytest.mark.parametrize(
    ("detail", "text"),
    [
        (b"OOM no memory", "OOM no memory"),
        (b"@user_script: 12: -OOM no memory", "OOM no memory"),
        (b"@user_script:12: OOM no memory", "OOM no memory"),
        (b"ERR The user executing the script can't", "NOPERM the user can't"),
        (b"The user executing the script can't", "NOPERM the user can't"),
    ],
)
def test_an_error_in_a_script_has_the_text_of_a_commands_error(detail: bytes, text: str) -> None:
    assert str(problem(context(), PRODUCER, Answer(b"error", 0, detail, b"", b"", []))) == text


def test_operations_are_documented() -> None:
    assert protocol.get_many(context(), Patience.of(context()), 1)
    assert "Raises:" in str(protocol.get_many.__doc__)


def test_create_is_one_transaction_under_watch() -> None:
    play = Play(protocol.create(context(), 7))
    count = len(play.sent) - 1
    assert play.sent[0].startswith("WATCH :bound ")
    play.reply(OK, *[0] * count)
    pushes = [f"LPUSH :{which} 0" for which in ("producer_free", "consumer_free", "not_full")]
    assert play.sent == ["MULTI", "SET :bound 7", *pushes, "EXEC"]
    play.reply(OK, *[QUEUED] * 4, NULL)  # somebody was faster: look again
    assert play.sent[0].startswith("WATCH ")


def test_delete_sends_its_steps_in_order() -> None:
    ctx = context()
    play = Play(protocol.delete(ctx, Patience.of(ctx)))
    log: list[str] = []
    script: Iterable[list[Any]] = [
        [OK, 5],
        [OK, QUEUED, QUEUED, QUEUED, [1, 1, 2]],
        [b"0", ME],
        [1],
        [b"0", ME],
        [1],
        [7],
    ]
    for replies in script:
        log += play.sent
        play.reply(*replies)
    assert play.error is None
    assert [command for command in log if not command.startswith(("WATCH", "EXISTS", "GET"))] == [
        "MULTI",
        "DEL :bound",
        "LPUSH :not_full 0",
        "LPUSH :closed 0 0",
        "EXEC",
        "RPOP :producer_free",
        "DEL :producer_free :producer",
        "RPOP :consumer_free",
        "DEL :consumer_free :consumer",
        (
            "DEL :bound :producer_free :producer :consumer_free :consumer :not_full :closed "
            ":stats:produced_messages :stats:produced_bytes :stats:consumed_messages :stats:consumed_bytes "
            "queue :unacked :rejected"
        ),
    ]


def test_repair_looks_twice_five_seconds_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sys.modules["pressure.protocol.repair"], "LOOK_APART", LOOK_APART
    )  # as it is for users
    play = Play(protocol.repair(context()))
    info = [b"id=1 name=other:9 db=0\n", 1, [b"timeout", b"0"]]
    info += [b"uptime_in_seconds:99\n", b"role:master\nmaster_replid2:00\n"]
    look = [b"5", 4, 1, 0, 0, 1, ME, NULL, *info, -1, -2]
    play.reply(*look)
    assert play.step == Pause(5.0)
    play.reply().reply(*look)
    assert play.sent == [
        "WATCH :producer_free :producer :unacked :closed",
        "LLEN :producer_free",
        "GET :producer",
        "LLEN :unacked",
        "LLEN :closed",
    ]
    play.reply(OK, 0, ME, 0, 0)
    assert play.sent == ["MULTI", "DEL :producer", "LPUSH :producer_free 0", "EXEC"]


def test_the_operations_do_no_io_and_read_no_clock() -> None:
    folder = Path(pressure.protocol.__file__).parent
    allowed = set(
        "pressure collections dataclasses enum functools hashlib itertools re typing warnings __future__".split()
    )
    for module in folder.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name.partition(".")[0] for name in names} <= allowed, module


def test_a_queue_has_the_twelve_documented_keys() -> None:
    assert [key.decode() for key in Keys.of(b"q", b"p").twelve] == [
        "p:q" + suffix.decode() for field, suffix in SUFFIXES.items() if field not in ("unacked", "rejected")
    ]
    assert len(KEYS.twelve) == 12
    assert KEYS.produced_bytes == b"p:q:stats:produced_bytes"


def test_client_ids_of_this_package_are_recognized_and_no_others() -> None:
    assert name_in(client_id()) is not None
    assert name_in(b"web-1.example:77/worker_3/0123abcd") == b"web-1.example:77"
    for other in (b"", b"host:1", b"host:1/t", b"host:1/t/xyz", b"host:x/t/0123abcd", b"a b:1/t/0123abcd"):
        assert name_in(other) is None


@pytest.mark.parametrize("now", [[1, ME], [0, b"another"], [0, NULL]])
def test_repair_frees_no_role_whose_holder_has_changed(now: list[Any]) -> None:
    play = Play(protocol.repair(context(), force=True)).reply(b"5", 4, 1, 0, 0, 1, ME, NULL)
    play.reply(OK, *now, 0, 0)
    assert play.sent == ["UNWATCH"]
    play.reply(OK)
    assert play.sent[0] == "WATCH :consumer_free :unacked"
    play.reply(OK, 1, 0).reply(OK)
    assert play.sent[0] == "LLEN :consumer_free"
    play.reply(1, OK)
    assert play.sent[0] == "WATCH :consumer_free :closed"
    play.reply(OK, 1, 0).reply(OK)
    assert play.result.done == ()
    assert play.result.left == ("did not free the producer role: its holder changed during the repair",)
