"""Which checkers a history is judged by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from . import fifo, linearizable, waiters
from .lists import COMMANDS
from .model import History, Result, Verdict

__all__ = ["CHECKERS", "judged"]


def of_lists(history: History) -> Result:
    """Those that know lists: all operations as an object, or, where waits were seen, those who waited."""
    if any(operation.name == "blocked" for operation in history.operations):
        return {"waiters": waiters.check(history)}
    return {"linearizable": linearizable.check(history)}


def of_queues(history: History) -> Result:
    """Those that know queues."""
    return fifo.rules_of(History([each for each in history.operations if each.name.islower()], history.facts))


CHECKERS: Final[Mapping[str, Callable[[History], Result]]] = {"queues": of_queues, "lists": of_lists}
"""What judges a history, by what it knows."""


def judged(history: History) -> Mapping[str, Verdict]:
    """A verdict for each rule that the operations of a history are subject to."""
    names = {operation.name for operation in history.operations}
    known = {
        "queues": any(map(str.islower, names - {"blocked", "gone"})),
        "lists": bool(names & COMMANDS.keys()),
    }
    return {
        rule: verdict
        for kind, check in CHECKERS.items()
        if known[kind]
        for rule, verdict in check(history).items()
    }
