"""The table of subcommands: the purpose, the arguments and the function of each.

In ``Arguments``, a key is the argument's flags, or its name if it has no flags; the value is passed to
``add_argument`` of argparse.

To add a subcommand: write a function that takes a ``Call`` and returns the exit status, and add a row to
``COMMANDS``.

Nothing here imports what a queue needs, so help, completion and errors about arguments are fast.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pressure.cli import pipeline
from pressure.cli.call import Call
from pressure.cli.options import (
    ANY_KIND,
    BOUND,
    EXIST_OK,
    FLAG,
    FORMAT,
    HEAL,
    KIND,
    NAME,
    QUIET,
    REJECTING,
    TIMEOUT,
    Arguments,
    count,
    positive_number,
    seconds,
)
from pressure.cli.shells import SHELLS


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand.

    Attributes:
        does: The function, as ``module.name`` in this package; imported when the command runs.
        help: Its purpose, for the help.
        arguments: Its arguments, without those that say where the server is.
        json: Whether it has ``--json``, which prints the answer as one line of JSON.
        by_kind: Whether some of its options work only with some kinds of queues.
        between: The name of the argument that is written between two ``--``; None if there is none.
        usage: Its usage line, if the one that argparse makes would be wrong.
    """

    does: str
    help: str
    arguments: Arguments
    json: bool = False
    by_kind: bool = False
    between: str | None = None
    usage: str | None = None

    def run(self, call: Call) -> int:
        """Run the subcommand; returns the exit status."""
        module, _, name = self.does.partition(".")
        status: int = getattr(importlib.import_module(f"pressure.cli.{module}"), name)(call)
        return status


