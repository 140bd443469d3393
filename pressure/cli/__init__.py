"""The ``pressure`` command: queues from the shell.

``table`` lists the subcommands, ``status`` the exit statuses. An error is one line on standard error, never a
traceback.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from collections.abc import Sequence
from contextlib import ExitStack

from pressure.cli import formatting, status
from pressure.cli.call import Call, discard, print_error
from pressure.cli.missing import replace_missing_streams
from pressure.cli.parser import parse
from pressure.cli.stop import Signals
from pressure.cli.table import COMMANDS
from pressure.errors import PressureWarning, QueueDoesNotExistError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    replace_missing_streams()
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", PressureWarning)
    try:
        arguments = parse(argv)
        with ExitStack() as stack, Signals() as signals:
            call = Call(arguments, signals, stack)
            try:
                return COMMANDS[arguments.command].run(call)
            except QueueDoesNotExistError as error:
                importlib.import_module("pressure.cli.lookup").name_the_kind(call, error)
                raise
    except BrokenPipeError:
        discard(sys.stdout)  # or flushing at exit would fail
        return status.DONE
    except (Exception, KeyboardInterrupt) as error:
        return _fail(error)


def _fail(error: BaseException) -> int:
    code = status.status_of(error)
    for message in status.lost_messages(error):
        print_error(f"lost: {json.dumps(formatting.value(message))}")
    text = "stopped by SIGINT" if isinstance(error, KeyboardInterrupt) else str(error)
    if code == status.UNEXPECTED:
        text = f"unexpected {type(error).__name__}: {text}"
    print_error("; ".join((text, *getattr(error, "__notes__", ()))))
    return code


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print_error(str(message))
