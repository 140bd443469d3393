"""Judges the history of one FIFO queue, near linear: a sort and a sweep for each rule.

The values must be distinct; of one that was put more than once only its number is judged, and all else is
unknown. What is illegal is so for certain. For a queue without a bound whose puts and gets are of one value
each, what is ok is linearizable, too, except for open gets beside answers that there is nothing; for
bounds, roles and batches the rules are necessary ones. To add one, add a row to ``RULES``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from .contents import counted, duplicate, invented, lost
from .limits import crowded, put_when_closed, shared_role
from .model import Facts, History, Operation, Result, Verdict, worst
from .ordering import falsely_empty, out_of_order
from .segments import Segment, segments
from .values import Case, collected

__all__ = ["RULES", "Segment", "check", "check_queue", "rules_of", "segments"]

Rule: TypeAlias = Callable[[Case], Iterable[Verdict]]

RULES: Final[Mapping[str, tuple[Rule, ...]]] = {
    "fifo": (invented, out_of_order, falsely_empty),
    "no-loss": (lost,),
    "no-duplicate": (duplicate,),
    "bound": (crowded,),
    "exclusive": (shared_role,),
    "closed": (put_when_closed,),
}
"""What is asked of a FIFO queue; each yields what breaks it, in whatever order."""


def check(history: History) -> Verdict:
    """Judges all queues of a history by all rules.

    Returns:
        The first violation, or else what is not known; ok if neither.
    """
    return worst(
        worst(check_queue(operations, history.facts, queue).values())
        for queue, operations in history.queues().items()
    )


def rules_of(history: History) -> Result:
    """The worst verdict of each rule over all queues of a history."""
    results = [check_queue(mine, history.facts, queue) for queue, mine in history.queues().items()]
    return {rule: worst(result[rule] for result in results) for rule in RULES}


def check_queue(operations: Iterable[Operation], facts: Facts | None = None, queue: str = "") -> Result:
    """Judges the operations of one queue.

    Args:
        operations: in whatever order.
        facts: what is known of the run.
        queue: whose bound and final contents among the facts count.

    Returns:
        A verdict for each rule.
    """
    facts = facts or Facts()
    case = Case(collected(operations), facts.final.get(queue), facts.bounds.get(queue, 0), facts)
    values = case.values
    if values.deletes:
        reason = "the queue was deleted, or may have been, with what was in it"
        return dict.fromkeys(RULES, Verdict("unknown", reason=reason, operations=tuple(values.deletes)))
    if values.repeated:
        return _of_repeated(case)
    return {name: _first(rules, case) for name, rules in RULES.items()}


def _first(rules: Iterable[Rule], case: Case) -> Verdict:
    """The first thing that breaks a rule, if any."""
    return next((verdict for rule in rules for verdict in rule(case)), Verdict("ok"))


def _of_repeated(case: Case) -> Result:
    """What can be said if some values were put more than once."""
    value, puts = next(iter(case.values.repeated.items()))
    reason = f"{value!r} was put {len(puts)} times, and which of them came nobody can tell"
    result = dict.fromkeys(RULES, Verdict("unknown", reason=reason, operations=tuple(puts)))
    for verdict in counted(case):
        result["no-loss" if verdict.violation == "loss" else "no-duplicate"] = verdict
    return result
