"""``top``: its rates, its rows and how it ends; the test sets the clock."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import redis

from pressure import Diagnosis, Queue, RoleState
from pressure.cli.rates import Activity, Row, cells
from pressure.cli.top import text, watch
from tests.pressure.conftest import until, waiting

from .conftest import Cli, Process, Run, finish, stream
from .terminal import terminal

ME, OTHER = b"host:1:01234567/1/1", b"host:2:01234567/1/1"


def role(
    name: str, holder: bytes | None = None, seconds: int | None = 0, connected: bool = True
) -> RoleState:
    return RoleState(name, 0 if holder else 1, holder, seconds, connected)


def report(**given: Any) -> Diagnosis:
    """A queue; what is not given is that of a queue in which nothing happens."""
    facts: dict[str, Any] = {
        "queue": b"jobs", "state": "open", "length": 3, "bound": 10, "producer": role("producer"),
        "consumer": role("consumer"), "tokens": 1, "marks": 0, "unacknowledged": 0, "blocked": 0, "problems": (),
    }  # fmt: skip
    return Diagnosis(**{**facts, **given})


def seen(*reports: tuple[float, list[Diagnosis]]) -> list[list[Row]]:
    """What is shown of looks at these times."""
    shown: list[list[Row]] = []
    times, found = [time for time, _ in reports], iter([each for _, each in reports])
    clock = iter(times)
    watch(
        lambda: next(found),
        lambda rows: shown.append(list(rows)),
        lambda: len(shown) == len(reports),
        lambda: next(clock),
    )
    return shown


def test_top_refreshes_until_it_is_ended() -> None:
    assert len(seen((0, []), (1, []), (2, []))) == 3


def test_top_once_prints_once_and_does_not_wait() -> None:
    shown: list[Any] = []
    watch(lambda: [report()], shown.append, lambda: pytest.fail("it waited"), once=True)
    assert len(shown) == 1


def test_rates_are_computed_from_two_samples() -> None:
    first, second, third = seen(
        (10, [report(produced_messages=100, consumed_messages=97)]),
        (
            12,
            [report(produced_messages=110, consumed_messages=97), report(queue=b"new", produced_messages=5)],
        ),
        (13, [report(produced_messages=2, consumed_messages=98)]),
    )
    assert [(row.put_rate, row.get_rate) for row in first] == [(None, None)]
    assert [(row.put_rate, row.get_rate) for row in second] == [(5, 0), (None, None)]
    assert [(row.put_rate, row.get_rate) for row in third] == [(0, 1)]  # made anew meanwhile


def test_a_holder_is_shown_as_working_waiting_or_gone() -> None:
    def doing(**given: Any) -> tuple[str, str]:
        ((row,),) = seen((0, [report(**given)]))
        return row.producer.doing, row.consumer.doing

    both: dict[str, Any] = {"producer": role("producer", ME), "consumer": role("consumer", OTHER)}
    assert doing() == ("free", "free")
    assert doing(**both) == ("working", "working")
    assert doing(**both, length=10) == ("waiting", "working")
    assert doing(**both, length=0) == ("working", "waiting")
    assert doing(**both, length=0, unacknowledged=1) == ("working", "working")
    assert doing(**both, bound=0, length=99) == ("working", "working")
    assert doing(consumer=role("consumer", ME, connected=False)) == ("free", "gone")


def test_the_time_of_a_state_is_counted_across_refreshes() -> None:
    """A look at a holder is a use of its key: the server's own answer is good for the first look only."""

    def held(moved: int = 7, who: bytes | None = ME, seconds: int | None = 0) -> list[Diagnosis]:
        return [report(producer=role("producer", who, seconds), produced_messages=moved)]

    reports = [
        (100, held(seconds=30), 30),  # as the server says
        (102, held(seconds=2), 32),
        (104, held(seconds=2), 34),
        (106, held(moved=8), 0),  # it has put something
        (108, held(moved=8), 2),
        (110, held(moved=8, who=OTHER), 0),
        (112, held(moved=8, who=None), 0),
        (115, held(moved=8, who=OTHER, seconds=40), 0),  # between two looks
        (116, held(moved=8, who=OTHER), 1),
    ]
    shown = seen(*((time, each) for time, each, _ in reports))
    assert [rows[0].producer.seconds for rows in shown] == [seconds for *_, seconds in reports]


