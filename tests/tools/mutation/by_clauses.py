"""Judges the copy of the project that it runs in by clauses: ``python -m tests.tools.mutation.by_clauses ORDER``.

The order is JSON: ``clauses`` (each with the flavour of our client before it, "sync queue.fifo", and the seconds that
it took when it was recorded, or 0), ``stops`` (whether the first conviction is enough), ``hurried`` and ``records`` (whether the lines are recorded that are executed). It
prints a line of JSON for each clause: its name, why it was not passed (empty if it was), seconds and lines.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from functools import cache
from typing import Any, Final

from conformance.clients.flavours import FLAVOURS
from conformance.documents import CLAUSES, wire
from conformance.judging import runner, running
from conformance.judging.runner import Judging
from conformance.targets import target_named
from conformance.wire import connections

from .reach import Recorder

PATIENCE: Final = 1.7
"""Seconds until what should come has to come, where it is not likely to; less than two slices of a wait (``SLICE``), in
which a client finds that nobody holds a role, and frees it."""

HUNG: Final = 5.0
"""Seconds after which a check counts as hung that was not recorded, or took no time to speak of."""

TIMES: Final = 10
"""So many times the seconds that its clause took when it was recorded, on a machine that may be as busy, if longer."""

RECORDED: Final = 60.0
"""The same while lines are recorded, which takes ten times as long."""

MOST_MEMORY: Final = 4 << 30
"""Bytes that a mutant may allocate."""


def hurry() -> None:
    """Has less patience than a server deserves that may be right."""
    for module in (running, connections):
        vars(module)["PATIENCE"] = PATIENCE
    vars(runner).update(ANSWER_LIMIT=PATIENCE)
    vars(wire)["SHORTEN"] = 0.5
    vars(importlib.import_module("pressure.protocol.liveness"))["PROBE_INTERVAL"] = 0.05


def main(order: dict[str, Any]) -> None:
    """Carries out an order."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    if order["hurried"]:
        hurry()
    recorder = Recorder() if order["records"] else None
    with target_named("embedded").up() as address:
        judging = cache(lambda flavour: Judging(address, FLAVOURS[flavour]))
        for name, took in order["clauses"].items():
            flavour, clause = name.split()
            if order["hurried"]:
                vars(runner)["CHECK_LIMIT"] = RECORDED if order["records"] else max(HUNG, TIMES * took)
            judge, begin = judging(flavour), time.monotonic()
            if recorder is not None:
                recorder.taken()
            outcome = judge.judge(CLAUSES[clause])
            why = f"{outcome.verdict}: {outcome.reason}" if outcome.is_bad else ""
            lines = recorder.taken() if recorder is not None else {}
            seconds = round(time.monotonic() - begin, 3)
            sys.stdout.write(json.dumps([name, why, seconds, lines]) + "\n")
            sys.stdout.flush()
            if why and order["stops"]:
                break
        os._exit(0)  # a mutant may never stop its server


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
