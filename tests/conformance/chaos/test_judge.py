"""The verdicts on journals by the judge of a chaos run."""

from __future__ import annotations

from pathlib import Path

from tests.cases import for_each
from tests.tools.chaos import Findings, judged
from tests.tools.chaos.journal import Event, Journal, read
from tests.tools.chaos.judge import Blow


def events(*lines: str) -> list[Event]:
    """Events, a second apart unless they say when: ``[seconds] worker kind value``."""
    made = []
    for number, line in enumerate(lines):
        *when, worker, kind, value = line.split()
        made.append(Event(float(when[0]) if when else float(number), worker, kind, value))
    return made


def wrong(*lines: str, left: tuple[str, ...] = ()) -> tuple[str, ...]:
    return judged(events(*lines), [], left).wrong


PUT = ("p putting p.0", "p put p.0")
GOT = ("c got p.0", "c done p.0")


@for_each(
    "lines",
    [
        (*PUT, *GOT),
        ("p putting p.0", *GOT),  # it was not told that its put was done
        ("p putting p.0",),
        (*PUT, "c got p.0", "d got p.0", "d done p.0"),  # c died, or was told that it has lost the role
        (*PUT, "c got p.0", "d got p.0"),
        (*PUT, "d got p.0", "d done p.0", "c got p.0"),  # c was frozen before it wrote that down
    ],
)
def test_what_may_happen_where_somebody_dies_is_not_wrong(lines: tuple[str, ...]) -> None:
    assert wrong(*lines) == ()


def test_what_is_in_the_queue_at_the_end_is_not_lost() -> None:
    assert wrong(*PUT) == ("p.0 was put, and is lost",)
    assert wrong(*PUT, left=("p.0",)) == ()


def test_a_value_that_nobody_put_is_wrong() -> None:
    assert wrong(*GOT) == ("p.0 came, and nobody put it",)


def test_a_value_that_is_acknowledged_again_is_wrong() -> None:
    assert wrong(*PUT, *GOT, *GOT) == ("p.0 was acknowledged 2 times",)


def test_the_values_of_a_producer_come_in_order() -> None:
    two = ("p putting p.0", "p put p.0", "p putting p.1", "p put p.1")
    assert wrong(*two, "c got p.1", "c done p.1", *GOT) == ("p.0 came after p.1",)
    assert wrong(*two, *GOT, "c got p.1", "c done p.1") == ()


def test_a_long_standstill_is_wrong() -> None:
    lines = (
        *PUT,
        "2 c got p.0",
        "3 c done p.0",
        "4 p putting p.1",
        "5 p put p.1",
        "30 c got p.1",
        "31 c done p.1",
    )
    assert wrong(*lines) == ("the queue stood still for 28.0 s",)


def test_a_standstill_in_which_one_holder_died_after_another_is_counted_from_the_last() -> None:
    lines = (
        *PUT,
        "2 c got p.0",
        "3 c done p.0",
        "4 p putting p.1",
        "5 p put p.1",
        "30 c got p.1",
        "31 c done p.1",
    )
    found = judged(
        events(*lines), [Blow(4, "killed", "consumer"), Blow(15, "killed", "consumer"), Blow(29, "killed")]
    )
    assert (found.standstill, found.alone, found.wrong) == (28.0, 15.0, ())


def test_figures_say_how_soon_a_role_worked_again() -> None:
    lines = (
        *PUT,
        "2 c got p.0",
        "3 p putting p.1",
        "4 p put p.1",
        "9 d got p.0",
        "10 d done p.0",
        "11 d got p.1",
    )
    blows = [Blow(2.5, "killed", "consumer"), Blow(3.5, "killed", "producer"), Blow(5, "frozen")]
    found = judged(events(*lines), blows)
    assert found.recovery == {"killed": [6.5, 0.5]}
    assert (found.put, found.delivered, found.again, found.unsettled) == (2, 2, 1, 2)
    assert "killed: worked again after 3.50 s (median of 2), 6.50 s at most" in str(found)
    assert "1 frozen, 2 killed" in str(found)


def test_a_line_that_was_not_written_whole_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "p"
    journal = Journal(file)
    journal.note("put", "p.0")
    with file.open("a") as more:
        more.write("12.5 pu")
    (event,) = read([file])
    assert (event.worker, event.kind, event.value) == ("p", "put", "p.0")


def test_nothing_that_was_found_is_nothing_wrong() -> None:
    assert Findings().wrong == ()
