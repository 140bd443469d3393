"""Clients that fail go on, and nobody repairs: every interleaving can come to an end, and loses nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pressure.protocol import healing, roles
from pressure.protocol import scripts as scripted
from tests.tools.simulation.explore import explore
from tests.tools.simulation.moves import Game
from tests.tools.simulation.scenarios import ALL, SCENARIOS

#: These have thousands of states where plain batches are sent.
MANY_STATES = {"cut-closer", "cut-while-put-waits", "cut-while-get-waits", "cut-consumers"}

#: And these hundreds: they are in the exhaustive run.
HUNDREDS = {
    ("cut-producers", False),
    ("cut-receivers", False),
    ("cut-while-put-waits", True),
    ("short-waits-of-producers", False),
    ("short-waits-of-consumers", False),
    ("short-waits-of-receivers", False),
}


def marks(name: str, scripts: bool) -> list[pytest.MarkDecorator]:
    if name in MANY_STATES and not scripts:
        return [pytest.mark.slow]
    return [pytest.mark.exhaustive] if (name, scripts) in HUNDREDS else []


GO_ON = [
    pytest.param(
        each.name, scripts, marks=marks(each.name, scripts), id=f"{each.name}-{'scripts' if scripts else 'plain'}"
    )
    for each in ALL if each.goes_on for scripts in (False, True)
]  # fmt: skip

MODES = pytest.mark.parametrize("scripts", [False, True], ids=["plain", "scripts"])


@pytest.fixture(autouse=True)
def _with_lua(request: pytest.FixtureRequest) -> None:
    if request.getfixturevalue("scripts"):
        pytest.importorskip("lupa", reason="scripts need the extra 'lua'")


def found_in(name: str, scripts: bool, free: bool = False, **changes: Any) -> str:
    """What is wrong; nothing if all states are right."""
    found = explore(Game(replace(SCENARIOS[name], **changes), scripts=scripts, free=free), limit=100_000)
    assert found.whole or found.violation
    return found.violation.what if found.violation else ""


@pytest.mark.parametrize(("name", "scripts"), GO_ON)
def test_after_any_failure_at_any_moment_all_come_to_an_end(name: str, scripts: bool) -> None:
    assert found_in(name, scripts) == ""


@pytest.mark.slow
@MODES
@pytest.mark.parametrize("name", ["cut-producers", "cut-consumers"])
def test_after_two_failures_all_come_to_an_end(name: str, scripts: bool) -> None:
    assert found_in(name, scripts, faults=2) == ""


@pytest.mark.slow
@MODES
@pytest.mark.parametrize("name", ["cut-producers", "cut-consumers", "leases-heal"])
def test_a_clock_that_jumps_makes_nobody_lose_a_message(name: str, scripts: bool) -> None:
    """Any wait may end at any moment, so that two looks at a holder are not seconds apart.

    Who waits for ever may free a role again and again, each time as another hold; so each gives up in the end.
    """
    assert found_in(name, scripts, free=True, tries=3) == ""


@MODES
def test_without_healing_somebody_waits_for_ever(scripts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        return False
        yield

    for module in (healing, roles, scripted):
        monkeypatch.setattr(module, "heal", never)
    assert found_in("cut-receivers", scripts)
