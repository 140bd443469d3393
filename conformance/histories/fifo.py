"""Judges the history of one FIFO queue, near linear: a sort and a sweep for each rule.

The values must be distinct; of one that was put more than once only its number is judged, and all else is
unknown. What is illegal is so for certain. For a queue without a bound whose puts and gets are of one value
each, what is ok is linearizable, too, except for open gets beside answers that there is nothing; for
bounds, roles and batches the rules are necessary ones. To add one, add a row to ``RULES``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from .contents import counted, duplicate, invented, lost, mismatched
from .limits import crowded, falsely_closed, falsely_full, shared_role
from .model import NEVER, Facts, History, Operation, Result, Verdict, worst
from .ordering import falsely_empty, out_of_order
from .scope import unknown_operations, unknown_verdict
from .values import Case, collected

__all__ = ["RULES", "check", "check_queue", "rules_of"]

Rule: TypeAlias = Callable[[Case], Iterable[Verdict]]

RULES: Final[Mapping[str, tuple[Rule, ...]]] = {
    "fifo": (invented, mismatched, out_of_order, falsely_empty),
    "no-loss": (lost,),
    "no-duplicate": (duplicate,),
    "bound": (crowded, falsely_full),
    "exclusive": (shared_role,),
    "closed": (falsely_closed,),
}
"""What is asked of a FIFO queue; each yields what breaks it, in whatever order."""


def check(history: History) -> Verdict:
    """Judges all queues of a history by all rules.

    Returns:
        The first violation, or else what is not known; ok if neither.
    """
    return worst(rules_of(history).values())


def rules_of(history: History, unknown: Mapping[str, Operation] | None = None) -> Result:
    """The worst verdict of each rule over all queues of a history.

    Args:
        history: operations of queues.
        unknown: operations that nobody knows, by the queues that they concern; found if omitted.
    """
    unknown = unknown_operations(history.operations) if unknown is None else unknown
    results = [
        _same(unknown_verdict(unknown[queue])) if queue in unknown else _read(mine, history.facts, queue)
        for queue, mine in history.queues().items()
    ]
    return {rule: worst(result[rule] for result in results) for rule in RULES}


def _read(operations: Iterable[Operation], facts: Facts, queue: str) -> Result:
    try:
        return check_queue(operations, facts, queue)
    except (ValueError, IndexError, TypeError) as error:  # a number that is none, a word too few
        return _same(Verdict("unknown", reason=f"an operation on {queue} cannot be read: {error}"))


def _same(verdict: Verdict) -> dict[str, Verdict]:
    return dict.fromkeys(RULES, verdict)


def check_queue(operations: Iterable[Operation], facts: Facts | None = None, queue: str = "") -> Result:
    """Judges the operations of one queue.

    Args:
        operations: in whatever order.
        facts: what is known of the run.
        queue: whose bound and final contents among the facts count.

    Returns:
        A verdict for each rule.
    """
    facts, operations = facts or Facts(), list(operations)
    deletes = [each for each in operations if each.name == "delete" and _may_have_worked(each)]
    since = min((each.invoked for each in deletes), default=NEVER)
    final = None if deletes else facts.final.get(queue)
    case = Case(collected(_before(operations, since)), final, facts.bounds.get(queue), facts)
    result = _of_repeated(case) if case.values.repeated else _of_distinct(case)
    if not deletes or all(each.outcome != "ok" or each.end < since or each in deletes for each in operations):
        return result
    reason = "the queue was deleted, or may have been, and what was done from then on is not judged"
    unknown = Verdict("unknown", reason=reason, operations=tuple(deletes))
    return {name: worst([verdict, unknown]) for name, verdict in result.items()}


def _may_have_worked(delete: Operation) -> bool:
    return delete.outcome != "error" or delete.error == "QueueInUseError"


def _before(operations: Iterable[Operation], delete: int) -> Iterator[Operation]:
    """What began before a delete; what was under way at the moment was done or not: it is open."""
    for each in operations:
        if each.end < delete or (each.outcome == "open" and each.invoked < delete):
            yield each
        elif each.outcome == "ok" and each.invoked < delete:
            yield replace(each, result=None, returned=None, outcome="open")


def _of_distinct(case: Case) -> Result:
    return {name: _first(rules, case) for name, rules in RULES.items()}


def _first(rules: Iterable[Rule], case: Case) -> Verdict:
    """The first thing that breaks a rule, if any."""
    return next((verdict for rule in rules for verdict in rule(case)), Verdict("ok"))


def _of_repeated(case: Case) -> Result:
    """What can be said if some values were put more than once."""
    value, puts = next(iter(case.values.repeated.items()))
    reason = f"{value!r} was put {len(puts)} times, and which of them came nobody can tell"
    result = _same(Verdict("unknown", reason=reason, operations=tuple(puts)))
    for verdict in counted(case):
        result["no-loss" if verdict.violation == "loss" else "no-duplicate"] = verdict
    return result
