"""The commands on lists. A list is a tuple of its elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, TypeAlias

from ..model import Operation
from .base import Outcome, States
from .redis import WRONG_TYPE, Command, Words, between, number, on, with_value

__all__ = ["LISTS"]

Elements: TypeAlias = tuple[bytes, ...]
Answered: TypeAlias = tuple[Elements | None, Elements]
_Function: TypeAlias = Callable[[Elements, Words], Answered]


def _lpush(elements: Elements, words: Words) -> Answered:
    elements = (*reversed(words), *elements)
    return number(len(elements)), elements


def _rpush(elements: Elements, words: Words) -> Answered:
    elements = (*elements, *words)
    return number(len(elements)), elements


def _if_there(push: _Function) -> _Function:
    return lambda elements, words: push(elements, words) if elements else (number(0), elements)


def _lpop(elements: Elements, words: Words) -> Answered:
    (count,) = map(int, words or (b"1",))
    return (elements[:count], elements[count:]) if elements else (None, elements)


def _rpop(elements: Elements, words: Words) -> Answered:
    answer, left = _lpop(elements[::-1], words)
    return answer, left[::-1]


def _llen(elements: Elements, words: Words) -> Answered:  # noqa: ARG001  (as all commands)
    return number(len(elements)), elements


def _lindex(elements: Elements, words: Words) -> Answered:
    (place,) = map(int, words)
    there = -len(elements) <= place < len(elements)
    return (elements[place],) if there else None, elements


def _linsert(elements: Elements, words: Words) -> Answered:
    where, pivot, value = words
    behind = ("BEFORE", "AFTER").index(where.decode().upper())
    if pivot not in elements:
        return number(-1 if elements else 0), elements
    place = elements.index(pivot) + behind
    elements = (*elements[:place], value, *elements[place:])
    return number(len(elements)), elements


def _lrange(elements: Elements, words: Words) -> Answered:
    return elements[between(words, len(elements))], elements


def _ltrim(elements: Elements, words: Words) -> Answered:
    return (b"OK",), elements[between(words, len(elements))]


def _lrem(elements: Elements, words: Words) -> Answered:
    count, value = int(words[0]), words[1]
    left, most = list(elements), abs(count) or len(elements)
    if count < 0:
        left.reverse()
    removed = 0
    while removed < most and value in left:
        left.remove(value)
        removed += 1
    return number(removed), tuple(reversed(left) if count < 0 else left)


def _waits_for(operation: Operation) -> tuple[str, ...]:
    return operation.keys_in(0, -1)


def _wait(pop: _Function, states: States, operation: Operation) -> Iterator[Outcome]:
    """A pop that waits, from the first list that is not empty. It answers nil when its time is over."""
    *others, seconds = operation.argument
    names = dict(zip(_waits_for(operation), (operation.queue.encode(), *others), strict=True))
    for place, (name, stored) in enumerate(zip(names.values(), states, strict=True)):
        if stored is None:
            continue
        if stored.kind != "list":
            yield WRONG_TYPE, states
            continue  # if it came while the client waited, it goes on waiting
        answer, left = pop(stored.value, ())
        after = with_value("list", stored, left, ())
        yield (name, *(answer or ())), (*states[:place], after, *states[place + 1 :])
        return
    if float(seconds):
        yield None, states


def _move(
    ends: Callable[[Words], Words], seconds: int | None, states: States, operation: Operation
) -> Iterator[Outcome]:
    """From one end of a list to one of another, or of its own; ``seconds`` is the place of a timeout."""
    from_end, to_end = (("LEFT", "RIGHT").index(end.decode().upper()) for end in ends(operation.argument))
    source, target = states[0], states[-1]
    if source is None:
        if seconds is None or float(operation.argument[seconds]):
            yield None, states
        return
    if source.kind != "list" or (target is not None and target.kind != "list"):
        yield WRONG_TYPE, states
        return
    element, left = (_lpop, _rpop)[from_end](source.value, ())
    push = (_lpush, _rpush)[to_end]
    if len(states) == 1:
        yield element, (source._replace(value=push(left, element or ())[1]),)
        return
    there = push(() if target is None else target.value, element or ())[1]
    yield element, (with_value("list", source, left, ()), with_value("list", target, there, ()))


def _both(operation: Operation) -> tuple[str, ...]:
    return operation.keys_in(0, 1)


def _named(words: Words) -> Words:
    return words[1:3]


def _right_to_left(_: Words) -> Words:
    return b"RIGHT", b"LEFT"


_ONE_KEY: Final[Mapping[str, _Function]] = {
    "LPUSH": _lpush, "RPUSH": _rpush, "LPUSHX": _if_there(_lpush), "RPUSHX": _if_there(_rpush),
    "LPOP": _lpop, "RPOP": _rpop, "LLEN": _llen, "LINDEX": _lindex, "LINSERT": _linsert,
    "LRANGE": _lrange, "LTRIM": _ltrim, "LREM": _lrem,
}  # fmt: skip

LISTS: Final[Mapping[str, Command]] = {
    **{name: on("list", (), function) for name, function in _ONE_KEY.items()},
    "BLPOP": Command(partial(_wait, _lpop), _waits_for),
    "BRPOP": Command(partial(_wait, _rpop), _waits_for),
    "LMOVE": Command(partial(_move, _named, None), _both),
    "BLMOVE": Command(partial(_move, _named, 3), _both),
    "RPOPLPUSH": Command(partial(_move, _right_to_left, None), _both),
    "BRPOPLPUSH": Command(partial(_move, _right_to_left, 1), _both),
}
"""What each command does. A pop that waits takes effect when it is served."""
