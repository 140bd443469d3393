"""What the command lines of this package share: options, and types of arguments.

Each type is one for ``argparse``: a wrong argument ends the command with status 2 before anything is started,
and the error says what to write instead.
"""

from __future__ import annotations

import argparse
import difflib
import os
import signal
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final, NoReturn

__all__ = [
    "TARGET",
    "add_bound",
    "add_seed",
    "add_target",
    "amount",
    "as_program",
    "count",
    "one_of",
    "output_file",
    "unknown",
]

TARGET: Final = "embedded (miniredis in this process), real (redis-server), or a redis:// URL"
"""What most commands can be given as a server; ``targets`` knows a few more."""

NO_READER: Final = 128 + 13
"""The exit status of a program that SIGPIPE has ended, for a shell."""


def as_program(main: Callable[[], int]) -> NoReturn:
    """Runs a command as a program, which takes what it started along when it is told to end.

    It ends without a word, too, when nobody reads what it prints any more, as before ``| head``.
    """
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        sys.exit(main())
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or flushing at exit would fail
        sys.exit(NO_READER)


def add_target(parser: argparse.ArgumentParser, *, several: bool) -> None:
    """Adds ``--target``: the server to use, or with ``several`` a list of them; None if it is not given."""
    parser.add_argument(
        "--target", action="append" if several else "store", metavar="TARGET",
        help=f"server to use: {TARGET}{'; may be repeated' if several else ''} (default: embedded)",
    )  # fmt: skip


def add_seed(parser: argparse.ArgumentParser, decides: str, default: int = 0) -> None:
    """Adds ``--seed``, a whole number; ``decides`` says for the help what it decides."""
    parser.add_argument(
        "--seed", type=int, default=default, metavar="N",
        help=f"number that decides {decides} (default: %(default)s)",
    )  # fmt: skip


def add_bound(parser: argparse.ArgumentParser, default: int) -> None:
    """Adds ``--bound``, of the queue that is used."""
    parser.add_argument(
        "--bound", type=count(0), default=default, metavar="N",
        help="most messages in the queue at a time; 0 for no bound (default: %(default)s)",
    )  # fmt: skip


def count(least: int) -> Callable[[str], int]:
    """Whole numbers from ``least`` on."""

    def read(word: str) -> int:
        try:
            number = int(word)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{word!r} is not a whole number") from None
        if number < least:
            raise argparse.ArgumentTypeError(f"{word} is too small: give {least} or more")
        return number

    return read


def amount(word: str) -> float:
    """Numbers above 0, fractions among them."""
    try:
        number = float(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is not a number") from None
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{word} is not a number above 0")
    return number


def one_of(what: str, known: Collection[str], listed_by: str) -> Callable[[str], str]:
    """One of many names, which the error does not list but says how to.

    Args:
        what: what is named, such as ``clause``.
        known: the names.
        listed_by: the option that prints them.
    """

    def read(word: str) -> str:
        if word not in known:
            raise argparse.ArgumentTypeError(unknown(what, word, known, f"{listed_by} prints them"))
        return word

    return read


def unknown(what: str, name: str, known: Collection[str], otherwise: str) -> str:
    """That there is nothing of a name, with the nearest name that there is."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"there is no {what} {name!r}; " + (f"did you mean {near[0]!r}?" if near else otherwise)


def output_file(word: str) -> Path:
    """A file that can be written at the end of a run: its folder is there, and open to this user."""
    path = Path(word)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write {word}: it is a folder; name a file in it")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write {word}: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"cannot write {word}: permission denied")
    return path
