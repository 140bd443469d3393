"""Argument lists for a command: mostly as it wants them, sometimes not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import digits
from typing import Any, Final, TypeVar

from .grammar import Argument, Form
from .sizes import grown
from .values import BY_KIND, BY_NAME, BY_SCOPE, FIXED, INSTEAD, ODD

__all__ = ["Choose", "request"]

T = TypeVar("T")

Choose = Callable[[Sequence[Any]], Any]
"""Picks one of several; hypothesis's ``draw`` does it so that a failure can be made smaller."""

RARELY: Final = (True, *(False,) * 19)
SOMETIMES: Final = (True, False, False)
EVENLY: Final = (True, False)
MOSTLY_ONE: Final = (1, 1, 1, 1, 2, 3)
REPEATED: Final = (1, 1, 2, 2, 3, 5)
OFTEN: Final = (False, True, True, True)
MISSPELT: Final = (*(None,) * 95, "nosuch", "a\r\nb", "", "lpus")
"""What stands in place of a command's name, if anything; an error shows it."""


def request(form: Form, choose: Choose, size: int = 0) -> list[str]:
    """One request for a command.

    Args:
        form: the command.
        choose: makes every choice.
        size: about how many bytes or words it has at least; 0 lets it be small.
    """
    if form.name in FIXED:
        words = list(choose(FIXED[form.name]))
        return [*written(form.words, choose), *(grown(form, words, size, choose) if size else words)]
    words = [word for argument in form.arguments for word in several(argument, form, choose)]
    if size:
        words = grown(form, words, size, choose)
    words = with_right_count(form, words, choose)
    if words and choose(RARELY):
        words.pop()
    if choose(RARELY):
        words.append(choose(ODD))
    return [*written(form.words, choose), *words]


def written(words: tuple[str, ...], choose: Choose) -> list[str]:
    """A command's name, in capitals or not; the last word of it is wrong now and then."""
    name = [word.lower() for word in words] if choose(SOMETIMES) else list(words)
    wrong = choose(MISSPELT)
    return name if wrong is None else [*name[:-1], wrong]


def several(argument: Argument, form: Form, choose: Choose) -> list[str]:
    """An argument as often as it may come: not at all, once, or repeated."""
    if argument.optional and not choose(EVENLY):
        return []
    times = choose(REPEATED) if argument.multiple else 1
    return [word for _ in range(times) for word in one(argument, form, choose)]


def one(argument: Argument, form: Form, choose: Choose) -> list[str]:
    if argument.kind == "pure-token":
        word = INSTEAD.get(argument.token, argument.token)
        return [word.lower() if choose(SOMETIMES) else word]
    token = [argument.token] if argument.token else []
    if argument.kind == "oneof":
        return token + several(choose(argument.parts), form, choose)
    if argument.kind == "block":
        if argument.name == "streams" and choose(OFTEN):
            return token + as_many_of_each(argument.parts, form, choose)
        return token + [word for part in argument.parts for word in several(part, form, choose)]
    return [*token, choose(values_of(argument, form))]


def values_of(argument: Argument, form: Form) -> Sequence[str]:
    """What an argument is drawn from: of its command, of the command's group, or of all that are named so."""
    for scope in (form.name, form.group):
        if found := BY_SCOPE.get(scope, {}).get(argument.name):
            return found
    return BY_NAME.get(argument.name) or BY_KIND[argument.kind]


def as_many_of_each(parts: Sequence[Argument], form: Form, choose: Choose) -> list[str]:
    """The keys of XREAD, and as many ids behind them."""
    times = choose(MOSTLY_ONE)
    return [word for part in parts for _ in range(times) for word in one(part, form, choose)]


def with_right_count(form: Form, words: list[str], choose: Choose) -> list[str]:
    """``numkeys`` is mostly the number of the keys behind it."""
    names = [argument.name for argument in form.arguments]
    if "numkeys" not in names or not choose(OFTEN):
        return words
    at = names.index("numkeys")
    keys = 0
    while at + 1 + keys < len(words) and words[at + 1 + keys].rstrip(digits) in BY_KIND["key"]:
        keys += 1
    if at < len(words):
        words[at] = str(keys)
    return words
