"""The configuration of one server: values for the directives that ``table`` lists."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Final

from ..glob import compile_glob
from .table import ALIASES, DIRECTIVES, Directive

__all__ = ["Config", "ConfigurationError", "UnknownDirectiveError", "directive_named", "names_matching"]


class ConfigurationError(Exception):
    """A directive or a value that is not taken.

    Attributes:
        directive: its name.
        reason: redis-server's own, where redis-server refuses it too.
    """

    def __init__(self, directive: str, reason: str) -> None:
        super().__init__(reason)
        self.directive = directive
        self.reason = reason


class UnknownDirectiveError(ConfigurationError):
    """There is no such directive."""

    def __init__(self, directive: str) -> None:
        super().__init__(directive, "Bad directive or wrong number of arguments")


def canonical(name: str) -> str:
    """A directive's own name, of any of its names in any case."""
    return ALIASES.get(name.lower(), name.lower())


IMMUTABLE: Final = "can't set immutable config"
PROTECTED: Final = "can't set protected config"
TWICE: Final = "duplicate parameter"
WRONG_COUNT: Final = "wrong number of arguments"


SHOWN: Final = tuple(
    name.encode() for name in (*DIRECTIVES, *ALIASES) if "hidden" not in DIRECTIVES[canonical(name)].traits
)


def names_matching(pattern: bytes, left_out: Container[bytes] = ()) -> list[bytes]:
    """The names of directives that fit a glob pattern, old names among them, but for some."""
    fits = compile_glob(pattern, ignore_case=True)
    return [name for name in SHOWN if name not in left_out and fits(name)]


class Config:
    """The directives of one server.

    Args:
        given: values by name; a list of words is what stands after the name on a command line.

    Raises:
        ConfigurationError: a directive or a value that redis-server would refuse too, or whose feature is
            not there.
    """

    def __init__(self, given: Mapping[str, str | Sequence[str]] | None = None) -> None:
        self._values = {name: directive.default for name, directive in DIRECTIVES.items()}
        self._integers: dict[str, int] = {}
        self._listeners: list[Callable[[], None]] = []
        for name, value in (given or {}).items():
            self._begin_with(name, value)

    def _begin_with(self, name: str, value: str | Sequence[str]) -> None:
        directive = directive_named(name)
        if directive is None:
            raise UnknownDirectiveError(name)
        words = [value] if isinstance(value, str) else value
        if len(words) != 1 and "words" not in directive.traits:
            raise ConfigurationError(name, WRONG_COUNT)
        self._values[canonical(name)] = taken(name, " ".join(words), self[name])

    def __getitem__(self, name: str) -> str:
        value = self._values.get(name)
        return self._values[canonical(name)] if value is None else value

    def integer(self, name: str) -> int:
        """The value of a directive that is a number."""
        value = self._integers.get(name)
        if value is None:
            value = self._integers[name] = int(self[name])
        return value

    def listen(self, listener: Callable[[], None]) -> None:
        """Calls a function now, and after each change."""
        self._listeners.append(listener)
        listener()

    def learn(self, name: str, value: str) -> None:
        """Takes in what is known only once the server runs, such as the port it got."""
        self._values[name] = value
        self._integers.pop(name, None)

    def change(self, pairs: Sequence[tuple[str, str]], *, protected_too: bool = False) -> None:
        """Changes several directives, or none if one of them is refused.

        Redis has set those before it by then, and sets them back to what they were shown as, that one too.

        Args:
            pairs: names and values.
            protected_too: whether those may be changed that are protected.

        Raises:
            ConfigurationError: for the first that redis-server would refuse; names come before values.
        """
        changeable([name for name, _ in pairs], protected_too=protected_too)
        accepted: dict[str, str] = {}
        for name, value in pairs:
            own = canonical(name)
            accepted[own] = self._values[own]
            try:
                accepted[own] = changed(name.lower(), value, self._values[own])
            except ConfigurationError:
                self._take({each: str(self._values[each]) for each in accepted})
                raise
        self._take(accepted)

    def _take(self, values: Mapping[str, str]) -> None:
        self._values.update(values)
        self._integers.clear()
        for listener in self._listeners:
            listener()


def directive_named(name: str) -> Directive | None:
    """The directive of a name in any case; None if there is none."""
    return DIRECTIVES.get(canonical(name)) if name.isascii() else None


def changeable(names: Sequence[str], *, protected_too: bool) -> None:
    """Refuses the first name that CONFIG SET may not change, or that is there already."""
    seen: set[str] = set()
    for name in names:
        directive = directive_named(name)
        if directive is None:
            raise UnknownDirectiveError(name)
        if "immutable" in directive.traits:
            raise ConfigurationError(name, IMMUTABLE)
        if "protected" in directive.traits and not protected_too:
            raise ConfigurationError(name, PROTECTED)
        if name.lower() in seen:
            raise ConfigurationError(name, TWICE)
        seen.add(name.lower())


def taken(name: str, value: str, before: str) -> str:
    """A value as a directive shows it, if it takes it."""
    try:
        return DIRECTIVES[canonical(name)].check(value, before)
    except ValueError as refusal:
        raise ConfigurationError(name, str(refusal)) from None


def changed(name: str, value: str, before: str) -> str:
    """A value as a directive shows it, if it takes it while the server runs."""
    after = taken(name, value, before)
    if after != before and "settled" in DIRECTIVES[canonical(name)].traits:
        raise ConfigurationError(name, f"this server keeps the '{before}' that it started with")
    return after
