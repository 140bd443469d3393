"""The commands on sorted sets. A sorted set is a set of pairs, each a member and its score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from .redis import Command, Words, between, number, on_pairs

__all__ = ["SORTED_SETS"]

Scores: TypeAlias = dict[bytes, float]


@dataclass(frozen=True, slots=True)
class _Scored:
    """An answer with scores in it: servers write the same number in several ways."""

    items: Sequence[bytes | float]

    def fits(self, result: tuple[bytes, ...] | None) -> bool:
        """Whether a result has these members and numbers."""
        try:
            return result is not None and all(
                word == item if isinstance(item, bytes) else float(word) == item
                for word, item in zip(result, self.items, strict=True)
            )
        except ValueError:  # too many words, or one that is no number
            return False


_sorted_set: Final = partial(on_pairs, "zset")


def _in_order(scores: Scores) -> list[bytes]:
    return sorted(scores, key=lambda member: (scores[member], member))


def _zadd(scores: Scores, words: Words) -> Any:
    given = {member: float(score) for score, member in zip(words[::2], words[1::2], strict=True)}
    new = len(given.keys() - scores.keys())
    scores.update(given)
    return number(new)


def _zincrby(scores: Scores, words: Words) -> Any:
    amount, member = words
    scores[member] = scores.get(member, 0.0) + float(amount)
    return _Scored([scores[member]])


def _zrem(scores: Scores, words: Words) -> Any:
    return number(sum(scores.pop(member, None) is not None for member in words))


def _zscore(scores: Scores, words: Words) -> Any:
    return _Scored([scores[words[0]]]) if words[0] in scores else None


def _zrank(scores: Scores, words: Words) -> Any:
    (member,) = words
    return number(_in_order(scores).index(member)) if member in scores else None


def _zrange(scores: Scores, words: Words) -> Any:
    options = {word.upper() for word in words[2:]}
    if options - {b"REV", b"WITHSCORES"}:
        raise ValueError(f"ZRANGE has options that the model does not know: {options}")
    ordered = _in_order(scores)[:: -1 if b"REV" in options else 1]
    return _members(scores, ordered[between(words[:2], len(ordered))], scored=b"WITHSCORES" in options)


def _members(scores: Scores, members: Sequence[bytes], *, scored: bool = True) -> Any:
    return _Scored([item for member in members for item in ((member, scores[member])[: 1 + scored])])


def _zpop(order: int) -> Callable[[Scores, Words], Any]:
    def pop(scores: Scores, words: Words) -> Any:
        (count,) = map(int, words or (b"1",))
        popped = _in_order(scores)[::order][:count]
        answer = _members(scores, popped)
        for member in popped:
            del scores[member]
        return answer

    return pop


SORTED_SETS: Final[Mapping[str, Command]] = {
    "ZADD": _sorted_set(_zadd), "ZINCRBY": _sorted_set(_zincrby), "ZREM": _sorted_set(_zrem),
    "ZCARD": _sorted_set(lambda scores, _: number(len(scores))), "ZSCORE": _sorted_set(_zscore),
    "ZRANK": _sorted_set(_zrank), "ZRANGE": _sorted_set(_zrange),
    "ZPOPMIN": _sorted_set(_zpop(1)), "ZPOPMAX": _sorted_set(_zpop(-1)),
}  # fmt: skip
"""What each command does."""
