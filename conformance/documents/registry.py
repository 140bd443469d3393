"""Every clause of the documents, with the checks that judge it.

A clause is a function that looks at a server and a client, and raises ``Failure`` if the clause does not hold.
Its text is the function's docstring; what else is known of it stands above the function::

    notes = clauses_of("list-notes")

    @notes("list.llen", "2, LLEN")
    def llen(env: Environment) -> None:
        '''LLEN answers the length, 0 for a missing key.'''
        ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from ..judging.environment import Environment
from .model import Clause, Level

__all__ = ["CHECKS", "CLAUSES", "Check", "check", "clauses_of", "declare"]

Check: TypeAlias = Callable[[Environment], None]
"""Looks at one server through one client; raises ``Failure`` if the clause does not hold."""

CLAUSES: Final[dict[str, Clause]] = {}
"""Every clause, by its id."""

CHECKS: Final[dict[str, list[Check]]] = {}
"""The checks of each clause, by the clause's id; most have one."""


def declare(*clauses: Clause) -> None:
    """Adds clauses whose checks come later.

    Raises:
        ValueError: there is one of that id.
    """
    for clause in clauses:
        if clause.id in CLAUSES:
            raise ValueError(f"two clauses have the id {clause.id}")
        CLAUSES[clause.id], CHECKS[clause.id] = clause, []


def check(id_: str) -> Callable[[Check], Check]:
    """Declares that a function judges a clause that was declared before, beside the clause's other checks."""

    def add(function: Check) -> Check:
        CHECKS[id_].append(function)
        return function

    return add


def clauses_of(
    *suites: str, level: Level = "must", needs: tuple[str, ...] = ()
) -> Callable[..., Callable[[Check], Check]]:
    """What declares clauses of some documents: a decorator of functions whose docstrings are the texts."""

    def clause(
        id_: str,
        place: str,
        *,
        level: Level = level,
        needs: tuple[str, ...] = needs,
        limit: float | None = None,
    ) -> Callable[[Check], Check]:
        def add(function: Check) -> Check:
            text = " ".join((function.__doc__ or "").split())
            declare(Clause(id_, suites, place, level, text, needs, limit))
            return check(id_)(function)

        return add

    return clause
