"""A command that the server refuses leaves no role held, and no value is lost or reported wrongly."""

from __future__ import annotations

import pytest
import redis

import miniredis
from pressure import (
    PressureError,
    Queue,
    QueueInUseError,
    ServerReplyError,
)

from .conftest import JOBS, OPERATIONS, StartTask, execute, invariant, roles_free, waiting

WRONG_TYPES = [
    (key, name)
    for key in ("producer_free", "not_full", "", "bound", "closed")
    for name in ("put", "put_nowait")
] + [(key, name) for key in ("consumer_free", "", "bound") for name in ("get", "get_nowait")]


@pytest.mark.parametrize(("key", "name"), WRONG_TYPES)
def test_the_role_is_given_back_on_every_error_of_the_server(
    queue: Queue, raw: redis.Redis, key: str, name: str
) -> None:
    queue.create(5)
    broken = f"{JOBS}:{key}" if key else JOBS
    held = raw.lrange(broken, 0, -1) if key != "bound" else []
    raw.delete(broken)
    if key == "closed":
        raw.set(f"{JOBS}:not_full", "x")
        broken = f"{JOBS}:not_full"
        held = [b"0"]
    elif key == "bound":
        raw.lpush(broken, "x")
    else:
        raw.set(broken, "x")
    with pytest.raises(ServerReplyError, match="queue 'jobs': WRONGTYPE") as caught:
        OPERATIONS[name](queue)
    assert caught.value.code == "WRONGTYPE"
    raw.delete(broken)
    for value in held:
        raw.lpush(broken, value)
    if key == "bound":
        raw.set(broken, 5)
    invariant(raw)


def test_a_put_that_finds_a_malformed_bound_gives_role_and_token_back(queue: Queue, raw: redis.Redis) -> None:
    queue.create(5)
    raw.set(f"{JOBS}:bound", "many")
    with pytest.raises(PressureError, match="its bound is not a number of 0 or more: b'many'"):
        queue.put(b"v")
    raw.set(f"{JOBS}:bound", 5)
    invariant(raw)


@pytest.mark.usefixtures("with_acl")
def test_a_put_whose_command_is_forbidden_leaves_no_role_held(queue: Queue, raw: redis.Redis) -> None:
    queue.create(5)
    port = raw.connection_pool.connection_kwargs["port"]
    for forbidden in ("incrby", "llen", "get", "set"):
        execute(raw, "ACL", "SETUSER", "limited", "on", ">pw", "~*", "+@all", f"-{forbidden}")
        url = f"redis://limited:pw@127.0.0.1:{port}/0"
        with (
            Queue("jobs", url=url) as limited,
            pytest.raises(ServerReplyError, match=r"NOPERM|EXECABORT"),
        ):
            limited.put(b"v")
        invariant(raw)
    execute(raw, "ACL", "DELUSER", "limited")


def test_a_popped_value_is_returned_although_a_later_command_fails(queue: Queue, raw: redis.Redis) -> None:
    queue.create(5)
    queue.put(b"v")
    raw.set(f"{JOBS}:stats:consumed_messages", "no number")
    with pytest.warns(RuntimeWarning, match="the value was taken"):
        assert queue.get() == b"v"
    assert roles_free(raw)


def test_a_stored_value_is_reported_stored_although_a_later_command_fails(
    queue: Queue, raw: redis.Redis
) -> None:
    queue.create(2)
    raw.set(f"{JOBS}:stats:produced_messages", "no number")
    for _ in range(2):  # with room for more, and at the bound
        with pytest.warns(RuntimeWarning, match="the value is stored"):
            queue.put(b"v")
        assert roles_free(raw)
    assert queue.length() == 2


@pytest.mark.parametrize("scripts", [True, False])
def test_a_block_whose_server_refuses_every_command_by_then_says_what_it_refused(scripts: bool) -> None:
    """Giving the role back with a script needs the holder key, which is refused, too."""
    with miniredis.start() as server, Queue("jobs", url=server.url, scripts=scripts) as queue:
        queue.create()
        queue.put(b"v")
        with pytest.raises(ServerReplyError, match="OOM full") as caught, queue.receive():
            server.faults.add(then="OOM full")
        assert any(
            "the message of queue 'jobs' is not acknowledged" in note for note in caught.value.__notes__
        )


def test_a_holder_whose_role_was_taken_away_writes_nothing(
    queue: Queue, raw: redis.Redis, task: StartTask
) -> None:
    queue.create(1)
    queue.put(b"1")
    put = task(lambda: queue.put(b"2"))
    waiting(raw)
    raw.set(f"{JOBS}:producer", "another")
    raw.lpush(f"{JOBS}:not_full", 0)
    with pytest.raises(QueueInUseError, match="held by another"):
        put.result()
    assert raw.lrange(JOBS, 0, -1) == [b"1"]
    assert raw.llen(f"{JOBS}:producer_free") == 0
