"""The ``pressure`` command: queues from the shell.

``COMMANDS`` is the table of subcommands: what they are for, what they take, and the function in
``commands`` that does it. Errors are one line on standard error and an exit status, never a traceback.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pressure.cli import commands
from pressure.cli.stop import Stop
from pressure.errors import (
    ConnectionFailedError,
    OutcomeUnknownError,
    PressureError,
    PressureWarning,
    ServerReplyError,
)
from pressure.queue import Queue

_USAGE: Final = 2
_REFUSED: Final = 3
_SERVER: Final = 4

_EPILOG: Final = """\
where:
  --url URL, else $REDIS_URL, else $REDIS_SERVER, $REDIS_PORT and $REDIS_DB, else 127.0.0.1, 6379 and 0;
  --prefix PREFIX, else $PRESSURE_PREFIX, else __pressure__

exit status:
  0    done, or the answer is true; also when nobody reads the output any more
  1    the answer is false (exists, closed), or something was left unrepaired (repair)
  2    wrong usage
  3    the queue does not allow it: it does not exist, exists already, is closed, is in use
  4    the server cannot be reached, was lost, or refused a command
  130  stopped by SIGINT; 143 by SIGTERM. The role is given back first; a second signal kills at once.

put and get say on standard error how many lines were acknowledged, however they end.
"""


@dataclass(frozen=True, slots=True)
class _Command:
    run: Callable[[Queue, argparse.Namespace], int]
    help: str
    options: dict[str, dict[str, Any]]


_FLAG: Final[dict[str, Any]] = {"action": "store_true"}
_BOUND: Final[dict[str, Any]] = {
    "metavar": "N",
    "help": "most values it may hold; 0, the default, for any number",
}

COMMANDS: Final = {
    "create": _Command(commands.create, "create the queue", {"--bound": {**_BOUND, "default": "0"}}),
    "put": _Command(
        commands.put,
        "put each line of standard input",
        {
            "--create": {**_FLAG, "help": "create the queue first"},
            "--bound": {**_BOUND, "help": "with --create: " + _BOUND["help"]},
            "--close": {**_FLAG, "help": "close the queue at the end of the input"},
            "--overfill": {**_FLAG, "help": "do not wait for room: put onto a full queue too"},
            "--acks": {
                **_FLAG,
                "help": "print the number of each line once the queue has it; "
                "after a crash, send again from the line after the last number",
            },
        },
    ),
    "get": _Command(
        commands.get,
        "write each value as a line, until the queue is closed and empty",
        {"--delete": {**_FLAG, "help": "delete the queue then"}},
    ),
    "length": _Command(commands.length, "print how many values are in the queue", {}),
    "closed": _Command(commands.closed, "print whether the queue is closed; exit status 0 or 1", {}),
    "close": _Command(commands.close, "close the queue: nothing more can be put", {}),
    "delete": _Command(
        commands.delete,
        "delete the queue, or finish an interrupted delete",
        {"--timeout": {"type": float, "metavar": "SECONDS", "help": "how long to wait for those at work"}},
    ),
    "exists": _Command(commands.exists, "print whether the queue exists; exit status 0 or 1", {}),
    "repair": _Command(
        commands.repair,
        "free what dead clients left taken, finish a half done create or delete",
        {
            "--force": {**_FLAG, "help": "free the roles whoever holds them"},
            "--role": {"choices": ("producer", "consumer"), "help": "free this one only"},
        },
    ),
}


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    where = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    where.add_argument(
        "--url", help="redis://, rediss://, unix://, redis+sentinel:// or redis+cluster:// URL of the server"
    )
    where.add_argument("--prefix", help="what every key starts with")
    top = argparse.ArgumentParser(
        prog="pressure",
        description="Bounded distributed queues on any Redis server.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[where],
    )
    subparsers = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        sub = subparsers.add_parser(
            name,
            help=command.help,
            description=command.help,
            epilog=_EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            parents=[where],
        )
        sub.add_argument("name", metavar="NAME", help="the queue")
        for option, settings in command.options.items():
            sub.add_argument(option, **settings)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    arguments = parser().parse_args(argv)
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", PressureWarning)
    try:
        return _run(arguments)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that nothing is flushed at exit
        return commands.DONE
    except KeyboardInterrupt:
        return _fail("stopped by SIGINT", 130)
    except Stop as stop:
        return _fail(str(stop), stop.status)
    except (PressureError, ValueError, OSError) as error:
        return _fail("; ".join((str(error), *getattr(error, "__notes__", ()))), _status(error))


def _run(arguments: argparse.Namespace) -> int:
    if getattr(arguments, "bound", None) is not None:
        if not getattr(arguments, "create", True):
            raise ValueError("--bound needs --create")
        arguments.bound = _bound(arguments.bound)
    prefix = getattr(arguments, "prefix", None)
    queue = Queue(
        os.fsencode(arguments.name),
        url=getattr(arguments, "url", None),
        prefix=None if prefix is None else os.fsencode(prefix),
    )
    with queue:
        return COMMANDS[arguments.command].run(queue, arguments)


def _bound(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"bound must be an integer of 0 or more, not {text!r}")
    return int(text)


def _status(error: Exception) -> int:
    if isinstance(error, (ConnectionFailedError, OutcomeUnknownError, ServerReplyError)):
        return _SERVER
    return _REFUSED if isinstance(error, PressureError) else _USAGE


def _fail(message: str, status: int) -> int:
    sys.stderr.write(f"pressure: {message}\n")
    return status


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    sys.stderr.write(f"pressure: {message}\n")
