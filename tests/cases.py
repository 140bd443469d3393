"""Many small cases in one test, where a test for each would cost more; and which cases the default run has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

import pytest
from _pytest.mark import ParameterSet

__all__ = ["check_each", "exhaustive", "exhaustive_but", "for_each"]

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


def for_each(
    names: str | tuple[str, ...], values: Iterable[Any], ids: object = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """One test of small cases, where ``parametrize``, which takes the same arguments, would make a test of each."""
    given = [each.strip() for each in names.split(",")] if isinstance(names, str) else [*names]
    cases = {
        f"{number}: {value!r:.200}": dict(zip(given, [value] if len(given) == 1 else value, strict=True))
        for number, value in enumerate(values, 1)
    }

    def made(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def every(**others: Any) -> None:
            check_each(cases, lambda case: test(**case, **others))

        asked = signature(test)
        left = [each for name, each in asked.parameters.items() if name not in given]
        every.__signature__ = asked.replace(parameters=left)  # type: ignore[attr-defined]
        return every

    return made


def exhaustive(*values: object, when: bool = True, id: str | None = None) -> ParameterSet:  # noqa: A002  (pytest's)
    """A case for ``parametrize``, which ``pytest -m "exhaustive and not slow"`` runs and the default run does not."""
    return pytest.param(*values, marks=[pytest.mark.exhaustive] if when else [], id=id)


def exhaustive_but(chosen: Iterable[str], cases: Iterable[str]) -> list[ParameterSet]:
    """The names of cases; the default run has those that are chosen."""
    chosen = set(chosen)
    names = list(cases)
    assert chosen <= set(names), chosen - set(names)
    return [exhaustive(name, when=name not in chosen) for name in names]
