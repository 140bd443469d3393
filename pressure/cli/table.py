"""The table of subcommands: what each is for, what it takes, and the function that does it.

An argument's key is its flags, or for one without flags its name; its value is what argparse is told of it.
To add a subcommand: a function of a ``Call`` that returns the exit status, and a row in ``COMMANDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pressure.cli import commands, completion, listing, moving, piping, top
from pressure.cli.call import Call

Arguments: TypeAlias = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand.

    Attributes:
        run: Does it; returns the exit status.
        help: What it is for.
        arguments: What it takes, beside where the server is.
        json: Whether it can answer for programs.
        between: The argument that stands between two ``--``.
        usage: How it is called, where argparse would not say it right.
    """

    run: Callable[[Call], int]
    help: str
    arguments: Arguments
    json: bool = False
    between: str | None = None
    usage: str | None = None


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

_FLAG: Final = {"action": "store_true"}
_URL: Final = "redis://, rediss://, unix://, redis+sentinel:// or redis+cluster:// URL of the server"

WHERE: Final[Arguments] = {
    "--url": {"metavar": "URL", "help": _URL},
    "--host": {"metavar": "HOST", "help": "the server's name or address"},
    "--port": {"metavar": "PORT", "type": whole_number, "help": "its port"},
    "--db": {"metavar": "N", "type": whole_number, "help": "its database"},
    "--prefix": {"metavar": "PREFIX", "help": "what every key starts with"},
}
"""Where the server is: before the subcommand or after it."""

JSON: Final[Arguments] = {"--json": {**_FLAG, "help": "answer with a line of JSON, for programs"}}

_NAME: Final[Arguments] = {"name": {"metavar": "QUEUE", "help": "the queue"}}
_TIMEOUT: Final[Arguments] = {
    "--timeout": {"metavar": "SECONDS", "type": seconds, "help": "how long to wait; for ever without it"}
}
_BOUND: Final[Arguments] = {
    "--bound": {
        "metavar": "N",
        "type": whole_number,
        "help": "how many messages it may hold; any number without it, or with 0",
    }
}
_FORMAT: Final[Arguments] = {
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
_QUIET: Final[Arguments] = {"-q --quiet": {**_FLAG, "help": "neither show progress nor count in the end"}}


def _count(help_: str, default: int | None = None) -> Arguments:
    return {"-n --count": {"metavar": "N", "type": whole_number, "default": default, "help": help_}}


COMMANDS: Final[Mapping[str, Command]] = {
    "ls": Command(
        listing.ls,
        "list queues",
        {
            "patterns": {"metavar": "PATTERN", "nargs": "*", "help": "list these only, as in 'jobs-*'"},
            "--names": {**_FLAG, "help": "print nothing but names"},
        },
        json=True,
    ),
    "inspect": Command(listing.inspect, "print all that can be known of a queue", _NAME, json=True),
    "top": Command(
        top.top,
        "watch queues: how full they are, rates, who is at work and for how long",
        {
            "names": {"metavar": "QUEUE", "nargs": "*", "help": "watch these only"},
            "--interval": {
                "metavar": "SECONDS",
                "type": seconds,
                "default": 2.0,
                "help": "between two looks",
            },
            "--once": {**_FLAG, "help": "look once"},
        },
        json=True,
    ),
    "put": Command(
        moving.put,
        "put messages: the arguments, or else each line of standard input",
        {
            **_NAME,
            "messages": {
                "metavar": "MESSAGE",
                "nargs": "*",
                "help": "a message; after -- whatever it starts with",
            },
            **_FORMAT,
            "--create": {**_FLAG, "help": "create the queue first"},
            **_BOUND,
            "--close": {**_FLAG, "help": "close the queue at the end"},
            "--overfill": {**_FLAG, "help": "do not wait for room: put onto a full queue too"},
            "--acks": {
                **_FLAG,
                "help": "print the number of each message once the queue has it; "
                "after a crash, send again from the one after the last number",
            },
            **_TIMEOUT,
            **_QUIET,
        },
    ),
    "get": Command(
        moving.get,
        "write each message as a line, until the queue is closed and empty",
        {
            **_NAME,
            **_FORMAT,
            **_count("end after so many messages"),
            "--run": {
                "metavar": "N",
                "type": positive_number,
                "default": 1,
                "help": "take up to N at once, which is quicker; if it is killed then, as many may be lost",
            },
            "--reliable": {
                **_FLAG,
                "help": "a message that cannot be written goes back to the queue; they go one by one",
            },
            "--delete": {**_FLAG, "help": "delete the queue when it is closed and empty"},
            **_TIMEOUT,
            **_QUIET,
        },
    ),
    "pipe": Command(
        piping.pipe,
        "hand the messages of one queue to a command, and put what it answers to another",
        {
            **_NAME,
            "words": {"metavar": "COMMAND", "nargs": "*", "help": "the command, and its arguments"},
            "target": {"metavar": "QUEUE_OUT", "help": "where its output goes"},
            "--each": {
                **_FLAG,
                "help": "run the command once for each message; each line of its output is a message "
                "(with --binary: all of it is one)",
            },
            **_FORMAT,
            "--close": {**_FLAG, "help": "close QUEUE_OUT when QUEUE is closed and empty"},
            **_count("end after so many messages"),
            **_TIMEOUT,
            **_QUIET,
        },
        between="words",
        usage="pressure pipe [options] QUEUE -- COMMAND [ARGUMENT ...] -- QUEUE_OUT",
    ),
    "create": Command(commands.create, "create a queue", {**_NAME, **_BOUND}),
    "close": Command(commands.close, "close a queue: nothing more can be put", {**_NAME, **_TIMEOUT}),
    "delete": Command(
        commands.delete, "delete a queue, or finish an interrupted delete", {**_NAME, **_TIMEOUT}
    ),
    "length": Command(commands.length, "print how many messages are in a queue", _NAME, json=True),
    "exists": Command(commands.exists, "print whether a queue exists; status 0 or 1", _NAME, json=True),
    "closed": Command(commands.closed, "print whether a queue is closed; status 0 or 1", _NAME, json=True),
    "peek": Command(
        commands.peek,
        "print the messages that come next, and leave them where they are",
        {**_NAME, **_FORMAT, **_count("how many; 1 without it", 1)},
        json=True,
    ),
    "doctor": Command(
        listing.doctor,
        "say what is wrong with a queue, or with any",
        {"name": {"metavar": "QUEUE", "nargs": "?", "help": "the queue; all of them without it"}},
        json=True,
    ),
    "repair": Command(
        commands.repair,
        "free what dead clients left taken, finish a half done create or delete",
        {
            **_NAME,
            "--force": {**_FLAG, "help": "free the roles whoever holds them"},
            "--role": {"choices": ("producer", "consumer"), "help": "free this one only"},
        },
        json=True,
    ),
    "completion": Command(
        completion.completion,
        "print what makes a shell complete this command",
        {"shell": {"choices": tuple(completion.SHELLS), "help": "the shell"}},
    ),
}
