"""``ls``, ``inspect``, ``top`` and ``doctor`` with the other kinds of queues."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import redis

from pressure import BackupQueue, Queue, ReliableQueue, RingQueue
from pressure.execution.execution import Execution
from tests.pressure.conftest import execute

from .conftest import Run


@pytest.fixture
def five(redis_url: str, make: Callable[..., Queue]) -> None:
    """A queue of each kind, of which something is taken, and a list of which nothing is."""
    make("jobs").create()
    with BackupQueue("mails", url=redis_url) as mails:
        mails.push("one", "two", "three")
        mails.claim()
    with RingQueue("rounds", url=redis_url) as rounds:
        rounds.push("one", "two")
        rounds.claim(60)
    with ReliableQueue("tasks", url=redis_url) as tasks:
        tasks.push("one", "two")
        tasks.push("three", delay=1000)
        tasks.pop()
    with redis.Redis.from_url(redis_url) as client:  # another program's
        client.lpush("queue:free", "one")


def still(text: str) -> str:
    """What is told as if no time had passed, however busy the machine is."""
    return re.sub(r"\b\d+ s\b", "0 s", text)


def columns(text: str) -> list[list[str]]:
    return [re.split(r"  +", line) for line in text.splitlines()]


@pytest.mark.usefixtures("five")
def test_ls_has_a_column_for_the_kind(run: Run) -> None:
    status, out, err = run("ls")
    assert (status, err) == (0, "")
    assert columns(still(out)) == [
        ["QUEUE", "KIND", "LENGTH", "BOUND", "STATE", "PRODUCER", "CONSUMER"],
        ["jobs", "queue", "0", "none", "open", "free", "free"],
        ["free", "list", "1", "-", "waiting", "-", "-"],
        ["mails", "backup", "2", "-", "1 in progress, for up to 0 s", "-", "-"],
        ["rounds", "ring", "2", "-", "1 in progress", "-", "-"],
        ["tasks", "reliable", "1", "-", "1 in progress, for up to 0 s, 1 delayed", "-", "-"],
    ]


@pytest.mark.usefixtures("five")
def test_ls_with_kind_lists_only_queues_of_that_kind(run: Run) -> None:
    for kind, names in {
        "queue": "jobs",
        "backup": "free mails",
        "ring": "free rounds",
        "reliable": "tasks",
    }.items():
        assert run("ls", "--names", "--kind", kind)[1].split() == names.split()
    assert run("ls", "--names", "r*", "jobs")[1].split() == ["jobs", "rounds"]


@pytest.mark.usefixtures("five")
def test_a_name_that_two_kinds_share_is_printed_once(run: Run, raw: redis.Redis) -> None:
    raw.lpush("queue:jobs", "one")
    assert run("ls", "--names", "jobs")[1] == "jobs\n"
    assert [each["kind"] for each in json.loads(run("ls", "jobs", "--json")[1])] == ["queue", "list"]
    assert json.loads(run("inspect", "jobs", "--json")[1])["kind"] == "queue"
    assert json.loads(run("inspect", "jobs", "--json", "--kind", "ring")[1])["kind"] == "list"


@pytest.mark.usefixtures("five")
def test_inspect_prints_the_facts_of_each_kind(run: Run) -> None:
    for name, wanted in {
        "mails": {"kind": "backup", "length": "2", "in progress": "1", "oldest in progress": "taken 0 s ago"},
        "rounds": {"kind": "ring", "length": "2", "locked": "1"},
        "tasks": {"kind": "reliable", "length": "1", "delivered": "1", "delayed": "1", "dead": "0"},
        "jobs": {"kind": "queue", "length": "0"},
    }.items():
        status, out, _ = run("inspect", name)
        found = dict(columns(still(out)))
        assert status == 0
        assert {fact: found[fact] for fact in wanted} == wanted
    assert run("inspect", "mails", "--kind", "ring")[::2] == (
        3,
        "pressure: queue 'mails' does not exist: it was never created, or it has been deleted; check its name, its prefix and the server\n",
    )


@pytest.mark.usefixtures("five")
def test_inspect_and_ls_print_each_kind_as_json(run: Run) -> None:
    mails = json.loads(still(run("inspect", "mails", "--json")[1]))
    assert 0 <= mails.pop("oldest") < 60
    assert mails == {
        "queue": "mails", "kind": "backup", "state": "1 in progress, for up to 0 s", "length": 2,
        "in_progress": 1, "delayed": 0, "overdue": None, "dead": 0, "endless": 0, "problems": [],
    }  # fmt: skip
    told = json.loads(run("ls", "--json")[1])
    assert [each["kind"] for each in told] == ["queue", "list", "backup", "ring", "reliable"]


@pytest.mark.usefixtures("five")
def test_top_shows_all_kinds(run: Run) -> None:
    lines = columns(still(run("top", "--once")[1]))
    assert lines[0][:2] == ["QUEUE", "STATE"]
    assert [line[:2] for line in lines[1:]] == [
        ["jobs", "open"],
        ["free", "list: waiting"],
        ["mails", "backup: 1 in progress, for up to 0 s"],
        ["rounds", "ring: 1 in progress"],
        ["tasks", "reliable: 1 in progress, for up to 0 s, 1 delayed"],
        [""],
    ]
    rows = json.loads(run("top", "mails", "jobs", "--once", "--json")[1])
    assert [(each["queue"], each["length"]) for each in rows] == [("jobs", 0), ("mails", 2)]
    assert run("top", "--once", "--kind", "ring")[1].count("\n") == 4


@pytest.mark.usefixtures("five")
def test_the_doctor_finds_no_problems_in_healthy_queues(run: Run) -> None:
    status, out, _ = run("doctor")
    assert (status, out.splitlines()[-1]) == (0, "no problems in 5 queues")
    assert "'mails': backup, 2 items, 1 in progress, for up to 0 s\n" in still(out)


@pytest.mark.usefixtures("five")
def test_the_doctor_reports_items_claimed_long_ago(run: Run, raw: redis.Redis) -> None:
    seconds, _ = execute(raw, "TIME")
    raw.zadd("queue:mails:claims", {"one": (seconds - 5000) * 1000})
    status, out, _ = run("doctor", "mails")
    assert (status, out.splitlines()[-1]) == (1, "1 problem in 1 queue")
    assert re.search(
        r"  1 item in progress, the oldest of them taken 50\d\d s ago; requeue_stale or 'pressure inp", out
    )
    assert run("doctor", "mails", "--old", "9000")[0] == 0
    status, out, _ = run("doctor", "tasks", "--old", "0")
    assert status == 1
    assert "taken 0 s ago; recover delivers it again" in still(out)


@pytest.mark.usefixtures("five")
def test_the_doctor_reports_locks_that_never_expire(run: Run, raw: redis.Redis) -> None:
    raw.persist("queue:rounds:lock:one")
    for names in (["rounds"], []):
        status, out, _ = run("doctor", *names)
        assert status == 1
        assert "  1 of its locks never expire; delete them, or their items are never claimed again\n" in out


@pytest.mark.usefixtures("five")
def test_the_doctor_reports_dead_letters_and_messages_past_due(
    run: Run, raw: redis.Redis, redis_url: str
) -> None:
    with ReliableQueue("tasks", url=redis_url, max_deliveries=1) as tasks:
        assert tasks.recover(0) == []  # it is dead instead
    (later,) = execute(raw, "ZRANGE", "queue:tasks:delayed", 0, -1)
    raw.zadd("queue:tasks:delayed", {later: 1000})
    status, out, _ = run("doctor", "tasks")
    assert status == 1
    assert re.search(r"  a delayed message has been due for \d+ s, and no client pops\n", out)
    assert "  1 item delivered too often: see the dead-letter queue " in out


def test_a_queue_with_only_delayed_messages_is_listed(run: Run, redis_url: str) -> None:
    with ReliableQueue("tasks", url=redis_url, backend="stream") as tasks:
        tasks.push("later", delay=1000)
    assert columns(run("ls")[1])[1][:5] == ["tasks", "reliable", "0", "-", "1 delayed"]


def test_a_queue_with_only_items_in_progress_is_listed(run: Run, redis_url: str) -> None:
    with BackupQueue("mails", url=redis_url) as mails:
        mails.push("one")
        mails.claim()
    assert columns(run("ls")[1])[1][:3] == ["mails", "backup", "0"]
    assert json.loads(run("inspect", "mails", "--json")[1])["in_progress"] == 1


def test_keys_of_other_programs_are_not_listed_as_queues(run: Run, raw: redis.Redis) -> None:
    raw.set("queue:text", "one")
    raw.hset("queue:hash", "field", "value")
    raw.set("queue:gone:lock:one", "token")
    assert run("ls") == (0, "", "")
    assert run("doctor", "text")[0] == 3


@pytest.mark.parametrize("given", ["option", "environment"])
def test_with_a_shared_prefix_a_queue_is_listed_under_its_own_kind_only(
    run: Run, given: str, monkeypatch: pytest.MonkeyPatch, redis_url: str
) -> None:
    with Queue("jobs", url=redis_url, prefix="queue") as queue:
        queue.create(3)
        queue.put(b"one")
    options = ["--prefix", "queue"] if given == "option" else []
    if not options:
        monkeypatch.setenv("PRESSURE_PREFIX", "queue")
    for names in ([], ["jobs"]):
        found = json.loads(run("top", "--once", "--json", *names, *options)[1])
        assert [(each["queue"], each["kind"]) for each in found] == [("jobs", "queue")]
    assert run("ls", "--kind", "ring", *options)[1] == ""


@pytest.mark.usefixtures("five")
def test_the_prefix_option_applies_to_all_kinds(run: Run) -> None:
    run("put", "mine", "--kind", "backup", "--prefix", "other", "one")
    assert run("ls", "--names", "--prefix", "other")[1] == "mine\n"


def test_ls_scans_for_locks_once_for_all_queues(
    run: Run, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        raw.lpush(f"queue:{number}", "one")
    sent: list[Any] = []
    packed = Execution.packed

    def counted(execution: Any, step: Any) -> Any:
        sent.extend(command[0] for command in step.commands)
        return packed(execution, step)

    monkeypatch.setattr(Execution, "packed", counted)
    assert run("ls", "--names")[1].count("\n") == 50
    assert sent.count(b"SCAN") <= 4


@pytest.mark.usefixtures("five", "with_acl")
def test_a_queue_that_may_not_be_read_does_not_hide_the_others(
    run: Run, raw: redis.Redis, redis_url: str
) -> None:
    execute(raw, "ACL", "SETUSER", "guest", "on", "nopass", "~*", "&*", "+@all", "-zrange")
    try:
        url = redis_url.replace("redis://", "redis://guest:any@")
        found = json.loads(run("ls", "--json", "--url", url)[1])
    finally:
        execute(raw, "ACL", "DELUSER", "guest")
    assert {each["queue"]: each["kind"] for each in found} == {
        "jobs": "queue", "free": "list", "mails": "unreadable", "rounds": "ring", "tasks": "unreadable",
    }  # fmt: skip
    assert "NOPERM" in next(each["problems"][0] for each in found if each["queue"] == "mails")
