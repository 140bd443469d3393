"""Messages that cannot be processed are rejected, kept apart, listed, and put again."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import redis

from pressure import (
    CodecError,
    PressureError,
    PressureWarning,
    Queue,
    QueueDoesNotExistError,
    QueueFullError,
    ReliableQueue,
    ServerReplyError,
)
from pressure.cli import main
from pressure.kinds.reliable.operations import TOGETHER
from pressure.protocol import Context, Operation, redriving

from .conftest import JOBS, invariant

BAD = b'{"half'


@pytest.fixture
def jobs(make: Callable[..., Queue]) -> Queue:
    """A bounded queue of JSON, whose first value is none."""
    queue = make(codec="json")
    queue.create(3)
    make().put(BAD)
    queue.put({"good": 1})
    return queue


def receive_all(queue: Queue) -> list[Any]:
    """A consumer as it should be: what cannot be decoded is rejected."""
    found = []
    while queue.length():
        with queue.receive(block=False) as message:
            try:
                found.append(message.value)
            except CodecError:
                message.reject()
    return found


def test_a_message_that_cannot_be_decoded_is_rejected_and_the_next_is_delivered(
    jobs: Queue, raw: redis.Redis
) -> None:
    with (
        pytest.raises(CodecError, match="queue 'jobs': the codec cannot decode a value: ") as caught,
        jobs.receive() as message,
    ):
        assert message.value
    assert (caught.value.value, caught.value.taken) == (BAD, [BAD])
    assert receive_all(jobs) == [{"good": 1}]
    assert jobs.rejected(9) == [BAD]
    invariant(raw)
    stats = jobs.stats()
    assert (stats.rejected, stats.consumed_messages, stats.consumed_bytes) == (1, 2, len(BAD + b'{"good":1}'))
    (problem,) = jobs.doctor().problems
    assert problem.startswith("1 rejected message: `pressure peek --rejected` shows it, ")


def test_a_rejected_message_is_not_redelivered_when_its_block_fails(jobs: Queue, raw: redis.Redis) -> None:
    with contextlib.suppress(CodecError), jobs.receive() as message:
        message.reject()
        raise AssertionError(message.value)
    assert jobs.get() == {"good": 1}
    assert jobs.rejected(9) == [BAD]
    invariant(raw)
    with pytest.raises(RuntimeError, match="only inside the block"):
        message.reject()


def test_a_value_from_get_that_cannot_be_decoded_is_in_the_error(jobs: Queue, raw: redis.Redis) -> None:
    with pytest.raises(CodecError) as caught:
        jobs.get()
    assert (caught.value.value, caught.value.taken) == (BAD, [BAD])
    raw.lpush(JOBS, BAD)
    with pytest.raises(CodecError) as caught:
        jobs.get_many(9)
    assert (caught.value.value, caught.value.taken) == (BAD, [b'{"good":1}', BAD])


def test_redrive_puts_rejected_messages_at_the_end_of_the_queue(
    make: Callable[..., Queue], raw: redis.Redis
) -> None:
    queue = make()
    queue.create(3)
    queue.put_many([b"1", b"2", b"3"])
    for _ in range(2):
        with queue.receive() as message:
            message.reject()
    assert queue.rejected(1) == [b"1"]
    assert queue.redrive(1) == 1
    with pytest.raises(ValueError, match="max must be 1 or more"):
        queue.redrive(0)
    queue.put(b"4")
    with pytest.raises(QueueFullError) as caught:
        queue.redrive(9, block=False)
    assert caught.value.done == 0
    assert queue.get_many(9) == [b"3", b"1", b"4"]
    assert queue.redrive(9) == 1
    assert queue.get() == b"2"
    assert queue.redrive(9) == 0
    assert queue.rejected(9) == []
    invariant(raw)
    assert queue.doctor().problems == ()
    queue.delete()
    with pytest.raises(QueueDoesNotExistError):
        queue.rejected(1)
    assert raw.keys() == []


def reject_all(queue: Queue) -> None:
    while queue.length():
        with queue.receive(block=False) as message:
            message.reject()


Before = Callable[[Callable[[], object]], None]


@pytest.fixture
def before_removal(monkeypatch: pytest.MonkeyPatch) -> Before:
    """Does something each time a redrive is about to remove what it has put."""
    removing = redriving._remove

    def arrange(deed: Callable[[], object]) -> None:
        def remove(ctx: Context, values: list[bytes]) -> Operation[None]:
            deed()
            return removing(ctx, values)

        monkeypatch.setattr(redriving, "_remove", remove)

    return arrange


@pytest.fixture
def rejected(make: Callable[..., Queue]) -> Queue:
    """A queue with three rejected messages and nothing else."""
    queue = make()
    queue.create()
    queue.put_many([b"1", b"2", b"3"])
    reject_all(queue)
    return queue


def test_a_redrive_ends_although_every_message_is_rejected_again(
    rejected: Queue, make: Callable[..., Queue], before_removal: Before
) -> None:
    other, times = make(), iter(range(20))

    def reject_again() -> None:
        next(times)
        reject_all(other)

    before_removal(reject_again)
    assert rejected.redrive(99) == 3
    assert rejected.rejected(9) == [b"1", b"2", b"3"]


def test_a_redrive_whose_message_another_redrive_removed_removes_no_other_message(
    rejected: Queue, make: Callable[..., Queue], before_removal: Before
) -> None:
    other, once = make(), iter([2])
    before_removal(lambda: [other.redrive(most) for most in once])
    assert rejected.redrive(1) == 1
    assert rejected.get_many(9) == [b"1", b"1", b"2"]
    assert rejected.rejected(9) == [b"3"]


def test_a_redriven_message_is_counted_although_it_cannot_be_removed(
    rejected: Queue, raw: redis.Redis, before_removal: Before
) -> None:
    before_removal(lambda: raw.set(f"{JOBS}:rejected", "no list"))
    with pytest.raises(ServerReplyError, match="WRONGTYPE") as caught:
        rejected.redrive(9)
    assert caught.value.done == 1
    assert rejected.length() == 1


class StopError(PressureError):
    """What a redrive is stopped with."""


def test_a_redrive_can_be_stopped_between_two_messages(rejected: Queue, raw: redis.Redis) -> None:
    rejected.interrupt = lambda: StopError() if raw.llen(JOBS) == 2 else None
    with pytest.raises(StopError) as caught:
        rejected.redrive(9)
    assert caught.value.done == 2
    assert (rejected.length(), rejected.rejected(9)) == (2, [b"3"])
    invariant(raw)


def test_a_redrive_of_dead_letters_can_be_stopped(redis_url: str, raw: redis.Redis) -> None:
    dead, queue = (ReliableQueue(name, url=redis_url) for name in ("jobs:dead", "jobs"))
    with dead, queue:
        dead.push(*map(str, range(TOGETHER + 1)))
        queue.interrupt = lambda: StopError() if raw.xlen("queue:jobs") else None
        with pytest.raises(StopError) as caught:
            queue.redrive(9999)
        info = queue.info()
    assert (info.undelivered, info.dead) == (TOGETHER, 1)
    assert caught.value.done == TOGETHER


def test_delete_removes_rejected_messages(jobs: Queue, raw: redis.Redis) -> None:
    receive_all(jobs)
    jobs.delete()
    assert raw.keys() == []


def test_a_message_whose_rejection_cannot_be_stored_goes_back_to_the_queue(
    jobs: Queue, raw: redis.Redis
) -> None:
    raw.set(f"{JOBS}:rejected", "no list")
    with pytest.raises(ServerReplyError, match="WRONGTYPE"), jobs.receive() as message:
        message.reject()
    assert raw.lrange(JOBS, 0, -1)[-1] == BAD
    assert raw.llen(f"{JOBS}:unacked") == 0
    raw.delete(f"{JOBS}:rejected")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PressureWarning)
        jobs.repair(force=True)
    assert receive_all(jobs) == [{"good": 1}]
    invariant(raw)


def test_every_flavour_can_reject_a_message(
    run: Callable[..., Any], redis_url: str, scripts: bool, jobs: Queue
) -> None:
    def with_block(queue: Any) -> Any:
        block = queue.receive()
        if hasattr(block, "__enter__"):
            with block as message:
                message.reject()
            return queue.rejected(9)

        async def go() -> Any:
            async with block as message:
                message.reject()
            return await queue.rejected(9)

        return go()

    assert run(with_block, url=redis_url, codec="json", scripts=scripts) == [BAD]
    assert jobs.redrive(1) == 1


def test_the_command_line_peeks_at_rejected_messages_and_redrives_them(
    jobs: Queue,
    redis_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.setenv("REDIS_URL", redis_url)
    receive_all(jobs)
    assert main(["peek", "jobs", "--rejected", "--json"]) == 0
    assert json.loads(capfdbinary.readouterr().out) == [{"text": BAD.decode()}]
    assert main(["redrive", "jobs"]) == 0
    assert capfdbinary.readouterr().out == b"1\n"
    assert jobs.length() == 1
    assert main(["peek", "jobs", "--rejected"]) == 9
    assert capfdbinary.readouterr() == (b"", b"pressure: queue 'jobs' has no rejected messages\n")
