"""Many small cases in one test, where a test for each would cost more than what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import pytest

__all__ = ["check_each"]

Case = TypeVar("Case")

SHOWN = 10
"""How many failures are shown whole; all are named."""


def check_each(cases: Mapping[str, Case], check: Callable[[Case], object]) -> None:
    """Checks every case, whatever becomes of those before it; the failure names each case that failed.

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
