"""Which check covers which clauses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Final, TypeAlias

from ..judging.environment import Environment

__all__ = ["CHECKS", "Check", "check"]

Check: TypeAlias = Callable[[Environment], None]
"""Looks at one server through one client; raises ``Failure`` if the clause does not hold."""

CHECKS: Final[defaultdict[str, list[Check]]] = defaultdict(list)
"""The checks of each clause, by the clause's id."""


def check(*clauses: str) -> Callable[[Check], Check]:
    """Declares that a function judges these clauses."""

    def declare(function: Check) -> Check:
        for clause in clauses:
            CHECKS[clause].append(function)
        return function

    return declare
