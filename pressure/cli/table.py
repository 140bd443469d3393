"""The table of subcommands: what each is for, what it takes, and the function that does it.

An argument's key is its flags, or for one without flags its name; its value is what argparse is told of it.
To add a subcommand: a function of a ``Call`` that returns the exit status, and a row in ``COMMANDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pressure.cli import commands, completion, inprogress, listing, moving, pipeline, piping, top
from pressure.cli.call import Call
from pressure.cli.options import (
    ANY_KIND,
    BOUND,
    FLAG,
    FORMAT,
    KIND,
    NAME,
    QUIET,
    TIMEOUT,
    Arguments,
    count,
    positive_number,
    seconds,
)
from pressure.kinds.looks import OLD


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand.

    Attributes:
        run: Does it; returns the exit status.
        help: What it is for.
        arguments: What it takes, beside where the server is.
        json: Whether it can answer for programs.
        by_kind: Whether some of its options go with some kinds of queues only.
        between: The argument that stands between two ``--``.
        usage: How it is called, where argparse would not say it right.
    """

    run: Callable[[Call], int]
    help: str
    arguments: Arguments
    json: bool = False
    by_kind: bool = False
    between: str | None = None
    usage: str | None = None


COMMANDS: Final[Mapping[str, Command]] = {
    "ls": Command(
        listing.ls,
        "list queues",
        {
            "patterns": {"metavar": "PATTERN", "nargs": "*", "help": "list these only, as in 'jobs-*'"},
            "--names": {**FLAG, "help": "print nothing but names"},
            **ANY_KIND,
        },
        json=True,
    ),
    "inspect": Command(
        listing.inspect, "print all that can be known of a queue", {**NAME, **ANY_KIND}, json=True
    ),
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
            "--once": {**FLAG, "help": "look once"},
            **ANY_KIND,
        },
        json=True,
    ),
    "put": Command(
        moving.put,
        "put messages: the arguments, or else each line of standard input",
        {
            **NAME,
            "messages": {
                "metavar": "MESSAGE",
                "nargs": "*",
                "help": "a message; after -- whatever it starts with",
            },
            **FORMAT,
            "--create": {**FLAG, "help": "create the queue first"},
            **BOUND,
            "--close": {**FLAG, "help": "close the queue at the end"},
            "--overfill": {**FLAG, "help": "do not wait for room: put onto a full queue too"},
            "--acks": {
                **FLAG,
                "help": "print the number of each message once the queue has it; "
                "after a crash, send again from the one after the last number",
            },
            **TIMEOUT,
            **QUIET,
            **KIND,
        },
        by_kind=True,
    ),
    "get": Command(
        moving.get,
        "write each message as a line, until the queue is closed and empty",
        {
            **NAME,
            **FORMAT,
            **count("end after so many messages"),
            "--run": {
                "metavar": "N",
                "type": positive_number,
                "help": "take up to N at once, which is quicker; if it is killed then, as many may be lost",
            },
            "--reliable": {
                **FLAG,
                "help": "a message that cannot be written goes back to the queue; they go one by one",
            },
            "--delete": {**FLAG, "help": "delete the queue when it is closed and empty"},
            **TIMEOUT,
            **QUIET,
            **KIND,
            "--lock-ttl": {
                "metavar": "SECONDS",
                "type": seconds,
                "help": "for how long a ring's item is locked meanwhile; 60 without it",
            },
            "--recover": {
                "metavar": "SECONDS",
                "type": seconds,
                "help": "first take of a reliable queue what was delivered so long ago and not acknowledged",
            },
        },
        by_kind=True,
    ),
    "pipe": Command(
        piping.pipe,
        "hand the messages of one queue to a command, and put what it answers to another",
        {
            **NAME,
            "words": {"metavar": "COMMAND", "nargs": "*", "help": "the command, and its arguments"},
            "target": {"metavar": "QUEUE_OUT", "help": "where its output goes"},
            "--each": {
                **FLAG,
                "help": "run the command once for each message; each line of its output is a message "
                "(with --binary: all of it is one)",
            },
            **FORMAT,
            "--close": {**FLAG, "help": "close QUEUE_OUT when QUEUE is closed and empty"},
            **count("end after so many messages"),
            **TIMEOUT,
            **QUIET,
        },
        between="words",
        usage="pressure pipe [options] QUEUE -- COMMAND [ARGUMENT ...] -- QUEUE_OUT",
    ),
    "pipeline": Command(
        pipeline.run,
        "run a queue through Spark into another queue, or into Parquet files",
        pipeline.ARGUMENTS,
    ),
    "create": Command(commands.create, "create a queue", {**NAME, **BOUND}),
    "close": Command(commands.close, "close a queue: nothing more can be put", {**NAME, **TIMEOUT}),
    "delete": Command(
        commands.delete, "delete a queue, or finish an interrupted delete", {**NAME, **TIMEOUT}
    ),
    "length": Command(commands.length, "print how many messages are in a queue", {**NAME, **KIND}, json=True),
    "exists": Command(commands.exists, "print whether a queue exists; status 0 or 1", NAME, json=True),
    "closed": Command(commands.closed, "print whether a queue is closed; status 0 or 1", NAME, json=True),
    "peek": Command(
        commands.peek,
        "print the messages that come next, and leave them where they are",
        {
            **NAME,
            **FORMAT,
            **count("how many; 1 without it", 1),
            "--rejected": {**FLAG, "help": "those that were rejected instead"},
            **KIND,
        },
        json=True,
        by_kind=True,
    ),
    "redrive": Command(
        commands.redrive,
        "put messages again that were rejected, and print how many",
        {**NAME, **count("how many at most; all without it"), **TIMEOUT},
        json=True,
    ),
    "doctor": Command(
        listing.doctor,
        "say what is wrong with a queue, or with any",
        {
            "name": {"metavar": "QUEUE", "nargs": "?", "help": "the queue; all of them without it"},
            **ANY_KIND,
            "--old": {
                "metavar": "SECONDS",
                "type": seconds,
                "default": OLD,
                "help": "for how long something may be in progress; an hour without it",
            },
        },
        json=True,
    ),
    "inprogress": Command(
        inprogress.inprogress,
        "print what is in progress in a backup queue, or put it back, or give it up",
        {
            **NAME,
            "items": {"metavar": "ITEM", "nargs": "*", "help": "these items only"},
            "--requeue": {**FLAG, "help": "put them back, to be taken next; all of them without ITEM"},
            "--discard": {**FLAG, "help": "remove them, which have to be named"},
            "--older": {
                "metavar": "SECONDS",
                "type": seconds,
                "help": "only what was taken so long ago, or longer",
            },
        },
        json=True,
    ),
    "repair": Command(
        commands.repair,
        "free what dead clients left taken, finish a half done create or delete",
        {
            **NAME,
            "--force": {**FLAG, "help": "free the roles whoever holds them"},
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
