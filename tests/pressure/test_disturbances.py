"""Each operation keeps the laws of ``disturbing_laws``, whatever disturbs it at whatever moment.

All disturbances in all situations: ``pytest -n 2 -m "exhaustive or not exhaustive" tests/pressure/test_disturbances.py``.
"""

from __future__ import annotations

from typing import Any

import pytest

from pressure.errors import QueueFullError
from tests.cases import check_each, exhaustive, for_each

from .disturbing import DISTURBANCES, GROUPS, Run, Stage, disturbed
from .disturbing_laws import broken_by
from .disturbing_tables import CHOSEN

#: In which each operation that has a choice is disturbed in the default run, with scripts; and some without.
TELLING = {"one"}
PLAIN = {"put", "get", "close", "delete", "repair", "doctor", "examine"}

#: What sends many batches, each of which is disturbed in each way: in the exhaustive run.
LONG = {("repair", "deadlock", False), ("put_many at once", "one", False), ("put_many", "one", False)}


#: Time costs nothing here.
pytestmark = pytest.mark.usefixtures("probes_as_for_users")


@pytest.mark.parametrize("operation", CHOSEN)
def test_an_operation_keeps_the_laws(operation: str) -> None:
    def check(group: tuple[str, str, bool]) -> None:
        _, situation, scripts = group
        run = Stage(situation, scripts).play(operation)
        assert broken_by(run) == [], str(run)

    check_each({str(group): group for group in GROUPS if group[0] == operation}, check)


@pytest.mark.parametrize(
    ("operation", "situation", "scripts"),
    [
        exhaustive(*each, when=each[1] not in TELLING or each in LONG or not (each[2] or each[0] in PLAIN))
        for each in GROUPS
    ],
)
def test_an_operation_that_is_disturbed_keeps_the_laws(operation: str, situation: str, scripts: bool) -> None:
    stage = Stage(situation, scripts)
    undisturbed = stage.play(operation)
    for disturbance in DISTURBANCES:
        for run in disturbed(stage, undisturbed, disturbance):
            assert broken_by(run, disturbance) == [], f"{disturbance}:\n{run}"


ROUND_TRIPS = {
    ("put", "empty"): (3, 1),
    ("put_many overfill", "one"): (4, 1),
    ("get", "one"): (3, 1),
    ("get_many", "two"): (4, 1),
    ("receive", "one"): (2, 1),
    ("settle", "full"): (4, 2),
    ("close", "one"): (3, 1),
    ("peek", "one"): (1, 1),
    ("stats", "one"): (1, 1),
    ("doctor", "one"): (1, 1),
}
"""Of operations that need not wait: without scripts, and with scripts that the server knows. ``settle`` receives, too."""


@for_each(("operation", "situation"), ROUND_TRIPS)
def test_an_operation_takes_so_many_round_trips(operation: str, situation: str) -> None:
    taken = []
    for scripts in (False, True):
        stage = Stage(situation, scripts)
        stage.play(operation)  # the server comes to know the script
        taken.append(len(stage.play(operation).sent))
    assert tuple(taken) == ROUND_TRIPS[operation, situation]


def queue(*messages: bytes, **keys: Any) -> dict[bytes, Any]:
    named = {f"__pressure__:jobs:{name}".encode(): value for name, value in keys.items()}
    return {b"__pressure__:jobs": list(messages), b"__pressure__:jobs:bound": b"2", **named}


MINE, THEIRS = b"me:1:00000000/1/1", b"a:1:00000000/1/1"

BROKEN = {
    "does not end": Run("put", [], queue(), after=queue(), end="does not end"),
    "raised a KeyError": Run("put", [], queue(), after=queue(), result=KeyError("jobs")),
    "does not name the queue": Run("put", [], queue(), after=queue(), result=QueueFullError("full")),
    "values came": Run("peek", [], queue(b"a"), after=queue(b"a", b"a"), end="->"),
    "or went": Run("put", [], queue(b"a"), after=queue(b"a"), end="->"),
    "acknowledging one message": Run("settle", [], queue(b"a"), after=queue(b"a"), end="->"),
    "the messages were": Run("peek", [], queue(b"b", b"a"), after=queue(b"a", b"b"), end="->"),
    "not at the left": Run("put", [], queue(b"a"), after=queue(b"a", b"value"), end="->"),
    "3 messages are stored, and the bound is 2": Run(
        "put", [], queue(b"b", b"a"), after=queue(b"value", b"b", b"a"), end="->"
    ),
    "role is still held": Run("peek", [], queue(), after=queue(consumer=MINE), end="->"),
    "had lost the consumer's role": Run(
        "peek",
        [],
        queue(),
        acted=[(queue(consumer=MINE), queue(consumer=THEIRS))],
        after=queue(consumer=MINE + b"/released", consumer_free=[b"0"]),
        end="->",
    ),
}


@for_each("problem", BROKEN)
def test_what_breaks_a_law_is_told(problem: str) -> None:
    assert any(problem in told for told in broken_by(BROKEN[problem]))
