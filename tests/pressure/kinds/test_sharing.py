"""Two queues of different kinds never share keys: the second one is refused, and is told why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis

from pressure import BackupQueue, QueueAlreadyExistsError, QueueEmptyError, ReliableQueue, RingQueue
from tests.cases import for_each

from ..conftest import StartTask, waiting
from .conftest import Make

KINDS = {"backup": "BackupQueue", "ring": "RingQueue", "reliable": "ReliableQueue"}
TAKES: dict[str, Callable[[Any], Any]] = {
    "backup": lambda q: q.claim(block=False),
    "ring": lambda q: q.claim(60),
    "reliable": lambda q: q.pop(block=False),
}
LOOKS: dict[str, Callable[[Any], Any]] = {
    "backup": lambda q: q.length(),
    "ring": lambda q: q.length(),
    "reliable": lambda q: q.info(),
}
PAIRS = [(first, second) for first in KINDS for second in KINDS if first != second]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_another_kind_is_refused(make: Make, raw: redis.Redis, first: str, second: str) -> None:
    make(KINDS[first]).push(b"1", b"2")
    before = raw.dbsize()
    other = make(KINDS[second])
    acts: list[Callable[[Any], Any]] = [lambda q: q.push(b"3"), TAKES[second], LOOKS[second]]
    for act in acts:
        with pytest.raises(QueueAlreadyExistsError, match=f"'jobs' is a {first} queue, not a {second} queue"):
            act(other)
    assert raw.dbsize() == before


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_another_kind_is_refused_even_if_all_is_taken(make: Make, first: str, second: str) -> None:
    queue = make(KINDS[first])
    queue.push(b"1")
    item = TAKES[first](queue)
    with pytest.raises(QueueAlreadyExistsError, match=f"is a {first} queue"):
        TAKES[second](make(KINDS[second]))
    if first == "reliable":
        queue.ack(*item)
    else:
        queue.complete(item)
    with pytest.raises(QueueAlreadyExistsError, match=f"is a {first} queue"):
        make(KINDS[second]).push(b"2")


def test_an_item_is_never_claimed_by_two_kinds(make: Make, raw: redis.Redis) -> None:
    raw.lpush("queue:jobs", b"1", b"2")
    ring, backup = make("RingQueue"), make("BackupQueue")
    assert ring.claim(60).data == b"1"
    with pytest.raises(QueueAlreadyExistsError, match="is a ring queue"):
        backup.claim(block=False)
    assert raw.lrange("queue:jobs", 0, -1) == [b"1", b"2"]


def test_a_list_of_another_program_is_of_any_kind(make: Make, raw: redis.Redis) -> None:
    for kind in ("backup", "ring"):
        raw.lpush("queue:jobs", b"1")
        assert make(KINDS[kind]).length() == 1
        assert raw.keys() == [b"queue:jobs"]
        assert TAKES[kind](make(KINDS[kind])).data == b"1"
        raw.flushdb()


def test_a_backup_queue_of_another_program_is_no_ring(make: Make, raw: redis.Redis) -> None:
    raw.lpush("queue:jobs", b"1")
    raw.lpush("queue:jobs:processing", b"2")
    with pytest.raises(QueueAlreadyExistsError, match="as the key queue:jobs:processing shows"):
        make("RingQueue").claim(60)
    assert make("BackupQueue").claim().data == b"1"


def test_a_delayed_message_makes_a_queue_reliable(make: Make) -> None:
    make("ReliableQueue").push(b"v", delay=60)
    with pytest.raises(QueueAlreadyExistsError, match="is a reliable queue"):
        make("BackupQueue").push(b"v")


def test_a_claim_that_waited_gives_back_an_item_of_another_kind(
    make: Make, raw: redis.Redis, task: StartTask
) -> None:
    backup = make("BackupQueue")
    claiming = task(lambda: backup.claim(timeout=15))
    waiting(raw)
    raw.set("queue:jobs:kind", "ring")
    raw.lpush("queue:jobs", b"1")
    with pytest.raises(QueueAlreadyExistsError, match="is a ring queue"):
        claiming.result()
    assert raw.lrange("queue:jobs", 0, -1) == [b"1"]
    assert raw.exists("queue:jobs:processing") == 0


def test_taking_from_an_unknown_queue_creates_nothing(make: Make, raw: redis.Redis) -> None:
    for kind, take in TAKES.items():
        assert not take(make(KINDS[kind]))
    with pytest.raises(QueueEmptyError), make("RingQueue").take(60):
        pass
    assert raw.keys() == []


@for_each("kind", [BackupQueue, RingQueue, ReliableQueue])
@for_each(
    "name",
    ["a:processing", "a:claims", b"a:delayed", "a:due", "a:deliveries", "a:beats", "a:notes", "a:kind",
     "a:lock:1", "a:due:audit", "a:processing:processing"],
)  # fmt: skip
def test_a_name_of_the_keys_beside_another_queue_is_refused(kind: Any, name: str) -> None:
    with pytest.raises(ValueError, match="choose another name"):
        kind(name, port=1)


def test_names_that_only_resemble_such_keys_are_accepted() -> None:
    for name in ("processing", "a:dead", "a:lock", "a:processing:b", "due:a"):
        BackupQueue(name, port=1)
