"""What several subcommands take: where the server is, a queue and its kind, how messages are told apart.

An argument's key is its flags, or for one without flags its name; its value is what argparse is told of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from pressure.cli.looking import KINDS, QUEUE

Arguments: TypeAlias = Mapping[str, Mapping[str, Any]]


def whole_number(text: str) -> int:
    """An integer of 0 or more."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(text)
    return int(text)


def positive_number(text: str) -> int:
    """An integer of 1 or more."""
    if not (value := whole_number(text)):
        raise ValueError(text)
    return value


def seconds(text: str) -> float:
    """A time of 0 seconds or more."""
    if not (value := float(text)) >= 0:
        raise ValueError(text)
    return value


#: What the messages of argparse call them.
whole_number.__name__ = "whole number"

FLAG: Final = {"action": "store_true"}
_URL: Final = "redis://, rediss://, unix://, redis+sentinel:// or redis+cluster:// URL of the server"

WHERE: Final[Arguments] = {
    "--url": {"metavar": "URL", "help": _URL},
    "--host": {"metavar": "HOST", "help": "the server's name or address"},
    "--port": {"metavar": "PORT", "type": whole_number, "help": "its port"},
    "--db": {"metavar": "N", "type": whole_number, "help": "its database"},
    "--prefix": {"metavar": "PREFIX", "help": "what every key starts with"},
}
"""Where the server is: before the subcommand or after it."""

JSON: Final[Arguments] = {"--json": {**FLAG, "help": "answer with a line of JSON, for programs"}}

NAME: Final[Arguments] = {"name": {"metavar": "QUEUE", "help": "the queue"}}
TIMEOUT: Final[Arguments] = {
    "--timeout": {"metavar": "SECONDS", "type": seconds, "help": "how long to wait; for ever without it"}
}
BOUND: Final[Arguments] = {
    "--bound": {
        "metavar": "N",
        "type": whole_number,
        "help": "how many messages it may hold; any number without it, or with 0",
    }
}
FORMAT: Final[Arguments] = {
    "-0 --null": {
        "action": "store_const",
        "const": "null",
        "default": "lines",
        "dest": "format",
        "help": "each message ends with a NUL instead of a newline",
    },
    "--binary": {
        "action": "store_const",
        "const": "binary",
        "dest": "format",
        "default": "lines",
        "help": "each message comes after its length: 4 bytes, unsigned, big-endian",
    },
}
QUIET: Final[Arguments] = {"-q --quiet": {**FLAG, "help": "neither show progress nor count in the end"}}


def count(help_: str, default: int | None = None) -> Arguments:
    return {"-n --count": {"metavar": "N", "type": whole_number, "default": default, "help": help_}}


KIND: Final[Arguments] = {
    "--kind": {"choices": KINDS, "default": QUEUE, "help": "of which kind the queue is; queue without it"}
}
ANY_KIND: Final[Arguments] = {"--kind": {"choices": KINDS, "help": "of this kind only"}}

GOES_WITH: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("create", "bound", "close", "overfill", "delete", "run", "rejected"), (QUEUE,)),
    "lock_ttl": ("ring",),
    "recover": ("reliable",),
}
"""Options of subcommands that take a kind, and the kinds that they go with."""
