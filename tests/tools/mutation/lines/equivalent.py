"""Mutants that no test can notice, each with the reason; a test checks that each row still fits the code.

A row names the file, the line as it stands there, once, and what it is changed to. What whole kinds of
changes have in common is a rule in ``harmless`` instead.
"""

from __future__ import annotations

from typing import Final

from .mutants import Equivalent, Mutant

__all__ = ["EQUIVALENT", "reason_of"]


WAITING: Final = "miniredis/engine/waiting.py"

_TIES: Final = "it only breaks ties between equal deadlines, by whatever grows"
_SPARES: Final = (
    "the count only spares a look at keys that nobody waits for; if it is too high, it spares less"
)

PUT: Final = "pressure/protocol/put.py"
GET: Final = "pressure/protocol/get.py"
WAITS: Final = "pressure/protocol/waits.py"
LIFECYCLE: Final = "pressure/protocol/lifecycle.py"
ROLE: Final = "pressure/protocol/role.py"
SCRIPTS: Final = "pressure/protocol/scripts.py"
RECEIVING: Final = "pressure/protocol/receiving.py"
REPAIR: Final = "pressure/protocol/repair.py"
DOCTOR: Final = "pressure/protocol/doctor.py"
QUERIES: Final = "pressure/protocol/queries.py"
OPERATION: Final = "pressure/protocol/operation.py"

_COUNTS: Final = "it counts up to the number, and never beyond"
_FOUR: Final = "there are four replies, so that the last two are those from the third on"
_EDGE: Final = "what time is left never is exactly that"

EQUIVALENT: Final[tuple[Equivalent, ...]] = (
    Equivalent(
        PUT,
        "while progress.stored < len(progress.values):",
        ("while progress.stored != len(progress.values):",),
        _COUNTS,
    ),
    Equivalent(
        PUT,
        "last = progress.stored + len(values) == len(progress.values)",
        ("last = progress.stored + len(values) >= len(progress.values)",),
        _COUNTS,
    ),
    Equivalent(
        GET,
        "room = limit == 0 or length < limit",
        ("room = limit <= 0 or length < limit",),
        "a bound is never below 0",
    ),
    Equivalent(
        WAITS,
        "return Popped((value,), *replies[-_AFTER:])",
        ("return Popped((value,), *replies[+_AFTER:])", "return Popped((value,), *replies[_AFTER:])"),
        _FOUR,
    ),
    Equivalent(
        WAITS,
        "if isinstance(popped, list) and popped[0] == keys.closed:",
        ("if isinstance(popped, list) and popped[0] >= keys.closed:",),
        "it is one of two keys, and the other is the same without its end",
    ),
    Equivalent(
        OPERATION,
        "return self.at is not None and self.at - self.context.clock() > SHORTEST_WAIT",
        ("return self.at is not None and self.at - self.context.clock() >= SHORTEST_WAIT",),
        _EDGE,
    ),
    Equivalent(
        OPERATION,
        "while (left := self.at - self.context.clock()) > SHORTEST_WAIT:",
        ("while (left := self.at - self.context.clock()) >= SHORTEST_WAIT:",),
        _EDGE,
    ),
    Equivalent(
        PUT,
        "if last and (bound == 0 or length + len(values) < bound):",
        ("if last and (bound <= 0 or length + len(values) < bound):",),
        "a bound is never below 0",
    ),
    Equivalent(
        GET,
        "count = (asked,) if most > 1 else ()",
        ("count = (asked,) if most != 1 else ()",),
        "nobody asks for less",
    ),
    Equivalent(
        LIFECYCLE,
        "if not replies[-1]:",
        ("if not replies[+1]:", "if not replies[1]:"),
        "there are two replies",
    ),
    Equivalent(
        LIFECYCLE,
        "if key == keys.bound:",
        ("if key is keys.bound:",),
        "it is one of the objects that the keys are",
    ),
    Equivalent(
        LIFECYCLE,
        "while popped is None and absent < ctx.slice:",
        ("while popped is None and absent != ctx.slice:",),
        "all waits but the last are a slice long, so that it is passed by none",
    ),
    Equivalent(
        ROLE,
        "unacked: int = 0",
        ("unacked: int = -1",),
        "messages go back so many times, and a number below 0 is no times, too",
    ),
    Equivalent(
        SCRIPTS,
        "if size > _MOST_PUT_BYTES and last > self.stored:",
        (
            "if size > _MOST_PUT_BYTES and last != self.stored:",
            "if size > _MOST_PUT_BYTES and last is not self.stored:",
        ),
        "it begins as the same object, and grows",
    ),
    Equivalent(SCRIPTS, "break", ("continue",), "the size only grows, so that nothing is added any more"),
    Equivalent(
        RECEIVING,
        "return values[0] if values else (yield from _wait(ctx, hold, deadline))",
        ("return values[-1] if values else (yield from _wait(ctx, hold, deadline))",),
        "one value is asked for",
    ),
    Equivalent(
        REPAIR,
        'what = "message" if orphans == 1 else "messages"',
        ('what = "message" if orphans <= 1 else "messages"',),
        "nothing is said of none",
    ),
    Equivalent(
        REPAIR,
        'what = "1 message" if abs(missing) == 1 else f"{abs(missing)} messages"',
        ('what = "1 message" if abs(missing) <= 1 else f"{abs(missing)} messages"',),
        "nothing is said of none",
    ),
    Equivalent(
        REPAIR,
        'how = "taken" if missing > 0 else "put"',
        ('how = "taken" if missing >= 0 else "put"', 'how = "taken" if missing > -1 else "put"'),
        "nothing is said of none",
    ),
    Equivalent(
        DOCTOR,
        "full = bool(seen.limit) and seen.length >= (seen.limit or 0)",
        (
            "full = bool(seen.limit) and seen.length >= (seen.limit or 1)",
            "full = bool(seen.limit) and seen.length >= (seen.limit or -1)",
        ),
        "where there is no limit, it is not asked",
    ),
    Equivalent(QUERIES, "return values[0]", ("return values[-1]",), "one value is asked for"),
    Equivalent(
        RECEIVING,
        "hold.unacked = 0",
        ("hold.unacked = -1",),
        "messages go back so many times, and a number below 0 is no times, too",
    ),
    Equivalent(
        WAITING, "self._blocked_ever = 0", ("self._blocked_ever = 1", "self._blocked_ever = -1"), _TIES
    ),
    Equivalent(WAITING, "self._blocked_ever += 1", ("self._blocked_ever += 2",), _TIES),
    Equivalent(
        WAITING,
        "self._blocked_by_type[waiter.waits_for] += 1",
        ("self._blocked_by_type[waiter.waits_for] += 2",),
        _SPARES,
    ),
    Equivalent(
        WAITING,
        "self._blocked_by_type[waiter.waits_for] -= 1",
        ("self._blocked_by_type[waiter.waits_for] -= 0",),
        _SPARES,
    ),
    Equivalent(
        WAITING,
        "while value is not None and stream is None:",
        ("while value is not None or stream is None:",),
        "nobody waits for no type; and a reader of a stream that is asked twice has nothing the second time",
    ),
)

_REASONS: Final = {(row.file, row.line, new): row.reason for row in EQUIVALENT for new in row.becomes}


def reason_of(mutant: Mutant) -> str | None:
    """Why a change makes no difference; None if it is not listed."""
    # the operator for numbers puts a blank before them
    return _REASONS.get((mutant.file, mutant.line_text, mutant.becomes.replace("( ", "(").replace("[ ", "[")))
