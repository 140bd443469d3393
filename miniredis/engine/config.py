"""The directives of redis-server: names, values, defaults, and what each refuses.

A directive is a row in the table. One whose feature is not there is known at its "off" value only, so that a
command line or a CONFIG SET asks for nothing that would then silently not happen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from .glob import compile_glob
from .numbers import MAX, parse_integer

__all__ = ["Config", "ConfigurationError"]


class ConfigurationError(Exception):
    """A directive that is not there, or a value it does not take; the text is redis-server's own."""

    def __init__(self, directive: str, reason: str) -> None:
        super().__init__(reason)
        self.directive = directive
        self.reason = reason


UNKNOWN: Final = "Bad directive or wrong number of arguments"
IMMUTABLE: Final = "can't set immutable config"
WRONG_COUNT: Final = "wrong number of arguments"
NOT_A_NUMBER: Final = "argument couldn't be parsed into an integer"
NOT_MEMORY: Final = "argument must be a memory value"

Check: TypeAlias = Callable[[str], str]
"""Takes a value as given and returns it as CONFIG GET shows it, or raises ``ValueError`` with the reason."""

MEMORY: Final = re.compile(r"(\d*)(b|kb?|mb?|gb?)?", re.IGNORECASE).fullmatch
UNITS: Final = {
    "": 1, "b": 1, "k": 10**3, "kb": 1 << 10, "m": 10**6, "mb": 1 << 20, "g": 10**9, "gb": 1 << 30,
}  # fmt: skip


def integer(low: int, high: int) -> Check:
    def check(text: str) -> str:
        value = parse_integer(text.encode())
        if value is None:
            raise ValueError(NOT_A_NUMBER)
        return in_range(value, low, high)

    return check


def memory(low: int, high: int) -> Check:
    def check(text: str) -> str:
        parts = MEMORY(text)
        if parts is None:
            raise ValueError(NOT_MEMORY)
        return in_range(int(parts[1] or 0) * UNITS[(parts[2] or "").lower()], low, high)

    return check


def in_range(value: int, low: int, high: int) -> str:
    if not low <= value <= high:
        raise ValueError(f"argument must be between {low} and {high} inclusive")
    return str(value)


def octal(text: str) -> str:
    try:
        value = int(text, 8)
    except ValueError:
        raise ValueError("argument couldn't be parsed as an octal number") from None
    if not 0 <= value <= 0o777:
        raise ValueError("argument must be between 0 and 777 inclusive")
    return f"{value:o}"


def one_of(*choices: str) -> Check:
    def check(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"argument(s) must be one of the following: {', '.join(choices)}")
        return text.lower()

    return check


def text(value: str) -> str:
    return value


YES_OR_NO: Final = ("yes", "no")


def only(off: str) -> Check:
    """For a feature that is not there: the one value that asks for nothing."""

    def check(value: str) -> str:
        if off in YES_OR_NO and value.lower() not in YES_OR_NO:
            raise ValueError("argument must be 'yes' or 'no'")
        if value.lower() != off:
            raise ValueError(f"this server takes only '{off}' here")
        return off

    return check


@dataclass(frozen=True, slots=True)
class Directive:
    """One row of the table.

    Attributes:
        default: the value when nothing else is said.
        check: what values it takes.
        mutable: whether CONFIG SET may change it.
        most: how many words its value may have.
    """

    default: str
    check: Check
    mutable: bool = False
    most: int = 1


WORKING: Final = {
    "bind": Directive("127.0.0.1", text, most=16),
    "client-query-buffer-limit": Directive("1073741824", memory(1 << 20, MAX), mutable=True),
    "databases": Directive("16", integer(1, (1 << 31) - 1)),
    "hz": Directive("10", integer(0, (1 << 31) - 1), mutable=True),
    "repl-backlog-size": Directive("1048576", memory(1, MAX), mutable=True),
    "loglevel": Directive("notice", one_of("debug", "verbose", "notice", "warning")),
    "maxclients": Directive("10000", integer(1, (1 << 32) - 1), mutable=True),
    "port": Directive("6379", integer(0, 65535)),
    "proto-max-bulk-len": Directive("536870912", memory(1 << 20, MAX), mutable=True),
    "enable-debug-command": Directive("no", one_of("yes", "no", "local")),
    "requirepass": Directive("", text, mutable=True),
    "slowlog-log-slower-than": Directive("10000", integer(-1, MAX), mutable=True),
    "slowlog-max-len": Directive("128", integer(0, MAX), mutable=True),
    "tcp-backlog": Directive("511", integer(0, (1 << 31) - 1)),
    "tcp-keepalive": Directive("300", integer(0, (1 << 31) - 1), mutable=True),
    "unixsocket": Directive("", text),
    "unixsocketperm": Directive("0", octal),
}

OFF: Final = {
    "aclfile": "",
    "activedefrag": "no",
    "always-show-logo": "no",
    "appendonly": "no",
    "client-output-buffer-limit": "normal 0 0 0 slave 0 0 0 pubsub 0 0 0",
    "cluster-enabled": "no",
    "daemonize": "no",
    "enable-module-command": "no",
    "enable-protected-configs": "no",
    "io-threads": "1",
    "latency-monitor-threshold": "0",
    "latency-tracking": "no",
    "logfile": "",
    "masterauth": "",
    "maxmemory": "0",
    "maxmemory-clients": "0",
    "maxmemory-policy": "noeviction",
    "notify-keyspace-events": "",
    "pidfile": "",
    "protected-mode": "no",
    "replicaof": "",
    "save": "",
    "slaveof": "",
    "supervised": "no",
    "syslog-enabled": "no",
    "timeout": "0",
    "tls-port": "0",
}
"""Directives whose feature is not there, each with the value that asks for nothing."""

DIRECTIVES: Final[Mapping[str, Directive]] = WORKING | {
    name: Directive(off, only(off), mutable=True, most=max(1, len(off.split()))) for name, off in OFF.items()
}


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
            self._values[name.lower()] = checked(name, value)

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
        return {name: value for name, value in self._values.items() if fits(name.encode())}

    def learn(self, name: str, value: str) -> None:
        """Takes in what is known only once the server runs, such as the port it got."""
        self._values[name] = value
        self._integers.pop(name, None)

    def change(self, values: Mapping[str, str]) -> None:
        """Changes several directives, or none if one of them is refused."""
        for name in values:
            if name in DIRECTIVES and not DIRECTIVES[name].mutable:
                raise ConfigurationError(name, IMMUTABLE)
        accepted = {name: checked(name, value) for name, value in values.items()}
        self._values.update(accepted)
        self._integers.clear()


def checked(name: str, value: str) -> str:
    directive = DIRECTIVES.get(name.lower())
    if directive is None:
        raise ConfigurationError(name, UNKNOWN)
    if len(value.split()) > directive.most:
        raise ConfigurationError(name, WRONG_COUNT)
    try:
        return directive.check(value)
    except ValueError as refusal:
        raise ConfigurationError(name, str(refusal)) from None
