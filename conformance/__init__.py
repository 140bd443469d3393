"""A suite that checks whether Redis servers and queue clients do what their documents ask for.

Each thing that a document asks for is a clause, with an id and a check. A run gives each clause a verdict::

    with conformance.target_named("redis://127.0.0.1:6379/0").up() as address:
        for outcome in conformance.run(address, suites=["list-notes"]):
            print(outcome.clause.id, outcome.verdict, outcome.reason)

``python -m conformance`` and ``pytest --pyargs conformance`` do the same from a command line. Other commands:
``conformance.differential`` compares two servers reply by reply, and ``conformance.histories`` judges what
clients recorded. Each has a ``--help``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .clients.adapter import Adapter
    from .clients.judged import Client, Judged
    from .documents import CLAUSES, SUITES, Clause
    from .judging.environment import Broken, Environment, Failure, Unsupported
    from .judging.runner import Judging, Outcome, judge, run
    from .targets import (
        TARGETS,
        Address,
        NoRealRedisError,
        NotInstalledError,
        Target,
        real_redis,
        target_named,
    )

__all__ = [
    "CLAUSES",
    "SUITES",
    "TARGETS",
    "Adapter",
    "Address",
    "Broken",
    "Clause",
    "Client",
    "Environment",
    "Failure",
    "Judged",
    "Judging",
    "NoRealRedisError",
    "NotInstalledError",
    "Outcome",
    "Target",
    "Unsupported",
    "judge",
    "real_redis",
    "run",
    "target_named",
]

PLACES: Final = (
    "documents",
    "clients.adapter",
    "clients.judged",
    "judging.environment",
    "judging.runner",
    "targets",
)
"""The modules that have what this one offers. They are imported when something of theirs is wanted: pytest
imports this package whenever it starts, for the options of ``pytest --pyargs conformance``."""


def __getattr__(name: str) -> Any:
    if name in __all__:
        for place in PLACES:
            module = import_module(f".{place}", __name__)
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
