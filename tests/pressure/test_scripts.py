"""Lua scripts: one round trip if an operation does not wait, the stronger invariant and the fallback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from conformance.targets import Address
from pressure import Queue, QueueClosedError, QueueEmptyError, QueueFullError, ServerReplyError
from pressure.protocol.problems import plain_text

from .conftest import JOBS, StartTask, execute, invariant, waiting


@pytest.fixture
def server_address(real_server: Address) -> Address:
    """A server that runs scripts."""
    return real_server


@pytest.fixture
def sent(raw: redis.Redis) -> Callable[[], dict[str, int]]:
    """Tells how often each command was run by itself since it was asked last."""

    def tell() -> dict[str, int]:
        stats: Any = raw.info("commandstats")
        raw.config_resetstat()
        counts = {name.removeprefix("cmdstat_"): each["calls"] for name, each in stats.items()}
        return {
            name: count for name, count in counts.items() if count and name in ("evalsha", "eval", "multi")
        }

    raw.config_resetstat()
    return tell


def test_an_operation_that_does_not_wait_is_one_script(
    queue: Queue, raw: redis.Redis, sent: Callable[[], dict[str, int]]
) -> None:
    queue.create(10)
    raw.script_flush()
    for work in (lambda: queue.put(b"v"), lambda: queue.put(b"w"), queue.get):
        work()
    sent()
    queue.put(b"v")
    queue.put_many([b"v"] * 3)
    queue.get()
    queue.get_many(2)
    assert sent() == {"evalsha": 4}
    assert queue.get_many(9) == [b"v"] * 2
    with pytest.raises(QueueEmptyError):
        queue.get_nowait()
    assert sent() == {"evalsha": 2}
    queue.put(b"v")
    with queue.receive():
        pass
    queue.shutdown()
    assert sent() == {"evalsha": 4, "eval": 2}  # two are new to the server, and were sent whole
    invariant(raw)


def test_scripts_missing_on_the_server_are_loaded_again(queue: Queue, raw: redis.Redis) -> None:
    queue.create(3)
    for _ in range(2):
        raw.script_flush()
        queue.put(b"v")
        raw.script_flush()
        assert queue.get() == b"v"
    invariant(raw)


@pytest.fixture
def limited(raw: redis.Redis, redis_url: str) -> Iterator[Callable[..., Queue]]:
    """A queue of a user who may not run some commands."""
    queues: list[Queue] = []

    def make(*forbidden: str) -> Queue:
        execute(raw, "ACL", "SETUSER", "limited", "reset", "on", ">pw", "~*", "+@all", *forbidden)
        queues.append(Queue("jobs", url=redis_url.replace("//", "//limited:pw@")))
        return queues[-1]

    yield make
    for queue in queues:
        queue.disconnect()
    execute(raw, "ACL", "DELUSER", "limited")


def test_a_client_that_may_not_run_scripts_sends_batches(
    limited: Callable[..., Queue], raw: redis.Redis, sent: Callable[[], dict[str, int]]
) -> None:
    queue = limited("-@scripting")
    queue.create(2)
    sent()
    queue.put(b"1")
    queue.put_many([b"2"])
    assert queue.get() == b"1"
    with queue.receive() as message:
        assert message.data == b"2"
    queue.shutdown()
    assert not {"evalsha", "eval"} & sent().keys()
    invariant(raw)


def test_scripts_false_sends_no_scripts(redis_url: str, sent: Callable[[], dict[str, int]]) -> None:
    with Queue("jobs", url=redis_url, scripts=False) as queue:
        queue.create(2)
        sent()
        queue.put(b"1")
        queue.get()
        queue.shutdown()
    assert "evalsha" not in sent()


FIRST = ("get", "set", "exists", "llen")
"""What a script calls before it takes or stores a value."""


@pytest.mark.parametrize(
    ("name", "forbidden"),
    [
        *((name, forbidden) for name in ("put", "put_many") for forbidden in (*FIRST, "incrby")),
        *(("get", forbidden) for forbidden in (*FIRST, "rpop") if forbidden != "set"),
        *(("receive", forbidden) for forbidden in (*FIRST, "rpop")),
        *(("close", forbidden) for forbidden in FIRST),
    ],
)
def test_a_script_that_fails_leaves_no_role_held(
    queue: Queue, limited: Callable[..., Queue], raw: redis.Redis, forbidden: str, name: str
) -> None:
    operations: dict[str, Callable[[Queue], object]] = {
        "put": lambda q: q.put(b"w"),
        "put_many": lambda q: q.put_many([b"w", b"x"]),
        "get": lambda q: q.get_nowait(),
        "receive": lambda q: q.receive(block=False).__enter__(),
        "close": lambda q: q.shutdown(),
    }
    queue.create(5)
    queue.put(b"v")
    with pytest.raises(ServerReplyError, match=r"NOPERM .* \(the guide REDIS\.md lists the rights"):
        operations[name](limited(f"-{forbidden}"))
    invariant(raw)
    assert queue.get_many(3) == [b"v"]


def after_a_wait(raw: redis.Redis, task: StartTask, work: Callable[[], Any]) -> Any:
    """What comes of an operation that waits for its role, and so has to give it back itself."""
    free = f"{JOBS}:producer_free"
    raw.rpop(free)
    working = task(work)
    waiting(raw)
    raw.lpush(free, 0)
    return working.result()


def test_a_role_that_cannot_be_given_back_is_reported(
    queue: Queue, limited: Callable[..., Queue], raw: redis.Redis, task: StartTask
) -> None:
    queue.create(5)
    with pytest.raises(ServerReplyError, match="NOPERM") as caught:
        after_a_wait(raw, task, lambda: limited("-lpush").put(b"v"))
    assert "repair frees it" in caught.value.__notes__[0]
    queue.repair(force=True)
    queue.put(b"v")
    assert queue.get() == b"v"


def test_a_close_of_a_closed_queue_reports_a_role_that_cannot_be_given_back(
    queue: Queue, limited: Callable[..., Queue], raw: redis.Redis, task: StartTask
) -> None:
    queue.create()
    queue.shutdown()
    with pytest.raises(QueueClosedError, match="is closed already") as caught:
        after_a_wait(raw, task, lambda: limited("-lpush").shutdown())
    assert "repair frees it" in caught.value.__notes__[0]


def test_after_a_script_there_is_one_token_if_there_is_room_and_none_otherwise(
    queue: Queue, raw: redis.Redis
) -> None:
    """Whatever others left there; plain batches only see to it that there is one where there is room."""
    queue.create(2)
    queue.put(b"1")
    raw.lpush(f"{JOBS}:not_full", 0, 0, 0)
    queue.put(b"2")
    invariant(raw)
    with pytest.raises(QueueFullError):
        queue.put_nowait(b"3")
    queue.put(b"3", overfill=True)
    raw.lpush(f"{JOBS}:not_full", 0)
    queue.get()
    assert raw.llen(f"{JOBS}:not_full") == 0
    queue.get()
    invariant(raw)


def test_an_operation_that_waited_is_finished_by_a_script(
    queue: Queue, raw: redis.Redis, task: StartTask, sent: Callable[[], dict[str, int]]
) -> None:
    queue.create(1)
    queue.put(b"1")
    putting = task(lambda: queue.put(b"2"))
    waiting(raw)
    assert queue.get() == b"1"
    putting.result()
    invariant(raw)
    assert queue.get() == b"2"
    getting = task(queue.get)
    waiting(raw)
    queue.put(b"3")
    assert getting.result() == b"3"
    invariant(raw)
    assert sent()["multi"] == 1  # that of create


@pytest.mark.parametrize(
    "text",
    [
        "WRONGTYPE Operation against a key",
        "Error running script (call to f_0a1b): @user_script:12: WRONGTYPE Operation against a key",  # Redis 6.2
        "ERR Error running script (call to f_0a1b): @user_script:12: WRONGTYPE Operation against a key",
        "ERR Error running script (call to f_0a1b): @user_script:12: @user_script: 3: -WRONGTYPE Operation against a key",
        "WRONGTYPE Operation against a key script: 0a1b, on @user_script:12.",  # Redis 7.0
    ],
)
def test_an_error_in_a_script_has_the_text_of_the_command(text: str) -> None:
    assert ServerReplyError(plain_text(text)).code == "WRONGTYPE"
