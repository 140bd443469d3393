"""Commands that show queues, for people and as JSON."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import redis

from conformance.targets import free_port
from pressure import Queue
from pressure.cli import formatting
from pressure.execution.execution import Execution
from tests.pressure.conftest import PREFIX, ROOT

from .conftest import Run

pytestmark = pytest.mark.usefixtures("forked")

DEAD = "host:1:01234567/1/1"


@pytest.fixture
def two(make: Callable[..., Queue], raw: redis.Redis) -> list[Queue]:
    """A bounded queue with values whose consumer died, and a closed one without."""
    jobs, done = make("jobs"), make("a:done")
    jobs.create(3)
    jobs.put_many([b"1", b"22"])
    raw.rpop(f"{PREFIX}jobs:consumer_free")
    raw.set(f"{PREFIX}jobs:consumer", DEAD)
    done.create()
    done.shutdown()
    return [jobs, done]


@pytest.mark.usefixtures("two")
def test_ls_prints_a_table(run: Run) -> None:
    status, out, err = run("ls")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "QUEUE   KIND   LENGTH  BOUND  STATE   PRODUCER  CONSUMER",
        "a:done  queue  0       none   closed  free      free",
        f"jobs    queue  2       3      open    free      {DEAD} (not connected)",
    ]


def test_ls_without_queues_prints_nothing(run: Run) -> None:
    assert run("ls") == (0, "", "")
    assert run("ls", "--json") == (0, "[]\n", "")


@pytest.mark.usefixtures("two")
def test_ls_takes_patterns_and_prints_names(run: Run) -> None:
    assert run("ls", "--names")[1] == "a:done\njobs\n"
    assert run("ls", "--names", "j*", "nothing")[1] == "jobs\n"
    assert run("ls", "--names", "*o*")[1] == "a:done\njobs\n"


@pytest.mark.usefixtures("two")
def test_ls_prints_json_for_programs(run: Run) -> None:
    done, jobs = json.loads(run("ls", "--json")[1])
    assert (done["queue"], done["state"], done["bound"]) == ("a:done", "closed", 0)
    assert (jobs["length"], jobs["bound"], jobs["produced_messages"], jobs["produced_bytes"]) == (2, 3, 2, 3)
    assert 0 <= jobs["consumer"].pop("seconds") < 60
    assert jobs["consumer"] == {"taken": True, "holder": DEAD, "last": DEAD, "connected": False}
    assert jobs["producer"]["taken"] is False
    assert jobs["producer"]["holder"] is None
    assert jobs["problems"][0].startswith("the consumer role is held by")


def test_one_unreadable_queue_does_not_hide_the_others(
    run: Run, make: Callable[..., Queue], raw: redis.Redis
) -> None:
    make("jobs").create()
    raw.hset(f"{PREFIX}cache:bound", "field", "value")
    raw.delete(f"{PREFIX}jobs:bound")
    status, out, _ = run("ls", "--json")
    assert status == 0
    assert [(each["queue"], each["state"]) for each in json.loads(out)] == [
        ("cache", "unreadable"),
        ("jobs", "half deleted"),
    ]
    out = run("inspect", "cache")[1]
    assert "WRONGTYPE" in out
    assert "nobody" not in out


def test_queue_names_that_are_not_printable_text_are_escaped(
    redis_url: str, make: Callable[..., Queue], run: Run
) -> None:
    make(b"\xff").create()
    make(b"\x1b[31mred").create()
    assert [each["queue"] for each in json.loads(run("ls", "--json")[1])] == [
        "\x1b[31mred",
        {"base64": "/w=="},
    ]
    out = run("ls")[1]
    assert "\x1b" not in out
    assert "\\x1b[31mred" in out
    environment = {**os.environ, "REDIS_URL": redis_url, "PYTHONPATH": str(ROOT)}
    line: list[str | bytes] = [sys.executable, "-m", "pressure", "ls", "--names", b"\xff"]
    assert subprocess.run(line, env=environment, capture_output=True, check=True).stdout == b"\xff\n"


def test_ls_of_many_queues_takes_few_round_trips(
    run: Run, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(250):
        raw.set(f"{PREFIX}{number}:bound", 0)
    steps = 0
    packed = Execution.packed

    def counted(*args: Any) -> Any:
        nonlocal steps
        steps += 1
        return packed(*args)

    monkeypatch.setattr(Execution, "packed", counted)
    assert run("ls", "--names")[1].count("\n") == 250
    assert steps <= 8


@pytest.mark.usefixtures("two")
def test_inspect_prints_all_facts_of_a_queue(run: Run) -> None:
    status, out, _ = run("inspect", "jobs")
    facts = dict(line.split("  ", 1) for line in out.splitlines())
    found = {name: fact.strip() for name, fact in facts.items()}
    assert status == 0
    assert (found["state"], found["length"], found["bound"], found["room"]) == ("open", "2", "3", "yes")
    assert (found["produced"], found["consumed"]) == ("2 messages, 3 B", "0 messages, 0 B")
    assert re.sub(r"\d+ s$", "0 s", found["consumer"]) == f"{DEAD} (not connected), for about 0 s"
    assert found["producer"].startswith("free, last ")
    assert found["problem"].endswith("and so does repair")
    (listed,) = json.loads(run("ls", "jobs", "--json")[1])
    inspected = json.loads(run("inspect", "jobs", "--json")[1])
    for each in (listed, inspected):
        each["consumer"].pop("seconds")
    assert inspected == listed


@pytest.mark.parametrize(
    ("commands", "advice"),
    [
        (("length", "peek", "close"), "create it first"),
        (("inspect", "doctor", "delete", "repair"), "check its name, its prefix and the server"),
    ],
)
def test_a_command_on_a_queue_that_does_not_exist_has_its_own_exit_status(
    run: Run, commands: tuple[str, ...], advice: str
) -> None:
    why = "it was never created, or it has been deleted"
    for command in commands:
        assert run(command, "jobs") == (3, "", f"pressure: queue 'jobs' does not exist: {why}; {advice}\n")


def test_length_closed_exists_and_repair_answer_in_json(run: Run, make: Callable[..., Queue]) -> None:
    make("jobs").create(3)
    make("jobs").put(b"1")
    assert json.loads(run("length", "jobs", "--json")[1]) == {"queue": "jobs", "length": 1, "bound": 3}
    assert run("closed", "jobs", "--json")[:2] == (1, '{"queue": "jobs", "closed": false}\n')
    assert run("exists", "jobs", "--json")[:2] == (0, '{"queue": "jobs", "exists": true}\n')
    assert run("repair", "jobs", "--json")[:2] == (0, '{"queue": "jobs", "done": [], "left": []}\n')


def test_peek_leaves_the_messages_in_the_queue(run: Run, queue: Queue) -> None:
    queue.create()
    assert run("peek", "jobs") == (9, "", "pressure: queue 'jobs' is empty\n")
    assert run("peek", "jobs", "--json")[:2] == (9, "[]\n")
    queue.put_many([b"one", b"\xff", b"three"])
    assert run("peek", "jobs")[:2] == (0, "one\n")
    assert run("peek", "jobs", "-n", "9", "--json")[1] == (
        '[{"text": "one"}, {"base64": "/w=="}, {"text": "three"}]\n'
    )
    queue.get()
    queue.get()
    assert run("peek", "jobs", "-n", "2", "--binary")[:2] == (0, "\0\0\0\5three")
    assert queue.length() == 1


@pytest.mark.usefixtures("two")
def test_the_doctor_prints_each_problem_and_exits_with_1(run: Run) -> None:
    status, out, _ = run("doctor", "a:done")
    assert (status, out.splitlines()[-1]) == (0, "no problems in 1 queue")
    status, out, _ = run("doctor")
    assert (status, out.splitlines()[-1]) == (1, "1 problem in 2 queues")
    assert f"  the consumer role is held by {DEAD}, whose connection is gone; a client that waits" in out
    assert [len(each["problems"]) for each in json.loads(run("doctor", "--json")[1])] == [0, 1]


@pytest.mark.usefixtures("two")
def test_repair_prints_what_it_did(run: Run) -> None:
    status, out, _ = run("repair", "jobs", "--force", "--json")
    assert status == 0
    assert json.loads(out)["done"][0].startswith("freed the consumer role")
    assert run("doctor")[0] == 0


def test_host_port_and_db_can_be_given_as_options_or_in_the_environment(
    run: Run, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, port = redis_url.removeprefix("redis://").split("/")[0].split(":")
    monkeypatch.delenv("REDIS_URL")
    monkeypatch.setenv("REDIS_SERVER", host)
    where = ("--host", host, "--port", port, "--db", "3", "--prefix", "mine")
    assert run("create", "jobs", *where)[0] == 0
    assert run(*where, "ls", "--names")[1] == "jobs\n"
    assert run(*where[:-2], "ls", "--names")[1] == ""
    assert run("ls", "--names", *where[:4], "--prefix", "mine")[1] == ""
    assert run("ls", "--port", str(free_port()))[0] == 4
    monkeypatch.setenv("REDIS_PORT", port)
    monkeypatch.setenv("REDIS_DB", "3")
    monkeypatch.setenv("PRESSURE_PREFIX", "mine")
    assert run("ls", "--names")[1] == "jobs\n"


def test_length_bars_and_byte_sizes_are_formatted() -> None:
    assert formatting.bar(1, 1000) == "#......... 1/1000"
    assert formatting.bar(1000, 1000) == "########## 1000/1000"
    assert formatting.bar(1001, 1000) == "########## 1001/1000"
    assert formatting.bar(0, 1000) == ".......... 0/1000"
    assert formatting.bar(7, 0).strip() == "7"
    assert [formatting.size(size) for size in (0, 999, 1000, 2_500_000, 7e12)] == [
        "0 B", "999 B", "1.0 kB", "2.5 MB", "7.0 TB",
    ]  # fmt: skip
