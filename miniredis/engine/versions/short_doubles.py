"""Doubles in replies as 7.2 and later print them: with as few digits as tell them apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..clients.session import Session
from ..declarations.registry import DECLARED, Handler, wrap_in_versions
from ..numbers.doubles import short_text
from ..protocol.replies import DoubleText, Map, NestedMap, Pairs, Reply, Set

SINCE: Final = "7.2+"
CATEGORIES: Final = frozenset(("sortedset", "geo"))
"""Of the commands whose replies may have doubles."""


def shortened(reply: Any) -> Any:
    """A reply with its doubles as texts."""
    kind = type(reply)
    if kind is float:
        return DoubleText(short_text(reply))
    if kind in {list, Set}:
        return kind(map(shortened, reply))
    if kind in {Pairs, NestedMap}:
        return kind((shortened(one), shortened(other)) for one, other in reply)
    if kind is Map:
        return Map({shortened(name): shortened(value) for name, value in reply.items()})
    return reply


def with_short_doubles(handler: Handler) -> Handler:
    """A command that replies with short doubles, also once it was blocked."""

    def run(session: Session, args: list[bytes]) -> Reply:
        before = session.waiter
        reply: Reply = shortened(handler(session, args))
        if session.waiter is not None and session.waiter is not before:
            session.waiter.serve = later(session.waiter.serve)
        return reply

    return run


def later(serve: Callable[..., Reply]) -> Callable[..., Reply]:
    return lambda *about: shortened(serve(*about))


for declared in tuple(DECLARED.values()):
    if not CATEGORIES.isdisjoint(declared.categories):
        wrap_in_versions(SINCE, declared.name.decode(), with_short_doubles)
