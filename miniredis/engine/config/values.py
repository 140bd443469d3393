"""The configuration of one server: values for the directives that ``table`` lists."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Final

from ..acl.acl_errors import USERS_TWICE
from ..glob import compile_glob
from ..versions.version import DEFAULT, Version, version_named
from .table import ALIASES, DIRECTIVES, Directive, check_in

__all__ = [
    "Config",
    "ConfigurationError",
    "UnknownDirectiveError",
    "canonical",
    "changeable",
    "directive_named",
    "names_matching",
]


class ConfigurationError(ValueError):
    """A directive cannot have the value that it was given.

    The text names both, and says why: ``port='x': argument couldn't be parsed into an integer``.

    Attributes:
        directive: its name, as it was given.
        value: what it was given; None where the directive alone was refused, whatever its value.
        reason: in redis-server's words, where redis-server refuses the value, too.
    """

    def __init__(self, directive: str, reason: str, value: str | None = None) -> None:
        super().__init__(directive, reason, value)
        self.directive = directive
        self.value = value
        self.reason = reason

    def __str__(self) -> str:
        given = self.directive if self.value is None else f"{self.directive}={self.value!r}"
        return f"{given}: {self.explanation}"

    @property
    def explanation(self) -> str:
        """The reason; for a feature that miniredis lacks, that it is not supported."""
        found = directive_named(self.directive.replace("_", "-"))  # Python's keywords have "_"
        if found is None or found.verdict != "off":
            return self.reason
        return f"not supported by miniredis, which accepts only {found.default!r} (the default)"


class UnknownDirectiveError(ConfigurationError):
    """There is no directive of this name."""

    def __init__(self, directive: str) -> None:
        super().__init__(directive, "Bad directive or wrong number of arguments")
        self.args = (directive,)  # copies and pickles call this class with these

    def __str__(self) -> str:
        return f"redis-server has no directive {self.directive!r}"


def canonical(name: str) -> str:
    """The current name of a directive, given any of its names in any case."""
    return ALIASES.get(name.lower(), name.lower())


IMMUTABLE: Final = "can't set immutable config"
PROTECTED: Final = "can't set protected config"
TWICE: Final = "duplicate parameter"
WRONG_COUNT: Final = "wrong number of arguments"


SHOWN: Final = tuple(
    name.encode() for name in (*DIRECTIVES, *ALIASES) if "hidden" not in DIRECTIVES[canonical(name)].traits
)


def names_matching(pattern: bytes, left_out: Container[bytes] = ()) -> list[bytes]:
    """The names of directives that match a glob pattern, old names included, without ``left_out``."""
    fits = compile_glob(pattern, ignore_case=True)
    return [name for name in SHOWN if name not in left_out and fits(name)]


class Config:
    """The values of redis-server's directives on one server, such as ``Config({"port": "6379"})``.

    ``config["port"]`` is a directive's value as CONFIG GET shows it; ``config.integer("port")`` is the same
    value as an int.

    Args:
        given: values by the directives' names; the others have redis-server's defaults. A value is a str, or
            a list of words as they stand after the name on a command line.
        file: the path of the configuration file that they come from; empty if there is none.
        version: what the server answers as, a name of ``VERSIONS``.
        users: the lines ``user ...``, each as its words.

    Attributes:
        given: the current names of the directives that were given.
        file: as above.
        version: the ``Version`` of that name.
        users: as above.

    Raises:
        ValueError: there is no such version.
        ConfigurationError: there is no such directive, redis-server would refuse the value, too, or miniredis
            lacks the feature.
        TypeError: a value is neither a str nor a list of them.
    """

    def __init__(
        self,
        given: Mapping[str, str | Sequence[str]] | None = None,
        *,
        file: str = "",
        version: str = DEFAULT.name,
        users: Sequence[Sequence[str]] = (),
    ) -> None:
        self._values = {name: directive.default for name, directive in DIRECTIVES.items()}
        self._integers: dict[str, int] = {}
        self._listeners: list[Callable[[], None]] = []
        self._guards: dict[str, Callable[[str], None]] = {}
        self._switches: dict[str, Callable[[str], None]] = {}
        self.given = frozenset(map(canonical, given or ()))
        self.file = file
        self.version = version_named(version)
        for name, value in (given or {}).items():
            self._begin_with(name, value)
        self.users = tuple(tuple(words) for words in users)
        if self.users:
            self._check_users()

    def _check_users(self) -> None:
        from ..acl.checking import check_lines  # most servers have only the default user

        for words, reason in check_lines(self.users, self.version):
            raise ConfigurationError("user", reason, " ".join(words[1:]))
        if self["aclfile"]:
            raise ConfigurationError("aclfile", USERS_TWICE, self["aclfile"])

    def _begin_with(self, name: str, value: str | Sequence[str]) -> None:
        directive = directive_named(name)
        if directive is None:
            raise UnknownDirectiveError(name)
        words = [value] if isinstance(value, str) else value
        if not isinstance(words, Sequence) or not all(isinstance(word, str) for word in words):
            raise TypeError(f"the value of {name!r} must be a str or a list of str, not {value!r}")
        if len(words) != 1 and "words" not in directive.traits:
            raise ConfigurationError(name, WRONG_COUNT, " ".join(words))
        self._values[canonical(name)] = taken(self.version, name, " ".join(words), self[name])

    def __getitem__(self, name: str) -> str:
        value = self._values.get(name)
        return self._values[canonical(name)] if value is None else value

    def integer(self, name: str) -> int:
        """The value of a directive whose values are numbers, as an int."""
        value = self._integers.get(name)
        if value is None:
            value = self._integers[name] = int(self[name])
        return value

    def listen(self, listener: Callable[[], None]) -> None:
        """Calls a function at once, and again after each change of a directive."""
        self._listeners.append(listener)
        listener()

    def guard(self, name: str, check: Callable[[str], None]) -> None:
        """Calls a function with a directive's new value before it changes; ``ValueError`` prevents that."""
        self._guards[name] = check

    def switch(self, name: str, act: Callable[[str], None]) -> None:
        """Calls a function with a directive's new value after a change; ``ValueError`` undoes the change.

        CONFIG SET may then change the directive although it is ``settled``.
        """
        self._switches[name] = act

    def learn(self, name: str, value: str) -> None:
        """Sets a value that is known only once the server runs, such as the port that it got."""
        self._values[name] = value
        self._integers.pop(name, None)

    def change(self, pairs: Sequence[tuple[str, str]], *, protected_too: bool = False) -> None:
        """Changes several directives, as CONFIG SET does: all of them, or none if one of them is refused.

        If one is refused, those up to it are set again, as in Redis, to the values that CONFIG GET shows. An
        ``EventClasses`` can lose letters by this.

        Args:
            pairs: names and values.
            protected_too: whether protected directives may be changed, too.

        Raises:
            ConfigurationError: for the first name that is refused, or else for the first refused value.
        """
        changeable([name for name, _ in pairs], protected_too=protected_too)
        accepted: dict[str, str] = {}
        for name, value in pairs:
            own = canonical(name)
            accepted[own] = self._values[own]
            try:
                is_settled = own not in self._switches
                accepted[own] = changed(
                    self.version, name.lower(), value, self._values[own], is_settled=is_settled
                )
            except ConfigurationError:
                self._set_back(accepted)
                raise
        for own, value in accepted.items():
            if own in self._guards and value != self._values[own]:
                try:
                    self._guards[own](value)
                except ValueError as refusal:
                    self._set_back(accepted)
                    raise ConfigurationError(own, str(refusal), value) from None
        self._take_and_switch(accepted)

    def _take_and_switch(self, accepted: Mapping[str, str]) -> None:
        before = {own: self._values[own] for own in accepted}
        self._take(accepted)
        for own, value in accepted.items():
            if own in self._switches and value != before[own]:
                try:
                    self._switches[own](value)
                except ValueError as refusal:
                    self._take(before)
                    raise ConfigurationError(own, str(refusal), value) from None

    def _set_back(self, names: Iterable[str]) -> None:
        self._take({each: str(self._values[each]) for each in names})

    def _take(self, values: Mapping[str, str]) -> None:
        if all(
            type(value) is type(self._values[own]) is str and value == self._values[own]
            for own, value in values.items()
        ):
            return  # an ``EventClasses`` may differ although it reads the same
        self._values.update(values)
        self._integers.clear()
        for listener in self._listeners:
            listener()


def directive_named(name: str) -> Directive | None:
    """The directive with a name in any case; None if there is none."""
    return DIRECTIVES.get(canonical(name)) if name.isascii() else None


def changeable(names: Sequence[str], *, protected_too: bool) -> None:
    """Raises ``ConfigurationError`` for the first name that CONFIG SET refuses, or that comes twice."""
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


def taken(version: Version, name: str, value: str, before: str) -> str:
    """The value as CONFIG GET shows it; raises ``ConfigurationError`` if the directive refuses it."""
    try:
        return check_in(version, canonical(name))(value, before)
    except ValueError as refusal:
        raise ConfigurationError(name, str(refusal), value) from None


def changed(version: Version, name: str, value: str, before: str, *, is_settled: bool) -> str:
    """As ``taken``, for a server that runs: a settled directive refuses to change."""
    after = taken(version, name, value, before)
    if is_settled and after != before and "settled" in DIRECTIVES[canonical(name)].traits:
        raise ConfigurationError(name, f"this server keeps the '{before}' that it started with", value)
    return after
