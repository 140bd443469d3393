"""The operations as generators: the test scripts the replies and the time; there is no server."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
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
from pressure.identity import connection_in, is_released, released
from pressure.keys import SUFFIXES, Keys
from pressure.pool import HOLDS
from pressure.protocol import Batch, Context, Deadline, NewHold, Operation, Pause, Server, Step, Wait
from pressure.protocol.liveness import PROBE_INTERVAL
from pressure.protocol.operation import with_taken
from pressure.protocol.problems import problem
from pressure.protocol.role import PRODUCER
from pressure.protocol.scripts import PutProgress, ScriptReply

KEYS = Keys.of("q", "p")
ME = b"host:1:00000000/1/1"
MARK = ME.decode() + "/released"
#: What the holder key says when a role is popped.
BEFORE = b"host:2:00000000/1/1/released"
OK, NULL, QUEUED = b"OK", None, b"QUEUED"
ERROR = ServerReplyError("OOM command not allowed")


def pop(popped: Any, exists: Any = 1, closed: int = 0, before: Any = BEFORE) -> list[Any]:
    """The replies to an attempt to pop a role."""
    return [popped, OK, OK, before, exists, closed]


def as_producer(closed: int, token: Any, bound: Any, length: Any, *, said: Any = OK) -> list[Any]:
    """The replies to a producer who says that the role is theirs, and looks around."""
    done = [QUEUED, [OK, token]] if said is OK else [QUEUED, ERROR]
    return [
        OK,
        QUEUED if said is OK else said,
        *done,
        OK,
        ME if said is OK else BEFORE,
        bound,
        length,
        closed,
    ]


def as_consumer(closed: int, value: Any, bound: Any, length: Any) -> list[Any]:
    """The replies to a consumer who says that the role is theirs, and pops a value."""
    return [OK, *[QUEUED] * 5, [OK, closed, value, bound, length], OK, ME]


@pytest.fixture(autouse=True)
def _as_far_apart_as_for_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pressure.protocol.liveness.PROBE_INTERVAL", PROBE_INTERVAL)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def context(clock: Callable[[], float] | None = None) -> Context:
    return Context(KEYS, clock or Clock(), 1.0)


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
        self.step: Step | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self._go(lambda: next(operation))

    def _go(self, advance: Callable[[], Step]) -> None:
        try:
            self.step = advance()
            while isinstance(self.step, NewHold):
                self.step = self.operation.send([ME])
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
    return Play(protocol.put(ctx, b"v", Deadline.of(ctx, block, timeout), **options))


def get(block: bool = True, timeout: float | None = None) -> Play:
    ctx = context()
    return Play(protocol.get(ctx, Deadline.of(ctx, block, timeout)))


def test_a_get_that_waited_returns_its_value_when_scripts_turn_out_to_be_refused_meanwhile() -> None:
    ctx = Context(KEYS, Clock(), 1.0, Server(scripts=True))
    play = Play(protocol.get(ctx, Deadline.of(ctx)))
    play.reply([b"wait", 0, b"", b"", b"", []])
    ctx.server.scripts = False  # what is known of the server is shared by all threads
    play.reply([b"queue", b"v"], b"0", 0)
    assert play.sent == ["WATCH :consumer", "GET :consumer"]
    assert isinstance(play.step, Batch)
    assert play.step.taken == (b"v",)
    play.reply(OK, ME).reply(OK, *[QUEUED] * 6, [1, OK, 1, 1, OK, 1])
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
        next(with_taken([b"1"], body(0)))
    assert stop.value.value == 0
    play = Play(with_taken([b"1"], body(1)))
    assert play.step == Batch((), taken=(b"1", b"2"))
    play.throw(StopError())
    assert play.step == Batch(((b"UNWATCH",),), taken=(b"1",))
    assert play.reply(OK).result == 1
    carried = with_taken([], body(1))
    next(carried)
    carried.close()
    assert log == ["over", "stopped", "over", "over"]


def test_a_put_with_room_is_three_round_trips() -> None:
    play = put()
    assert play.sent == [
        "RPOP :producer_free",
        "UNWATCH",
        "WATCH :producer",
        "GET :producer",
        "EXISTS :bound",
        "EXISTS :closed",
    ]
    play.reply(*WITH_ROLE)
    assert play.sent == [
        "MULTI",
        f"SET :producer {ME.decode()}",
        "RPOP :not_full",
        "EXEC",
        "WATCH :producer :bound",
        "GET :producer",
        "GET :bound",
        "LLEN queue",
        "EXISTS :closed",
    ]
    play.reply(*as_producer(0, b"0", b"5", 3))
    assert play.sent == [
        "MULTI",
        "LPUSH queue v",
        "INCRBY :stats:produced_messages 1",
        "INCRBY :stats:produced_bytes 1",
        "LPUSH :not_full 0",
        "LTRIM :not_full 0 0",
        *RELEASE["producer"],
        "EXEC",
    ]
    play.reply(OK, *[QUEUED] * 7, [4, 1, 1, 1, OK, OK, 1])
    assert (play.step, play.error) == (None, None)


@pytest.mark.parametrize(("length", "room"), [(5, False), (4, True)])
def test_a_put_at_the_bound_refills_the_token_by_the_length_that_the_push_returned(
    length: int, room: bool
) -> None:
    play = put().reply(*WITH_ROLE).reply(*as_producer(0, b"0", b"5", 4))
    assert play.sent[-2:] == ["WATCH :producer", "GET :producer"]
    assert "LPUSH :not_full 0" not in play.sent
    play.reply(OK, *[QUEUED] * 3, [length, 1, 1], OK, ME)
    refill = ["LPUSH :not_full 0", "LTRIM :not_full 0 0"] if room else []
    assert play.sent == ["MULTI", *refill, *RELEASE["producer"], "EXEC"]


def test_a_get_with_a_value_is_three_round_trips() -> None:
    play = get()
    assert play.sent == [
        "RPOP :consumer_free",
        "UNWATCH",
        "WATCH :consumer",
        "GET :consumer",
        "EXISTS :bound",
        "EXISTS :closed",
    ]
    play.reply(*WITH_ROLE)
    assert play.sent == [
        "MULTI",
        f"SET :consumer {ME.decode()}",
        "EXISTS :closed",
        "RPOP queue",
        "GET :bound",
        "LLEN queue",
        "EXEC",
        "WATCH :consumer",
        "GET :consumer",
    ]
    play.reply(*as_consumer(0, b"value", b"5", 4))
    assert play.sent == [
        "MULTI",
        "LPUSH :not_full 0",
        "LTRIM :not_full 0 0",
        "INCRBY :stats:consumed_messages 1",
        "INCRBY :stats:consumed_bytes 5",
        *RELEASE["consumer"],
        "EXEC",
    ]
    play.reply(OK, *[QUEUED] * 6, [1, OK, 1, 1, OK, 1])
    assert play.result == b"value"


def test_a_get_from_an_overfilled_queue_does_not_refill_the_token() -> None:
    play = get().reply(*WITH_ROLE).reply(*as_consumer(0, b"v", b"5", 5))
    assert not [command for command in play.sent if "not_full" in command]


def test_a_get_during_a_delete_keeps_its_value_and_writes_nothing_but_its_release() -> None:
    play = get().reply(*WITH_ROLE).reply(*as_consumer(0, b"v", NULL, 3))
    assert play.sent == ["MULTI", *RELEASE["consumer"], "EXEC"]
    assert play.reply(OK, QUEUED, QUEUED, [OK, 1]).result == b"v"


def test_a_get_whose_role_was_taken_away_keeps_its_value() -> None:
    play = get().reply(*WITH_ROLE).reply(*as_consumer(0, b"v", b"5", 3))
    assert play.reply(OK, *[QUEUED] * 6, NULL).result == b"v"


def test_a_get_that_pops_a_mark_of_close_pushes_it_back_and_tries_the_queue_again() -> None:
    play = get().reply(*WITH_ROLE).reply(*as_consumer(0, NULL, b"5", 0))
    assert isinstance(play.step, Wait)
    assert play.sent == ["BRPOP queue :closed 1.000", "GET :bound", "LLEN queue"]
    play.reply([KEYS.closed, b"mark"], b"5", 1)
    assert play.sent == ["LPUSH :closed mark", "RPOP queue", "GET :bound", "LLEN queue"]
    assert play.reply(2, b"last", b"5", 0).reply(OK, *[QUEUED] * 6, [1] * 6).result == b"last"


OURS = [OK, OK, ME]
RELEASE = {role: [f"SET :{role} {MARK}", f"LPUSH :{role}_free 0"] for role in ("producer", "consumer")}
TOKEN = ["LPUSH :not_full 0", "LTRIM :not_full 0 0"]
WITH_ROLE = pop(b"0")

#: What an operation was answered -> the error it raises, and what it gives back before.
WAYS_OUT: dict[str, tuple[Callable[[], Play], list[list[Any]], type[Exception], list[str]]] = {
    "put: closed meanwhile": (
        put,
        [WITH_ROLE, as_producer(1, b"0", b"5", 0)],
        QueueClosedError,
        [*TOKEN, *RELEASE["producer"]],
    ),
    "put: deleted meanwhile": (
        put,
        [WITH_ROLE, as_producer(0, NULL, NULL, 0)],
        QueueDoesNotExistError,
        RELEASE["producer"],
    ),
    "put: full": (
        lambda: put(block=False),
        [WITH_ROLE, as_producer(0, NULL, b"5", 5)],
        QueueFullError,
        RELEASE["producer"],
    ),
    "put: an error beside the token": (
        put,
        [WITH_ROLE, as_producer(0, b"0", b"5", ERROR)],
        ServerReplyError,
        [*TOKEN, *RELEASE["producer"]],
    ),
    "put: the transaction refused": (
        put,
        [WITH_ROLE, as_producer(0, b"0", b"5", 0), [OK, ERROR, *[QUEUED] * 6, ERROR]],
        ServerReplyError,
        [*TOKEN, *RELEASE["producer"]],
    ),
    "put: deleted before the transaction": (
        put,
        [WITH_ROLE, as_producer(0, b"0", b"5", 0), [OK, *[QUEUED] * 7, NULL], [NULL, ME]],
        QueueDoesNotExistError,
        [*TOKEN, *RELEASE["producer"]],
    ),
    "put: deleted while waiting for room": (
        put,
        [WITH_ROLE, as_producer(0, NULL, b"5", 5), [[KEYS.not_full, b"0"], NULL, 5, 1, NULL]],
        QueueDoesNotExistError,
        [*TOKEN, *RELEASE["producer"]],
    ),
    "get: empty": (
        lambda: get(block=False),
        [WITH_ROLE, as_consumer(0, NULL, b"5", 0)],
        QueueEmptyError,
        RELEASE["consumer"],
    ),
    "get: closed and empty": (
        get,
        [WITH_ROLE, as_consumer(1, NULL, b"5", 0)],
        QueueClosedError,
        RELEASE["consumer"],
    ),
    "get: deleted while waiting": (
        get,
        [WITH_ROLE, as_consumer(0, NULL, b"5", 0), [NULL, NULL, 0]],
        QueueDoesNotExistError,
        RELEASE["consumer"],
    ),
    "get: an error while waiting": (
        get,
        [WITH_ROLE, as_consumer(0, NULL, b"5", 0), [ERROR, b"5", 0]],
        ServerReplyError,
        RELEASE["consumer"],
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
        (pop(b"0", exists=0), QueueDoesNotExistError),
        (pop(b"0", closed=1), QueueClosedError),
        (pop(b"0", exists=ERROR), ServerReplyError),
    ],
)
def test_a_role_popped_by_an_operation_that_cannot_start_is_given_back_unless_it_was_freed(
    replies: list[Any], error: type[Exception]
) -> None:
    play = put().reply(*replies)
    assert play.sent == ["UNWATCH", "WATCH :producer", "GET :producer"]
    play.reply(OK, OK, BEFORE)
    assert play.sent == ["MULTI", "LPUSH :producer_free 0", "EXEC"]
    assert isinstance(play.reply(OK, QUEUED, [1]).error, error)
    play = put().reply(*replies).reply(OK, OK, b"another")
    assert play.sent == ["UNWATCH"]
    assert isinstance(play.reply(OK).error, error)


def test_a_client_that_could_not_write_its_id_gives_the_role_back_unless_it_was_freed() -> None:
    play = put().reply(*WITH_ROLE).reply(*as_producer(0, NULL, b"5", 0, said=ERROR))
    play.reply(OK, OK, BEFORE)
    assert play.sent == ["MULTI", "LPUSH :producer_free 0", "EXEC"]
    play.reply(OK, ERROR, ERROR)
    assert play.error is not None
    assert "repair frees it" in play.error.__notes__[0]


def test_a_client_that_finds_the_role_it_popped_freed_goes_on_waiting() -> None:
    play = put().reply(*WITH_ROLE).reply(OK, QUEUED, QUEUED, NULL, OK, b"another", b"5", 0, 0)
    assert play.sent == ["UNWATCH"]
    play.reply(OK)
    assert play.sent[0] == "RPOP :producer_free"
    play.reply(*pop(NULL, before=b"another"))
    assert isinstance(play.step, Wait)


@pytest.mark.parametrize("start", [put, get])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("stop")])
def test_an_exception_during_a_wait_gives_the_role_back_and_is_raised(
    start: Callable[[], Play], error: BaseException
) -> None:
    replies = as_producer if start is put else as_consumer
    play = start().reply(*WITH_ROLE).reply(*replies(0, NULL, b"1", 1))
    assert isinstance(play.step, Wait)
    play.throw(error).reply(*OURS)
    assert play.sent[0] == "MULTI"
    assert play.sent[1:-1] in RELEASE.values()
    assert play.reply(OK, QUEUED, QUEUED, [OK, 1]).error is error


@pytest.mark.parametrize("start", [put, get])
def test_an_operation_whose_connection_is_lost_sends_nothing_more(start: Callable[[], Play]) -> None:
    replies = as_producer if start is put else as_consumer
    play = start().reply(*WITH_ROLE).reply(*replies(0, NULL, b"1", 1))
    play.operation.close()


def test_one_deadline_holds_for_all_slices_of_all_waits() -> None:
    clock = Clock()
    ctx = replace(context(clock), heal=False)  # a look at the holder would come between
    play = Play(protocol.put(ctx, b"v", Deadline.of(ctx, True, 2.5)))
    seconds: list[float] = []
    play.reply(*pop(NULL))
    for popped in (NULL, [KEYS.producer_free, b"0"]):
        assert isinstance(play.step, Wait)
        seconds.append(play.step.seconds)
        clock.now += play.step.seconds
        play.reply(*pop(popped))
    play.reply(*as_producer(0, NULL, b"5", 5))
    assert isinstance(play.step, Wait)
    seconds.append(play.step.seconds)
    clock.now += play.step.seconds
    play.reply(NULL, b"5", 5, 1, NULL)
    assert seconds == [1.0, 1.0, 0.5]
    assert type(play.step) is Batch
    assert play.sent[0] == "RPOP :not_full"
    play.reply(NULL, b"5", 5, 1, NULL).reply(*OURS).reply(OK, QUEUED, QUEUED, [OK, 1])
    assert isinstance(play.error, QueueFullError)


@pytest.mark.parametrize("timeout", [0.0, 0.0004, 0.004])
def test_a_wait_is_never_rounded_to_0(timeout: float) -> None:
    play = get(timeout=timeout).reply(*pop(NULL))
    assert type(play.step) is Batch
    assert play.sent[0] == "RPOP :consumer_free"
    play.reply(*pop(NULL)).reply(OK)
    assert isinstance(play.error, QueueInUseError)


@pytest.mark.parametrize(("lease", "told"), [(None, 0), (0.0001, 1), (0.0014, 1), (0.0016, 2), (2.5, 2500)])
def test_a_lease_is_sent_in_milliseconds_at_least_1(lease: float | None, told: int) -> None:
    made = Context(KEYS, Clock(), lease=lease)
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
    assert PutProgress(values, stored).next_values() == values[stored : stored + sent]


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
    ctx = Context(KEYS, Clock(), server=Server(scripts=True))
    play = Play(protocol.put(ctx, b"v", Deadline.of(ctx))).reply(ServerReplyError(refusal))
    if goes_on:
        assert play.sent[0] == "RPOP :producer_free"
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
    error = problem(context(), PRODUCER, ScriptReply(status, 0, b"NOPERM no", b"", stuck, []))
    assert type(error) is (kind or type(None))
    assert len(getattr(error, "__notes__", ())) == (1 if stuck and error else 0)


@pytest.mark.parametrize(
    ("bound", "kind"),
    [(b"many", "is not a number of 0 or more: "), (b"-1", "is not a number of 0 or more: ")],
)
def test_a_script_that_finds_no_bound_says_what_it_found(bound: bytes, kind: str) -> None:
    error = problem(context(), PRODUCER, ScriptReply(b"bound", 0, bound, b"", b"", []))
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
    assert str(problem(context(), PRODUCER, ScriptReply(b"error", 0, detail, b"", b"", []))) == text


def test_operations_are_documented() -> None:
    assert protocol.get_many(context(), Deadline.of(context()), 1)
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
    play = Play(protocol.delete(ctx, Deadline.of(ctx)))
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
    monkeypatch.setattr("pressure.protocol.liveness.PROBE_INTERVAL", PROBE_INTERVAL)  # as it is for users
    play = Play(protocol.repair(context()))
    look = [b"5", 4, 0, 1, ME, NULL, b"id=1 name=other:9:00000000/1 db=0\n"]
    play.reply(*look)
    assert play.step == Pause(5.0)
    play.reply().reply(*look)
    assert play.sent == [
        "UNWATCH",
        "WATCH :producer_free :producer :unacked :closed",
        "LLEN :producer_free",
        "GET :producer",
        "LLEN :unacked",
        "LLEN :closed",
    ]
    play.reply(OK, OK, 0, ME, 0, 0)
    assert play.sent == ["MULTI", *RELEASE["producer"], "EXEC"]


def test_repair_frees_what_this_process_has_left_behind_without_a_second_look() -> None:
    over = HOLDS.begin(HOLDS.connection_name())
    HOLDS.end(over)
    play = Play(protocol.repair(context()))
    play.reply(b"5", 4, 0, 1, over, NULL, b"id=1 name= db=0\n")
    assert play.sent[1] == "WATCH :producer_free :producer :unacked :closed"


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


def test_hold_ids_of_this_package_are_recognized_and_no_others() -> None:
    name = HOLDS.connection_name()
    hold = HOLDS.begin(name)
    assert connection_in(hold) == name
    assert connection_in(b"web-1.example:77:0123abcd/4/5") == b"web-1.example:77:0123abcd/4"
    others = (
        b"",
        b"host:1",
        b"host:1:0123abcd",
        b"host:1:0123abcd/1",
        b"host:1:0123/1/1",
        b"a b:1:0123abcd/1/1",
    )
    for other in (*others, b"host:1/main/0123abcd", released(hold)):
        assert connection_in(other) is None
    assert is_released(released(hold))
    for other in (*others, hold, b"somebody/released"):
        assert not is_released(other)


def test_a_hold_of_this_process_is_dead_when_it_is_over_and_those_of_others_are_not_known() -> None:
    hold = HOLDS.begin(HOLDS.connection_name())
    assert not HOLDS.is_dead(hold)
    HOLDS.end(hold)
    assert HOLDS.is_dead(hold)
    assert not HOLDS.is_dead(released(hold))
    assert not HOLDS.is_dead(ME)
    assert not HOLDS.is_dead(None)


@pytest.mark.parametrize("now", [[1, ME], [0, b"another"], [0, NULL]])
def test_repair_frees_no_role_whose_holder_has_changed(now: list[Any]) -> None:
    play = Play(protocol.repair(context(), force=True)).reply(b"5", 4, 0, 1, ME, NULL, b"")
    play.reply(OK, OK, *now, 0, 0)
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
