"""``put``, ``get`` and ``inprogress`` with the other kinds of queues."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import redis

import pressure
from pressure.cli.kinds import KIND_COMMANDS
from pressure.cli.streams import Writer
from tests.pressure.conftest import execute

from .conftest import Cli, Run, finish

KINDS = {"backup": "BackupQueue", "ring": "RingQueue", "reliable": "ReliableQueue"}

Make = Callable[..., Any]

#: How many items of a queue wait, and how many are taken.
STATES: dict[str, Callable[[Any], tuple[int, int]]] = {
    "backup": lambda queue: (queue.length(), len(queue.in_progress())),
    "ring": lambda queue: (queue.length(), sum(locked for _, locked in queue.items())),
    "reliable": lambda queue: (queue.info().undelivered + queue.info().delayed, queue.info().delivered),
}

#: The same with one item that is taken: a ring's stay where they are.
ONE_TAKEN = {"backup": (0, 1), "ring": (1, 1), "reliable": (0, 1)}


@pytest.fixture
def other(redis_url: str) -> Iterator[Make]:
    """Makes queues of the other kinds."""
    with ExitStack() as stack:
        yield lambda kind, name="jobs": stack.enter_context(
            getattr(pressure, KINDS[kind])(name, url=redis_url)
        )


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_put_and_get_work_with_each_kind(run: Run, other: Make, kind: str) -> None:
    assert run("put", "jobs", "--kind", kind, "one", "two") == (0, "", "pressure put: 2 lines acknowledged\n")
    assert STATES[kind](other(kind)) == (2, 0)
    assert run("get", "jobs", "--kind", kind, "-n", "2") == (
        0,
        "one\ntwo\n",
        "pressure get: 2 lines acknowledged\n",
    )
    assert STATES[kind](other(kind)) == (0, 0)


def test_put_reads_standard_input_for_each_kind(cli: Cli, kind: str) -> None:
    text = b"".join(b"%d\nx\0" % number for number in range(300))
    put = cli("put", "jobs", "--kind", kind, "--null")
    assert finish(put, text) == (0, b"", b"pressure put: 300 messages acknowledged\n")
    got = finish(cli("get", "jobs", "--kind", kind, "--null", "-n", "300", "-q"))
    assert got == (0, text, b"")


def test_acks_number_the_messages_for_each_kind(run: Run, kind: str) -> None:
    assert run("put", "jobs", "--kind", kind, "--acks", "-q", "one", "two") == (0, "1\n2\n", "")


def test_peek_and_length_leave_the_messages_in_the_queue(run: Run, other: Make, kind: str) -> None:
    other(kind).push(b"one", b"\xff", b"three")
    for _ in range(2):  # it is only looked at
        assert run("peek", "jobs", "--kind", kind) == (0, "one\n", "")
        told = json.loads(run("peek", "jobs", "--kind", kind, "-n", "2", "--json")[1])
        assert told == [{"text": "one"}, {"base64": "/w=="}]
    assert run("length", "jobs", "--kind", kind) == (0, "3\n", "")
    told = json.loads(run("length", "jobs", "--kind", kind, "--json")[1])
    assert told == {"queue": "jobs", "length": 3, "kind": kind}
    assert run("peek", "none", "--kind", kind)[::2] == (9, "pressure: queue 'none' is empty\n")
    assert run("length", "none", "--kind", kind)[1] == "0\n"


def test_get_from_an_empty_queue_has_its_own_exit_status_and_error(run: Run, kind: str) -> None:
    status, out, err = run("get", "jobs", "--kind", kind, "--timeout", "0", "-q")
    assert (status, out, err) == (9, "", f"pressure: queue 'jobs' {KIND_COMMANDS[kind].empty}\n")


def test_items_are_got_as_lines_of_json(run: Run, kind: str) -> None:
    run("put", "jobs", "--kind", kind, "one", "t\two")
    status, out, _ = run("get", "jobs", "--kind", kind, "--json", "-n", "2", "-q")
    assert (status, out) == (0, '{"text": "one"}\n{"text": "t\\two"}\n')
    assert run("length", "jobs", "--kind", kind)[1] == "0\n"


def test_an_item_is_completed_only_after_it_is_written(
    run: Run, other: Make, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, seen, write = other(kind), [], Writer.write
    queue.push(b"one")

    def looked(self: Writer, message: bytes) -> None:
        write(self, message)
        seen.append(STATES[kind](queue))

    monkeypatch.setattr(Writer, "write", looked)
    assert run("get", "jobs", "--kind", kind, "-n", "1")[:2] == (0, "one\n")
    assert seen == [ONE_TAKEN[kind]]
    assert STATES[kind](queue) == (0, 0)


def test_an_item_that_cannot_be_written_goes_back_to_the_queue(
    run: Run, other: Make, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other(kind).push(b"one")

    def full(*_: Any) -> None:
        raise OSError("no room left")

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "write", full)
        status, _, err = run("get", "jobs", "--kind", kind)
    assert (status, err) == (12, "pressure get: 0 lines acknowledged\npressure: no room left\n")
    assert STATES[kind](other(kind)) == (1, 0)
    assert run("get", "jobs", "--kind", kind, "-n", "1")[:2] == (0, "one\n")


#: What another client does so that an item is not ours any more.
TAKE_AWAY: dict[str, Callable[[Any, redis.Redis], Any]] = {
    "backup": lambda queue, _: queue.discard(b"one"),
    "ring": lambda _, raw: raw.delete("queue:jobs:lock:one"),
    "reliable": lambda queue, _: queue.ack(*(each.message for each in queue.pending())),
}


def test_an_item_that_another_client_took_away_has_its_own_exit_status(
    run: Run, other: Make, raw: redis.Redis, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = other(kind)
    queue.push(b"one")
    monkeypatch.setattr(Writer, "write", lambda *_: TAKE_AWAY[kind](queue, raw))
    status, _, err = run("get", "jobs", "--kind", kind, "-n", "1")
    assert status == 16
    assert "pressure get: 0 lines acknowledged\n" in err


def test_get_with_recover_redelivers_an_unacknowledged_message(run: Run, other: Make) -> None:
    queue = other("reliable")
    queue.push(b"one", b"two")
    queue.pop()
    got = run("get", "jobs", "--kind", "reliable", "-n", "2", "-q", "--recover", "0")
    assert got == (0, "one\ntwo\n", "")


@pytest.mark.parametrize("seconds", ["20", None])
def test_lock_ttl_sets_how_long_a_ring_locks_an_item(
    run: Run, other: Make, raw: redis.Redis, seconds: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    other("ring").push(b"one")
    left: list[Any] = []
    monkeypatch.setattr(Writer, "write", lambda *_: left.append(raw.pttl("queue:jobs:lock:one")))
    options = [] if seconds is None else ["--lock-ttl", seconds]
    run("get", "jobs", "--kind", "ring", "-n", "1", *options)
    wanted = float(seconds or 60) * 1000
    assert wanted - 10_000 < left[0] <= wanted


@pytest.mark.parametrize(
    ("words", "goes_with"),
    [
        ("put --kind ring --close", "--close works only with --kind queue, not --kind ring"),
        ("put --kind backup --create", "--create works only with --kind queue, not --kind backup"),
        ("put --kind reliable --overfill", "--overfill works only with --kind queue, not --kind reliable"),
        ("get --kind ring --delete", "--delete works only with --kind queue, not --kind ring"),
        ("get --kind backup --run 3", "--run works only with --kind queue, not --kind backup"),
        ("get --kind ring --no-heal", "--no-heal works only with --kind queue, not --kind ring"),
        ("get --lock-ttl 3", "--lock-ttl works only with --kind ring, not --kind queue"),
        ("get --kind backup --recover 3", "--recover works only with --kind reliable, not --kind backup"),
    ],
)
def test_an_option_that_does_not_fit_the_kind_is_wrong_usage(run: Run, words: str, goes_with: str) -> None:
    command, *options = words.split()
    assert run(command, "jobs", *options) == (2, "", f"pressure: {goes_with}\n")


def test_the_prefix_is_what_keys_begin_with(run: Run, raw: redis.Redis, kind: str) -> None:
    run("put", "jobs", "--kind", kind, "one", "--prefix", "mine")
    assert set(raw.keys()) - {b"mine:jobs:kind"} == {b"mine:jobs"}
    assert run("get", "jobs", "--kind", kind, "-n", "1", "--prefix", "mine")[1] == "one\n"


# What is in progress


@pytest.fixture
def taken(other: Make, raw: redis.Redis) -> Any:
    """A queue of which three are taken: long ago, now, and by somebody who has noted no time."""
    queue = other("backup")
    queue.push(b"old", b"new", b"\xff", b"waits")
    for _ in range(3):
        queue.claim()
    seconds, _ = execute(raw, "TIME")
    raw.zadd("queue:jobs:claims", {b"old": (seconds - 5000) * 1000})
    raw.zrem("queue:jobs:claims", b"\xff")
    return queue


def waiting(raw: redis.Redis) -> list[bytes]:
    """What waits, the next first."""
    found: Any = raw.lrange("queue:jobs", 0, -1)
    return list(reversed(found))


def names(table: str) -> list[str]:
    """The last column, without its head."""
    return [line.split()[-1] for line in table.splitlines()[1:]]


@pytest.mark.usefixtures("taken")
def test_inprogress_lists_items_with_their_ages(run: Run) -> None:
    status, out, err = run("inprogress", "jobs")
    assert (status, err) == (0, "")
    for line, wanted in zip(
        out.splitlines(), ("SECONDS +ITEM", r"50\d\d +old", r"\d\d? +new", r"\? +\\xff"), strict=True
    ):
        assert re.fullmatch(wanted, line)
    old, new, unknown = json.loads(run("inprogress", "jobs", "--json")[1])
    assert (old["text"], old["age"] >= 5000, new["text"], new["age"] < 60) == ("old", True, "new", True)
    assert unknown == {"base64": "/w==", "since": None, "age": None}
    assert names(run("inprogress", "jobs", "--older", "60")[1]) == ["old"]
    assert names(run("inprogress", "jobs", "new")[1]) == ["new"]
    assert run("inprogress", "nothing") == (0, "", "")


@pytest.mark.usefixtures("taken")
def test_requeue_puts_items_in_progress_back_into_the_queue(run: Run, raw: redis.Redis) -> None:
    assert run("inprogress", "jobs", "--requeue", "--older", "60") == (0, "requeued 1\n", "")
    assert waiting(raw) == [b"old", b"waits"]
    assert run("inprogress", "jobs", "--requeue") == (0, "requeued 2\n", "")
    assert waiting(raw) == [b"new", b"\xff", b"old", b"waits"]
    assert raw.exists("queue:jobs:processing") == 0


@pytest.mark.usefixtures("taken")
def test_requeue_puts_back_only_the_items_named(run: Run, raw: redis.Redis) -> None:
    status, out, err = run("inprogress", "jobs", "new", "other", "--requeue", "--json")
    assert (status, err) == (1, "pressure: this item is not in progress: other\n")
    assert json.loads(out) == {"queue": "jobs", "requeued": [{"text": "new"}]}
    assert waiting(raw) == [b"new", b"waits"]


@pytest.mark.usefixtures("taken")
def test_discard_removes_only_the_items_named(run: Run, raw: redis.Redis) -> None:
    assert run("inprogress", "jobs", "--discard", "old") == (0, "discarded 1\n", "")
    assert waiting(raw) == [b"waits"]
    assert raw.lrange("queue:jobs:processing", 0, -1) == [b"\xff", b"new"]
    for words, why in (
        (
            ["--discard"],
            "--discard needs the items to remove, as in: pressure inprogress QUEUE ITEM --discard",
        ),
        (["--discard", "--requeue", "old"], "give either --requeue or --discard, not both"),
    ):
        assert run("inprogress", "jobs", *words) == (2, "", f"pressure: {why}\n")


def test_requeue_does_not_put_back_an_item_completed_meanwhile(
    run: Run, taken: Any, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    requeue = pressure.BackupQueue.requeue

    def late(queue: Any, item: Any) -> Any:
        taken.discard(b"new")
        return requeue(queue, item)

    monkeypatch.setattr(pressure.BackupQueue, "requeue", late)
    assert run("inprogress", "jobs", "--requeue")[:2] == (1, "requeued 2\n")
    assert waiting(raw) == [b"old", b"\xff", b"waits"]


# Dead letters


@pytest.fixture
def letters(redis_url: str) -> Iterator[Any]:
    """A queue two of whose messages are dead."""
    with pressure.ReliableQueue("jobs", url=redis_url, max_deliveries=1) as queue:
        queue.push(b"ann", b"\xff")
        for message in queue.pop(2):
            queue.retry(message, 0, ValueError("no such customer"))
        yield queue


@pytest.mark.usefixtures("letters")
def test_peek_rejected_prints_the_dead_letters_of_a_reliable_queue(run: Run) -> None:
    peek = ("peek", "jobs", "--kind", "reliable", "--rejected")
    assert run(*peek)[:2] == (0, "ann\n")
    status, out, _ = run(*peek, "-n", "9", "--json")
    first, second = json.loads(out)
    assert (status, first["text"], second["base64"]) == (0, "ann", "/w==")
    assert (first["error"], first["reason"], first["deliveries"]) == ("ValueError", "no such customer", 1)
    assert first["id"].partition("-")[0].isdigit()
    assert 0 < first["first"] <= first["last"]


@pytest.mark.usefixtures("letters")
def test_redrive_puts_dead_letters_into_the_queue_again(run: Run) -> None:
    redrive = ("redrive", "jobs", "--kind", "reliable")
    assert run(*redrive, "-n", "1") == (0, "1\n", "")
    assert json.loads(run(*redrive, "--json")[1]) == {"queue": "jobs", "redrive": 1, "kind": "reliable"}
    assert run("get", "jobs", "--kind", "reliable", "-n", "1", "-q")[1] == "ann\n"
    status, _, err = run("peek", "jobs", "--kind", "reliable", "--rejected")
    assert (status, err) == (9, "pressure: queue 'jobs' has no rejected messages\n")


# The wrong kind


def test_a_forgotten_kind_is_named(run: Run, other: Make, kind: str) -> None:
    other(kind).push(b"v")
    status, _, err = run("get", "jobs", "-n", "1", "-q")
    assert status == 3
    assert f"or it has been deleted; there is a {kind} queue of that name: give --kind {kind}" in err
    assert f"a {kind} queue of that name, which this subcommand is not for" in run("close", "jobs")[2]


def test_a_list_of_another_program_may_be_of_two_kinds(run: Run, raw: redis.Redis) -> None:
    raw.lpush("queue:jobs", "v")
    assert "there is a list of that name: give --kind backup or --kind ring" in run("get", "jobs")[2]


def test_a_queue_that_does_not_exist_at_all_has_no_kind(run: Run) -> None:
    status, _, err = run("get", "jobs", "-q")
    assert (status, err.count("\n"), "--kind" in err) == (3, 1, False)


def test_get_of_another_kind_takes_nothing(run: Run, other: Make, raw: redis.Redis) -> None:
    other("backup").push(b"v")
    status, out, err = run("get", "jobs", "--kind", "ring", "-n", "1", "-q")
    assert (status, out) == (5, "")
    assert "queue 'jobs' is a backup queue, not a ring queue" in err
    assert raw.lrange("queue:jobs", 0, -1) == [b"v"]


def test_get_of_an_unknown_reliable_queue_creates_nothing(run: Run, raw: redis.Redis) -> None:
    assert run("get", "typo", "--kind", "reliable", "-n", "1", "--timeout", "0.01")[0] == 9
    assert raw.keys() == []
