"""A run as JSON, for programs.

The format is stable: what is there keeps its name and meaning as long as ``format`` is 2; more may be added.

.. code-block:: text

    format       2
    versions     {"Python": "3.11.7", "redis": "8.1.0", ...}
    complete     false if a target that was asked for was not there, or the run was interrupted
    clauses      {id: {suites, place, level, text}}, those with an outcome
    judgements   [{target, origin, client, started, seconds, chosen, problem, excused, suites, outcomes}]
      started    ISO 8601, in UTC
      seconds    how long it took
      chosen     how many clauses the run was to judge, with those that are not asked
      problem    why it was not judged, or not to the end; empty if it was
      excused    whether nobody had asked for the target, so that its absence is no fault
      suites     {suite: {passed, violated, error, not asked}}
      outcomes   [{clause, verdict, reason, missing, seconds, evidence: [{title, text}]}]; verdict is passed,
                 violated, error (the server, the client or the suite broke) or not asked; missing are the
                 capabilities that the clause needs, and the server says that it does not have
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..documents import Clause
from ..judging.runner import Outcome
from .model import Judgement, counted, plain_origin, suites_of, versions

__all__ = ["as_json"]

FORMAT: Final = 2


def as_json(judgements: Sequence[Judgement]) -> str:
    """The document, with a line end."""
    clauses = {each.clause.id: each.clause for judgement in judgements for each in judgement.outcomes}
    document = {
        "format": FORMAT,
        "versions": versions(),
        "complete": all(judgement.excused or not judgement.problem for judgement in judgements),
        "clauses": {id_: of_clause(clause) for id_, clause in clauses.items()},
        "judgements": [of_judgement(judgement) for judgement in judgements],
    }
    return json.dumps(document, indent=1) + "\n"


def of_clause(clause: Clause) -> Mapping[str, Any]:
    return {
        "suites": list(clause.suites),
        "place": clause.place,
        "level": clause.level,
        "text": clause.text,
    }


def of_judgement(judgement: Judgement) -> Mapping[str, Any]:
    return {
        "target": judgement.target,
        "origin": plain_origin(judgement.origin),
        "client": judgement.client,
        "started": judgement.started.isoformat(timespec="seconds"),
        "seconds": round(judgement.seconds, 3),
        "chosen": judgement.chosen,
        "problem": judgement.problem,
        "excused": judgement.excused,
        "suites": {suite: counted(mine) for suite, mine in suites_of(judgement.outcomes).items()},
        "outcomes": [of_outcome(outcome) for outcome in judgement.outcomes],
    }


def of_outcome(outcome: Outcome) -> Mapping[str, Any]:
    return {
        "clause": outcome.clause.id,
        "verdict": outcome.verdict,
        "reason": outcome.reason,
        "missing": list(outcome.missing),
        "seconds": round(outcome.seconds, 4),
        "evidence": [{"title": each.title, "text": each.text} for each in outcome.evidence],
    }
