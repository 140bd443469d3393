"""DEBUG FAULT: faults on demand, for tests in any language. The docstring is the text of DEBUG HELP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from ...clients.session import Session
from ...faults.fault_kinds import Cut, Delay, ErrorReply, LostReply, RefusedConnection, Restart, Trickle
from ...faults.fault_rules import Fault, FaultRule
from ...protocol.errors import CommandError
from ...protocol.replies import OK, Reply

__all__ = ["debug_fault"]


def debug_fault(session: Session, args: list[bytes]) -> Reply:
    """ADD [COMMAND|KEY|CLIENT|AFTER|TIMES|PROBABILITY|SEED value]... THEN fault [value]...; LIST; CLEAR."""
    rules = session.engine.rules
    what, *words = args[2:] or [b""]
    if what.upper() == b"ADD":
        rules.add(rule_of(words))
        return OK
    if what.upper() == b"LIST" and not words:
        return [[str(rule).encode(), rule.met] for rule in rules.all]
    if what.upper() == b"CLEAR" and not words:
        for rule in rules.all:
            rules.remove(rule)
        return OK
    raise refusal("DEBUG FAULT takes ADD, LIST or CLEAR")


def refusal(text: str) -> CommandError:
    return CommandError(b"ERR " + text.encode())


def rule_of(words: list[bytes]) -> FaultRule:
    """The rule that the words behind DEBUG FAULT ADD describe."""
    given: dict[str, Any] = {}
    rest = iter(words)
    try:
        for word in rest:
            if word.upper() == b"THEN":
                return FaultRule(fault_of(rest), **given)
            name = word.decode().lower()
            given[name] = CONDITIONS[name](next(rest).decode("latin-1"))
    except StopIteration:
        raise refusal("DEBUG FAULT ADD ends where a value or a fault is missing") from None
    except KeyError as error:
        raise refusal(f"DEBUG FAULT ADD knows no {error}") from None
    except ValueError as error:
        raise refusal(f"DEBUG FAULT ADD: {error}") from None
    raise refusal("DEBUG FAULT ADD lacks THEN and a fault")


def fault_of(words: Iterator[bytes]) -> Fault:
    """The fault that the words behind THEN describe; those left out have their defaults."""
    name = next(words).decode().lower()
    make, *defaults = FAULTS[name]
    given = [word.decode("latin-1") for word in words]
    if len(given) > len(defaults):
        raise ValueError(f"{name} takes {len(defaults)} values at most, not {len(given)}")
    fault: Fault = make(*given, *defaults[len(given) :])
    return fault


def as_client(word: str) -> bytes | int:
    return int(word) if word.isdecimal() else word.encode("latin-1")


def one_of(word: str, yes: str, no: str) -> bool:
    if word not in {yes, no}:
        raise ValueError(f"it is {yes} or {no}, not {word}")
    return word == yes


CONDITIONS: Final[dict[str, Callable[[str], Any]]] = {
    "command": str,
    "key": lambda word: word.encode("latin-1"),
    "client": as_client,
    "after": int,
    "times": int,
    "probability": float,
    "seed": int,
}

FAULTS: Final[dict[str, tuple[Any, ...]]] = {
    "error": (lambda text: ErrorReply(text.encode("latin-1")), ""),
    "delay": (lambda seconds: Delay(float(seconds)), "1"),
    "cut": (lambda when: Cut(when.lower()), "before"),
    "lose_reply": (lambda word: LostReply(one_of(word, "closes", "stays")), "closes"),
    "restart": (lambda word: Restart(one_of(word, "full", "empty")), "full"),
    "send_in_pieces": (lambda size, seconds: Trickle(int(size), float(seconds), lasts=False), "1", "0.001"),
    "read_slowly": (lambda size, seconds: Trickle(int(size), float(seconds), lasts=True), "1024", "0.1"),
    "refuse_connection": (RefusedConnection,),
}
"""Each fault under the name that ``miniredis.faults`` has for it: what makes it, and its values' defaults."""
