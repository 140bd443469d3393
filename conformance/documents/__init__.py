"""The documents that servers and clients follow: a package or a module for each, of clauses with their checks.

To add a clause, write a function in its document's module, with the document's decorator above it and the text as
its docstring (``registry`` has an example), and a mutant that it convicts in ``tests/tools/mutation/written``. A new
module is a row in ``MODULES``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from .model import Clause, Level
from .registry import CHECKS, CLAUSES, Check

__all__ = ["CHECKS", "CLAUSES", "SUITES", "Check", "Clause", "Level"]

MODULES: Final = (
    *(
        f"protocol.{name}"
        for name in ("brokers", "defaults", "create", "put", "get", "close", "delete", "whole")
    ),
    *(
        f"decisions.{name}"
        for name in (
            "operations",
            "lifecycle",
            "moments",
            "settings",
            "looking",
            "mending",
            "counting",
            "healing",
            "leases",
            "receiving",
            "refusals",
            "lost_roles",
            "rights",
            "costs",
            "textbook",
        )
    ),
    *(f"lists.{name}" for name in ("pushing", "elements", "errors", "timeouts", "blocking", "matrix")),
    *(f"distributed_queues.{name}" for name in ("backup", "reaping", "ring", "kinds")),
    *(
        f"redismq.{name}"
        for name in (
            "walking",
            "delivering",
            "inspecting",
            "recovering",
            "delaying",
            "dead",
            "several",
            "working",
            "never_lost",
            "on_the_module",
            "commands",
        )
    ),
    "recorded",
    "recorded.large_requests",
    "histories",
    "wire",
    "wire.told",
    "wire.seldom",
)
"""The modules that declare clauses, in the order in which the clauses are told."""

for _name in MODULES:
    import_module(f".{_name}", __name__)

SUITES: Final = tuple(dict.fromkeys(suite for clause in CLAUSES.values() for suite in clause.suites))
"""The names of the suites: one for each document, ``recorded``, ``histories`` and ``wire``."""