def test_a_row_is_formatted_for_people() -> None:
    row = Row(report(), 1234.5, None, Activity("waiting", ME, 61.4), Activity("free"))
    assert cells(row) == (
        "jobs",
        "open",
        "###....... 3/10",
        "1,234.5",
        "-",
        "waiting 61 s, host:1:01234567",
        "-",
    )
    assert text([row]).splitlines()[0].split() == "QUEUE STATE LENGTH PUT/s GET/s PRODUCER CONSUMER".split()


def test_top_once_prints_a_table_or_json(run: Run, queue: Queue, make: Callable[..., Queue]) -> None:
    queue.create(4)
    queue.put_many(["a", "b"])
    make("other").create()
    status, out, _ = run("top", "--once")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines() if line] == ["QUEUE", "jobs", "other"]
    (jobs,) = json.loads(run("top", "--once", "--json", "jobs")[1])
    assert (jobs["queue"], jobs["length"], jobs["put_rate"]) == ("jobs", 2, None)
    assert jobs["producer"]["doing"] == "free"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_in_a_pipe_top_prints_one_sample_after_another(
    cli: Cli, queue: Queue, number: int, status: int
) -> None:
    queue.create(4)
    top = cli("top", "--json", "--interval", "0.01")
    reports = iter(lambda: json.loads(stream(top.stdout).readline()), None)
    assert next(reports)[0]["put_rate"] is None
    queue.put(b"v")
    assert until(lambda: next(reports)[0]["length"] == 1)
    top.send_signal(number)
    found, out, err = finish(top)
    assert found == status
    assert b"\x1b" not in out
    assert bool(err) == bool(status)


def test_top_ends_when_its_reader_leaves(cli: Cli, queue: Queue) -> None:
    queue.create()
    top = cli("top", "--interval", "0.01")
    assert stream(top.stdout).readline().startswith(b"QUEUE")
    stream(top.stdout).close()
    top.stdout = None
    assert finish(top)[::2] == (0, b"")


@pytest.mark.parametrize("keys", [b"q", b"\x03"])
def test_a_key_ends_top_on_a_terminal(
    start: Callable[..., Process], queue: Queue, raw: redis.Redis, task: Callable[..., Any], keys: bytes
) -> None:
    queue.create(1)
    queue.put(b"v")
    putting = task(lambda: queue.put(b"w"))
    waiting(raw)
    with terminal() as screen:
        top = start(
            "top", "--interval", "0.05", stdin=screen.fd, stdout=screen.fd, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        screen.wait_for(b"jobs", b"########## 1/1", b"waiting ")
        if keys == b"\x03":
            top.send_signal(signal.SIGINT)
        else:
            screen.press(keys)
        assert finish(top)[::2] == (0, b"")
        assert screen.echoes()
    queue.get()
    putting.result()


def shown(*rows: Row, width: int) -> str:
    """The live view of some queues on a terminal."""
    rich = pytest.importorskip("rich.console", reason="the live view needs the extra 'terminal'")
    from pressure.cli.rich_top import view

    console = rich.Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    with console.file:
        console.print(view(rows))
    return str(console.export_text())


def test_a_queue_name_with_rich_markup_is_shown_unchanged() -> None:
    row = Row(report(queue=b"[bold]x"), 1.0, None, Activity("gone", ME), Activity("free"))
    assert "[bold]x" in shown(row, width=120)


def test_a_narrow_terminal_cuts_off_the_holders_and_not_the_name_of_the_queue() -> None:
    name = "a-queue-with-a-long-name"
    row = Row(report(queue=name.encode()), 1.0, None, Activity("gone", ME), Activity("gone", ME))
    told = shown(row, width=90)
    assert name in told
    assert "PUT/s" in told
    assert "\N{HORIZONTAL ELLIPSIS}" in told


def test_a_server_without_queues_has_a_view() -> None:
    assert "QUEUE" in shown(width=120)
