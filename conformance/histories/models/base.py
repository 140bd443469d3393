"""What a model is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..model import Operation

__all__ = ["Model", "Outcome", "States", "one_key"]

States: TypeAlias = tuple[Any, ...]
"""The state of each key that an operation touches, in the order of ``Model.keys``; states can be hashed."""

Outcome: TypeAlias = tuple[Any, States]
"""A possible answer, and the states after it.

An answer is the words of ``Operation.result``, an ``Exception`` whose text is the name of the error, or an
object whose method ``fits`` says of a result whether it is such an answer.
"""


def one_key(operation: Operation) -> tuple[str, ...]:
    """The key of an operation that touches no other."""
    return (operation.queue,)


@dataclass(frozen=True, slots=True)
class Model:
    """What an object answers to operations that are done one after the other.

    Attributes:
        name: of the model.
        operations: the names of the operations that it knows.
        initial: the state of a key at the beginning.
        step: from the states of an operation's keys and the operation to its possible outcomes. It raises
            ValueError for arguments that it does not know; the verdict of the keys is unknown then.
        keys: the keys that an operation touches.
        errors: the names of the errors that ``step`` answers; any other error says that nothing was done.
    """

    name: str
    operations: Collection[str]
    initial: Any
    step: Callable[[States, Operation], Iterable[Outcome]]
    keys: Callable[[Operation], tuple[str, ...]] = one_key
    errors: Collection[str] = ()

    def after(self, states: States, operation: Operation) -> Iterable[States]:
        """The states after an operation with the result that it had; none if it cannot have had it."""
        return (after for answer, after in self.step(states, operation) if _fits(answer, operation))


def _fits(answer: Any, operation: Operation) -> bool:
    if operation.returned is None:
        return True
    if isinstance(answer, Exception) or operation.outcome == "error":
        return isinstance(answer, Exception) and str(answer) == operation.error
    if answer is None or isinstance(answer, tuple):
        return bool(answer == operation.result)
    return bool(answer.fits(operation.result))
