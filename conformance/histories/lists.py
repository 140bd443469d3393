"""Redis lists as a model: from what is stored and a command to its answer and what is stored then.

What is stored is a tuple with the elements of each key, in the order of ``Keys``. An answer is words, as a
recorder notes it: a number is its digits, None is any null. To add a command, add a function to
``COMMANDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from .model import Operation

__all__ = ["COMMANDS", "Applied", "Stored", "apply", "keys_of"]

Elements: TypeAlias = tuple[bytes, ...]
Stored: TypeAlias = tuple[Elements, ...]
Answered: TypeAlias = tuple[bytes, ...] | None
Applied: TypeAlias = tuple[Answered, Stored]
Words: TypeAlias = Sequence[bytes]

_BLOCKING: Final = frozenset({"BLPOP", "BRPOP", "BLMOVE"})


def keys_of(operation: Operation) -> tuple[str, ...]:
    """The keys that an operation touches."""
    if operation.name in {"LMOVE", "BLMOVE"}:
        return operation.queue, operation.argument[0].decode("latin-1")
    return (operation.queue,)


def apply(stored: Stored, places: Sequence[int], operation: Operation) -> Applied:
    """What a command answers, and what is stored behind it.

    Args:
        stored: what is stored.
        places: of its keys there.
        operation: the command.

    Raises:
        KeyError: it is none of ``COMMANDS``.
    """
    if operation.name in {"LMOVE", "BLMOVE"}:
        return _move(stored, places, operation.argument)
    answer, left = COMMANDS[operation.name](stored[places[0]], operation.argument)
    if operation.name in _BLOCKING and answer is not None:
        answer = (operation.queue.encode("latin-1"), *answer)
    return answer, _with(stored, places[0], left)


def _with(stored: Stored, place: int, elements: Elements) -> Stored:
    if stored[place] is elements:
        return stored
    return (*stored[:place], elements, *stored[place + 1 :])


def _move(stored: Stored, places: Sequence[int], words: Words) -> Applied:
    source, target = places
    if not stored[source]:
        return None, stored
    from_left, to_left = (word.upper() == b"LEFT" for word in words[1:3])
    element, left = _one_off(stored[source], from_left)
    stored = _with(stored, source, left)
    there = stored[target]
    return (element,), _with(stored, target, (element, *there) if to_left else (*there, element))


def _one_off(elements: Elements, from_left: bool) -> tuple[bytes, Elements]:
    return (elements[0], elements[1:]) if from_left else (elements[-1], elements[:-1])


def _number(count: int) -> Elements:
    return (b"%d" % count,)


def _lpush(elements: Elements, words: Words) -> tuple[Answered, Elements]:
    elements = (*reversed(words), *elements)
    return _number(len(elements)), elements


def _rpush(elements: Elements, words: Words) -> tuple[Answered, Elements]:
    elements = (*elements, *words)
    return _number(len(elements)), elements


def _lpop(elements: Elements, words: Words) -> tuple[Answered, Elements]:
    count = int(words[0]) if words else 1
    return (elements[:count], elements[count:]) if elements else (None, elements)


def _rpop(elements: Elements, words: Words) -> tuple[Answered, Elements]:
    answer, left = _lpop(elements[::-1], words)
    return answer, left[::-1]


def _blocking(pop: Callable[[Elements, Words], tuple[Answered, Elements]]) -> Command:
    """A pop that waits: its words are a time."""
    return lambda elements, _: pop(elements, ())


def _llen(elements: Elements, words: Words) -> tuple[Answered, Elements]:  # noqa: ARG001  (as all commands)
    return _number(len(elements)), elements


def _lindex(elements: Elements, words: Words) -> tuple[Answered, Elements]:
    place = int(words[0])
    there = -len(elements) <= place < len(elements)
    return (elements[place],) if there else None, elements


def _between(elements: Elements, words: Words) -> Elements:
    start, stop = (place + len(elements) if place < 0 else place for place in map(int, words))
    return elements[max(start, 0) : max(stop + 1, 0)]


def _lrange(elements: Elements, words: Words) -> tuple[Answered, Elements]:
    return _between(elements, words), elements


def _ltrim(elements: Elements, words: Words) -> tuple[Answered, Elements]:
    return (b"OK",), _between(elements, words)


def _lrem(elements: Elements, words: Words) -> tuple[Answered, Elements]:
    count, value = int(words[0]), words[1]
    left, most = list(elements), abs(count) or len(elements)
    if count < 0:
        left.reverse()
    removed = 0
    while removed < most and value in left:
        left.remove(value)
        removed += 1
    return _number(removed), tuple(reversed(left) if count < 0 else left)


def _del(elements: Elements, words: Words) -> tuple[Answered, Elements]:  # noqa: ARG001  (as all commands)
    return _number(bool(elements)), ()


Command: TypeAlias = Callable[[Elements, Words], tuple[Answered, Elements]]

COMMANDS: Final[Mapping[str, Command]] = {
    "LPUSH": _lpush, "RPUSH": _rpush, "LPOP": _lpop, "RPOP": _rpop, "LLEN": _llen, "LINDEX": _lindex,
    "LRANGE": _lrange, "LTRIM": _ltrim, "LREM": _lrem, "DEL": _del,
    "BLPOP": _blocking(_lpop), "BRPOP": _blocking(_rpop),
}  # fmt: skip
"""What each command of one key does; LMOVE has two. A pop that waits is one that succeeds."""