COMMANDS: Final[Mapping[str, Command]] = {
    "ls": Command(
        "listing.ls",
        "list queues: their lengths, bounds and states, and who holds their roles",
        {
            "patterns": {
                "metavar": "PATTERN",
                "nargs": "*",
                "help": "only queues with such names, as in 'jobs-*'",
            },
            "--names": {**FLAG, "help": "print only the names"},
            **ANY_KIND,
        },
        json=True,
    ),
    "inspect": Command(
        "listing.inspect", "print everything that is known about one queue", {**NAME, **ANY_KIND}, json=True
    ),
    "top": Command(
        "top.top",
        "watch queues: how full they are, messages per second, and who holds their roles",
        {
            "names": {"metavar": "QUEUE", "nargs": "*", "help": "watch only these queues"},
            "--interval": {
                "metavar": "SECONDS",
                "type": seconds,
                "default": 2.0,
                "help": "time between two updates; default 2",
            },
            "--once": {**FLAG, "help": "print the queues once, then exit"},
            **ANY_KIND,
        },
        json=True,
    ),
    "put": Command(
        "transfer.put",
        "put messages into a queue: the arguments, or else each line of standard input",
        {
            **NAME,
            "messages": {
                "metavar": "MESSAGE",
                "nargs": "*",
                "help": "a message; write -- before one that begins with a hyphen",
            },
            **FORMAT,
            "--create": {
                **FLAG,
                "help": "create the queue before the first message; --bound gives its bound",
            },
            **BOUND,
            "--close": {**FLAG, "help": "close the queue after the last message"},
            "--overfill": {**FLAG, "help": "put even if the queue is full, beyond its bound"},
            "--acks": {
                **FLAG,
                "help": "print the number of each message when it is stored; "
                "after a crash, send again from the message after the last number",
            },
            **TIMEOUT,
            **HEAL,
            **QUIET,
            **KIND,
        },
        by_kind=True,
    ),
    "get": Command(
        "transfer.get",
        "take messages from a queue and print them as lines, until it is closed and empty",
        {
            **NAME,
            **FORMAT,
            **count("end after N messages"),
            "--run": {
                "metavar": "N",
                "type": positive_number,
                "help": "take up to N messages at once; default: as many as the output takes at once. "
                "If get is killed, as many are lost; with --run 1, at most one",
            },
            "--reliable": {
                **FLAG,
                "help": "take one message at a time, and put it back if it cannot be written",
            },
            "--json": {
                **FLAG,
                "help": """print each message as a line of JSON: {"text": "..."}, """
                """or {"base64": "..."} if it is not UTF-8""",
            },
            "--delete": {**FLAG, "help": "delete the queue once it is closed and empty"},
            **TIMEOUT,
            **HEAL,
            **QUIET,
            **KIND,
            "--lock-ttl": {
                "metavar": "SECONDS",
                "type": seconds,
                "help": "how long an item of a ring stays locked while it is written; default 60",
            },
            "--recover": {
                "metavar": "SECONDS",
                "type": seconds,
                "help": "from a reliable queue, first take messages that were delivered at least SECONDS ago "
                "and were never acknowledged",
            },
        },
        by_kind=True,
    ),
    "pipe": Command(
        "piping.pipe",
        "run the messages of one queue through a command, and put its output into another queue",
        {
            **NAME,
            "words": {"metavar": "COMMAND", "nargs": "*", "help": "the command and its arguments"},
            "target": {"metavar": "QUEUE_OUT", "help": "the queue for the command's output"},
            "--each": {
                **FLAG,
                "help": "run the command once for each message; each line of its output becomes a message "
                "(with --binary, its whole output becomes one message)",
            },
            **FORMAT,
            "--close": {**FLAG, "help": "close QUEUE_OUT once QUEUE is closed and empty"},
            **count("end after N messages"),
            **TIMEOUT,
            **HEAL,
            **QUIET,
        },
        between="words",
        usage="pressure pipe [options] QUEUE -- COMMAND [ARGUMENT ...] -- QUEUE_OUT",
    ),
    "pipeline": Command(
        "pipeline.run",
        "process a queue with Spark, into another queue or into Parquet files",
        pipeline.ARGUMENTS,
    ),
    "spark": Command(
        "spark_keys.spark",
        "show what queries in Spark have left on the server, and drop what nothing needs any more",
        {
            "what": {"choices": ("keys",), "help": "keys: the keys beside the queues, by purpose and queue"},
            "--clean": {**FLAG, "help": "drop copies, and staged rows of attempts that failed"},
            "--older": {
                "metavar": "SECONDS",
                "type": seconds,
                "default": 3600.0,
                "help": "with --clean: drop only what was not touched for so long; default 3600",
            },
        },
        json=True,
    ),
    "create": Command("commands.create", "create a queue", {**NAME, **BOUND, **EXIST_OK}),
    "close": Command(
        "commands.close",
        "close a queue: puts fail from then on, and gets take what is left",
        {**NAME, **TIMEOUT, **HEAL},
    ),
    "delete": Command(
        "commands.delete",
        "delete a queue and its messages, or finish an interrupted delete",
        {**NAME, **TIMEOUT, **HEAL},
    ),
    "length": Command(
        "commands.length", "print how many messages are in a queue", {**NAME, **KIND}, json=True
    ),
    "exists": Command(
        "commands.exists", "print whether a queue exists: true (status 0), false (status 1)", NAME, json=True
    ),
    "closed": Command(
        "commands.closed",
        "print whether a queue is closed: true (status 0), false (status 1)",
        NAME,
        json=True,
    ),
    "peek": Command(
        "commands.peek",
        "print the next messages of a queue, without taking them",
        {
            **NAME,
            **FORMAT,
            **count("how many; default 1", 1),
            "--rejected": {
                **FLAG,
                "help": "print rejected messages instead, or a reliable queue's dead letters",
            },
            **KIND,
        },
        json=True,
        by_kind=True,
    ),
    "redrive": Command(
        "commands.redrive",
        "put rejected messages into their queue again, and print how many",
        {**NAME, **count("how many at most; default: all"), **TIMEOUT, **HEAL, **REJECTING},
        json=True,
        by_kind=True,
    ),
    "doctor": Command(
        "listing.doctor",
        "check one queue, or all of them, and print what is wrong",
        {
            "name": {"metavar": "QUEUE", "nargs": "?", "help": "the queue; default: all queues"},
            **ANY_KIND,
            "--old": {
                "metavar": "SECONDS",
                "type": seconds,
                "help": "report items that have been in progress for longer than this; default 3600",
            },
        },
        json=True,
    ),
    "inprogress": Command(
        "inprogress.inprogress",
        "print the items of a backup queue that are in progress; put them back, or remove them",
        {
            **NAME,
            "items": {"metavar": "ITEM", "nargs": "*", "help": "only these items"},
            "--requeue": {
                **FLAG,
                "help": "put the items back, to be taken next; without ITEM, all of them",
            },
            "--discard": {**FLAG, "help": "remove the items for good; ITEM is needed"},
            "--older": {
                "metavar": "SECONDS",
                "type": seconds,
                "help": "only items that were taken at least SECONDS ago",
            },
        },
        json=True,
    ),
    "repair": Command(
        "commands.repair",
        "free the roles of dead clients, and finish an interrupted create or delete",
        {
            **NAME,
            "--force": {**FLAG, "help": "free the roles even if their holders are alive"},
            "--role": {"choices": ("producer", "consumer"), "help": "free only this role"},
        },
        json=True,
    ),
    "completion": Command(
        "completion.completion",
        "print the completion script for a shell",
        {"shell": {"choices": SHELLS, "help": "the shell"}},
    ),
}
