"""Many small cases in one test, where a test for each would cost more; and which cases the default run has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

__all__ = ["check_each", "exhaustive", "exhaustive_but"]

Case = TypeVar("Case")

SHOWN = 10
"""How many failures are shown whole; all are named."""


def check_each(cases: Mapping[str, Case], check: Callable[[Case], object]) -> None:
    """Checks every case, also after failures; the error names each case that failed.

    A case that skips counts as failed: it would end the test, with the failures so far and without the rest.
    """
    assert cases, "there are no cases"
    failures: dict[str, BaseException] = {}
    for name, case in cases.items():
        try:
            check(case)
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as failure:
            failure.add_note(f"in the case: {name}")
            failures[name] = failure
    if failures:
        names = "".join(f"\n  {name}" for name in failures)
        raise BaseExceptionGroup(
            f"{len(failures)} of {len(cases)} cases failed:{names}\nThe first of them",
            [*failures.values()][:SHOWN],
        )


def exhaustive(*values: object, when: bool = True, id: str | None = None) -> ParameterSet:  # noqa: A002  (pytest's)
    """A case for ``parametrize``, which ``pytest -m "exhaustive and not slow"`` runs and the default run does not."""
    return pytest.param(*values, marks=[pytest.mark.exhaustive] if when else [], id=id)


def exhaustive_but(chosen: Iterable[str], cases: Iterable[str]) -> list[ParameterSet]:
    """The names of cases; the default run has those that are chosen."""
    chosen = set(chosen)
    names = list(cases)
    assert chosen <= set(names), chosen - set(names)
    return [exhaustive(name, when=name not in chosen) for name in names]
