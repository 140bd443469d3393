"""Which checkers a history is judged by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from . import fifo, linearizable, waiters
from .model import History, Verdict
from .models import MODELS, Model
from .scope import OBSERVED, QUEUE_OPERATIONS, unknown_operations

__all__ = ["judged"]


def judged(history: History, models: Iterable[Model] = MODELS) -> Mapping[str, Verdict]:
    """A verdict for each rule that the operations of a history are subject to.

    Args:
        history: of queues, of keys, or of both.
        models: what is known beside queues; ``[*MODELS, mine]`` adds one. An operation of a queue that
            a model knows is judged by the model.
    """
    models = list(models)
    modelled = {name for model in models for name in model.operations}
    names = {operation.name for operation in history.operations} - OBSERVED
    unknown = unknown_operations(history.operations, models)
    verdicts: dict[str, Verdict] = {}
    if names & (QUEUE_OPERATIONS - modelled):
        mine = [each for each in history.operations if each.name in QUEUE_OPERATIONS - modelled]
        verdicts.update(fifo.rules_of(History(mine, history.facts), unknown))
    if names - (QUEUE_OPERATIONS - modelled):
        verdicts["linearizable"] = linearizable.check(history, models)
    if any(operation.name == "blocked" for operation in history.operations):
        verdicts["waiters"] = waiters.check(history)
    return verdicts
