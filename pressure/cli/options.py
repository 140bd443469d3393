"""Arguments that several subcommands share: where the server is, the queue and its kind, the message format.

In ``Arguments``, a key is the argument's flags, or its name if it has no flags; the value is passed to
``add_argument`` of argparse.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

QUEUE: Final = "queue"
"""The name of the kind ``pressure.Queue``."""

KINDS: Final = (QUEUE, "backup", "ring", "reliable")

Arguments: TypeAlias = Mapping[str, Mapping[str, Any]]


def whole_number(text: str) -> int:
    """An integer of 0 or more."""
    if not (text.isascii() and text.isdigit()):
        raise ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def positive_number(text: str) -> int:
    """An integer of 1 or more."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def seconds(text: str) -> float:
    """A time of 0 seconds or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds, 0 or more")
    return value


FLAG: Final = {"action": "store_true"}
_URL: Final = (
    "the server's URL: redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://; "
    "or miniredis:DIRECTORY, which needs no server"
)

WHERE: Final[Arguments] = {
    "--url": {"metavar": "URL", "help": _URL},
    "--host": {"metavar": "HOST", "help": "the server's name or address; default 127.0.0.1"},
    "--port": {"metavar": "PORT", "type": whole_number, "help": "the server's port; default 6379"},
    "--db": {"metavar": "N", "type": whole_number, "help": "the number of the database; default 0"},
    "--prefix": {
        "metavar": "PREFIX",
        "help": "the beginning of all keys; default __pressure__, or queue for other kinds",
    },
}
"""Where the server is. These options may be written before the subcommand or after it."""

JSON: Final[Arguments] = {"--json": {**FLAG, "help": "print the answer as one line of JSON"}}

NAME: Final[Arguments] = {"name": {"metavar": "QUEUE", "help": "the queue"}}
TIMEOUT: Final[Arguments] = {
    "--timeout": {
        "metavar": "SECONDS",
        "type": seconds,
        "help": "longest time to wait; default: for ever",
    }
}
HEAL: Final[Arguments] = {
    "--no-heal": {
        **FLAG,
        "help": "go on waiting for the role of a dead client; default: free it after some seconds",
    }
}
"""For the subcommands that take a role."""

BOUND: Final[Arguments] = {
    "--bound": {
        "metavar": "N",
        "type": whole_number,
        "help": "how many messages the queue may hold; default 0: any number",
    }
}
EXIST_OK: Final[Arguments] = {
    "--exist-ok": {**FLAG, "help": "leave a queue alone that exists with this bound"}
}
FORMAT: Final[Arguments] = {
    "-0 --null": {
        "action": "store_const",
        "const": "null",
        "default": "lines",
        "dest": "format",
        "help": "each message ends with a NUL byte instead of a newline",
    },
    "--binary": {
        "action": "store_const",
        "const": "binary",
        "dest": "format",
        "default": "lines",
        "help": "each message follows its length: 4 bytes, unsigned, big-endian",
    },
}
QUIET: Final[Arguments] = {
    "-q --quiet": {**FLAG, "help": "do not print the progress and the number of messages"}
}


def count(help_: str, default: int | None = None) -> Arguments:
    return {"-n --count": {"metavar": "N", "type": positive_number, "default": default, "help": help_}}


KIND: Final[Arguments] = {
    "--kind": {"choices": KINDS, "default": QUEUE, "help": "the kind of the queue; default: queue"}
}
REJECTING: Final[Arguments] = {
    "--kind": {
        "choices": (QUEUE, "reliable"),
        "default": QUEUE,
        "help": "the kind of the queue, default: queue; for a reliable queue, dead letters are redriven",
    }
}
ANY_KIND: Final[Arguments] = {"--kind": {"choices": KINDS, "help": "only queues of this kind; default: all"}}

GOES_WITH: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("create", "bound", "close", "overfill", "delete", "run", "no_heal"), (QUEUE,)),
    "rejected": (QUEUE, "reliable"),
    "lock_ttl": ("ring",),
    "recover": ("reliable",),
}
"""Options that work only with some kinds, and these kinds."""
