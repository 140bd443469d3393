"""The configuration of one server: values for the directives that ``directives`` lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .directives import ALIASES, DIRECTIVES
from .glob import compile_glob

__all__ = ["Config", "ConfigurationError", "is_directive"]


class ConfigurationError(Exception):
    """A directive that is not there, or a value it does not take; the text is redis-server's own."""

    def __init__(self, directive: str, reason: str) -> None:
        super().__init__(reason)
        self.directive = directive
        self.reason = reason


UNKNOWN: Final = "Bad directive or wrong number of arguments"
IMMUTABLE: Final = "can't set immutable config"
WRONG_COUNT: Final = "wrong number of arguments"


class Config:
    """The directives of one server.

    Args:
        given: values by name, as words on a command line would give them.

    Raises:
        ConfigurationError: a directive or a value that redis-server would refuse too, or whose feature is
            not there.
    """

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        self._values = {name: directive.default for name, directive in DIRECTIVES.items()}
        self._integers: dict[str, int] = {}
        for name, value in (given or {}).items():
            self._values[canonical(name)] = checked(name, value)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def integer(self, name: str) -> int:
        """The value of a directive that is a number."""
        value = self._integers.get(name)
        if value is None:
            value = self._integers[name] = int(self._values[name])
        return value

    def matching(self, pattern: bytes) -> dict[str, str]:
        """The directives whose names fit a glob pattern."""
        fits = compile_glob(pattern, ignore_case=True)
        names = [name for name in (*self._values, *ALIASES) if fits(name.encode())]
        return {name: self._values[canonical(name)] for name in names}

    def learn(self, name: str, value: str) -> None:
        """Takes in what is known only once the server runs, such as the port it got."""
        self._values[name] = value
        self._integers.pop(name, None)

    def change(self, values: Mapping[str, str]) -> None:
        """Changes several directives, or none if one of them is refused."""
        for name in values:
            if is_directive(name) and not DIRECTIVES[canonical(name)].mutable:
                raise ConfigurationError(name, IMMUTABLE)
        accepted = {canonical(name): checked(name, value) for name, value in values.items()}
        self._values.update(accepted)
        self._integers.clear()


def canonical(name: str) -> str:
    """A directive's own name, of any of its names in any case."""
    return ALIASES.get(name.lower(), name.lower())


def is_directive(name: str) -> bool:
    """Whether there is such a directive."""
    return canonical(name) in DIRECTIVES


def checked(name: str, value: str) -> str:
    directive = DIRECTIVES.get(canonical(name))
    if directive is None:
        raise ConfigurationError(name, UNKNOWN)
    if len(value.split()) > directive.most:
        raise ConfigurationError(name, WRONG_COUNT)
    try:
        return directive.check(value)
    except ValueError as refusal:
        raise ConfigurationError(name, str(refusal)) from None
