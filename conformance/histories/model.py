"""What a history is: operations, when each began and ended, and what is known of the run.

Moments are nanoseconds of one monotonic clock, whatever its zero. An operation that never came back (its
client was killed, its connection broke, its time was over) is open: it may have taken effect at any moment
after it began, or not at all. Arguments and results are words, as on the wire; an integer is its decimal
digits.

An operation of a queue is a method of ``pressure.Queue``: ``put`` and ``put_many`` with the values, ``get``
with nothing and ``get_many`` with the most that it takes, ``close``. A ``receive`` is followed by an
``ack`` or a ``put_back`` of the same client with the value. An operation on a key is a Redis command in
capitals, its first key the queue, the words behind it the argument (keys among them in UTF-8), and its error
a code such as ``WRONGTYPE``. Two more are not operations but moments that a recorder saw: ``blocked``, since
when the client is known to be waiting, and ``gone``, since when it is known not to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

__all__ = ["NEVER", "Answer", "Facts", "History", "Operation", "Result", "Verdict", "worst"]

Answer: TypeAlias = Literal["ok", "illegal", "unknown"]
Ending: TypeAlias = Literal["ok", "error", "open"]

NEVER: Final = 2**63 - 1
"""A moment behind all others."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of one client.

    Attributes:
        client: whose it is; a client does one thing after the other.
        queue: the name of the queue, or the key.
        name: what it does.
        argument: its words.
        result: the words that it returned; None where it returned nothing. Of a ``put_many`` that failed, the
            number of values that were put.
        invoked: when it began, in nanoseconds.
        returned: when it came back; None if it did not.
        outcome: how it ended.
        error: the name of the error.
    """

    client: str
    queue: str
    name: str
    argument: tuple[bytes, ...]
    result: tuple[bytes, ...] | None
    invoked: int
    returned: int | None
    outcome: Ending = "ok"
    error: str = ""

    @property
    def end(self) -> int:
        """When it came back, or never."""
        return NEVER if self.returned is None else self.returned

    def keys_in(self, begin: int = 0, end: int | None = None) -> tuple[str, ...]:
        """Its key, and the keys that some of its words are, in UTF-8."""
        return self.queue, *(word.decode("utf-8", "backslashreplace") for word in self.argument[begin:end])

    def __str__(self) -> str:
        words = " ".join([self.name, *map(_shown, self.argument)])
        return f"{self.client}: {words} -> {self.ending}"

    @property
    def ending(self) -> str:
        """What came of it, for people."""
        if self.outcome == "open":
            return "open"
        if self.outcome == "error":
            return self.error or "error"
        if self.result is None:
            return "ok" if self.name.islower() else "nil"
        return " ".join(map(_shown, self.result)) or "empty"


def _shown(word: bytes) -> str:
    text = ascii(word.decode("latin-1"))[1:-1]
    return text if len(text) <= 40 else f"{text[:37]}..."


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a run beside its operations.

    Attributes:
        server: what it ran on.
        bounds: of the queues whose bound is known; 0 for a queue without one.
        final: what was in a queue at the end, what comes next first, if somebody looked.
        overfilling: the clients that put whether there is room or not.
        killed: the clients that were killed.
        slack: by how much a bound may be passed: 1 where clients send plain batches, whose Gets compare first
            and make room then; 0 where they run scripts.
    """

    server: str = ""
    bounds: Mapping[str, int] = field(default_factory=dict)
    final: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)
    overfilling: frozenset[str] = frozenset()
    killed: frozenset[str] = frozenset()
    slack: int = 0


@dataclass(frozen=True, slots=True)
class History:
    """Operations of many clients, and what is known of their run."""

    operations: Sequence[Operation]
    facts: Facts = field(default_factory=Facts)

    def queues(self) -> dict[str, list[Operation]]:
        """The operations of each queue."""
        apart: dict[str, list[Operation]] = {}
        for operation in self.operations:
            apart.setdefault(operation.queue, []).append(operation)
        return apart


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a checker says.

    Attributes:
        answer: whether the history can be explained; ``unknown`` if the checker cannot tell.
        violation: which rule it breaks, if illegal, such as ``order``.
        reason: why, a sentence.
        operations: the operations concerned.
        order: an order in which they may have taken effect, or the longest beginning of one that there is.
    """

    answer: Answer
    violation: str = ""
    reason: str = ""
    operations: tuple[Operation, ...] = ()
    order: tuple[Operation, ...] = ()


Result: TypeAlias = Mapping[str, Verdict]
"""A verdict for each rule."""

_WEIGHT: Final[Mapping[Answer, int]] = {"illegal": 0, "unknown": 1, "ok": 2}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The first illegal one, or else the first unknown one; ok if all are, or there are none."""
    return min(verdicts, key=lambda verdict: _WEIGHT[verdict.answer], default=Verdict("ok"))
