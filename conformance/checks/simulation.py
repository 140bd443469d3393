"""Every way in which the clients of a small queue can come between each other and die; larger ones by luck.

What the clauses ask for is judged together, whichever scenario it is that goes wrong; the scenario shows it.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from ..environment import Environment, Failure
from .registry import check

__all__ = ["RUNS", "SCENARIOS_OF"]

#: What is explored for a clause, whole.
SCENARIOS_OF: Final = {
    "interleavings": ("one-each", "two-producers", "two-consumers", "two-each"),
    "bound": ("one-each-full", "two-producers-full", "over-filled"),
    "close": ("close-while-get-waits", "close-beside", "two-closers"),
    "delete": ("delete-while-put-waits", "delete-beside", "two-deleters"),
    "create": ("create-beside-delete", "create-dies"),
    "reliable": ("reliable", "reliable-closed"),
    "many": ("many",),
    "deaths": ("one-each-dies", "full-dies", "delete-dies", "reliable-dies"),
    "lost-replies": ("two-producers-die", "close-dies", "many-dies"),
    "repair": ("repair-beside", "close-after-death", "delete-after-death"),
    "leases": ("leases",),
}
#: How many runs by luck there are of each crowd.
RUNS: Final = 2


def modes() -> tuple[bool, ...]:
    """Plain batches, and scripts where there is something to run them."""
    return (False, True) if find_spec("lupa") else (False,)


def whole(clause: str) -> None:
    from ..simulation.drawing import picture
    from ..simulation.explore import explore
    from ..simulation.moves import Game
    from ..simulation.scenarios import SCENARIOS

    for name in SCENARIOS_OF[clause]:
        for scripts in modes():
            game = Game(SCENARIOS[name], scripts=scripts)
            if violation := explore(game).violation:
                raise Failure(f"{name}: {violation.what}", picture(game, violation))


@check("simulation.interleavings")
def interleavings(env: Environment) -> None:
    whole("interleavings")


@check("simulation.bound")
def bound(env: Environment) -> None:
    whole("bound")


@check("simulation.close")
def close(env: Environment) -> None:
    whole("close")


@check("simulation.delete")
def delete(env: Environment) -> None:
    whole("delete")


@check("simulation.create")
def create(env: Environment) -> None:
    whole("create")


@check("simulation.reliable")
def reliable(env: Environment) -> None:
    whole("reliable")


@check("simulation.many")
def many(env: Environment) -> None:
    whole("many")


@check("simulation.deaths")
def deaths(env: Environment) -> None:
    whole("deaths")


@check("simulation.lost-replies")
def lost_replies(env: Environment) -> None:
    whole("lost-replies")


@check("simulation.repair")
def repair(env: Environment) -> None:
    whole("repair")


@check("simulation.leases")
def leases(env: Environment) -> None:
    whole("leases")


@check("simulation.random")
def by_luck(env: Environment) -> None:
    from ..simulation.drawing import picture
    from ..simulation.moves import Game
    from ..simulation.scenarios import LARGE
    from ..simulation.wander import wander

    for scenario in LARGE:
        for scripts in modes():
            game = Game(scenario, scripts=scripts)
            found = wander(game, RUNS)
            if found.violation:
                raise Failure(
                    f"{scenario.name}, seed {found.seed}: {found.violation.what}",
                    picture(game, found.violation),
                )
