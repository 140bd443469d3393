"""``python -m conformance``: judges miniredis and a real Redis, with our client, by every clause.

``python -m conformance judge`` judges a server or a client of one's own.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from .arguments import as_program, one_of
from .at_once import Task, compared_once, in_parts, judge_all, judge_one
from .clients.adapter import Adapter
from .clients.flavours import FLAVOURS
from .documents import CLAUSES, SUITES, Clause
from .reports import Files, Reporting, total
from .targets import TARGETS, target_named

__all__ = ["main", "script"]

OF_CLIENTS: Final = ("protocol-0.1", "protocol-0.15", "decisions", "histories")
"""The suites that a client is judged by; the others are about servers and our own packages."""


def parser(*, judges: bool) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m conformance judge" if judges else "python -m conformance",
        description="Judges a Redis server, or a client of pressure queues, by every clause of the documents "
        "that it follows."
        if judges
        else "Checks Redis servers and queue clients against every clause of the documents that they follow. "
        "'python -m conformance judge --help' tells how to judge a server or a client of your own.",
        epilog="SERVER, --target, --client, --adapter, --suite and --clause may be given several times. Exit "
        "status: 0 every clause that must hold was passed or not asked, 1 some were not, 2 wrong arguments, "
        "a target that was asked for is not there, or an adapter does not open a queue.",
    )
    server = f"{', '.join(TARGETS)}, a redis:// URL, or a program like redis-server as PATH or NAME=PATH"
    if judges:
        made.add_argument(
            "target", nargs="*", metavar="SERVER",
            help=f"server to judge: {server} (default, with --adapter: embedded, which is miniredis)",
        )  # fmt: skip
    else:
        made.add_argument(
            "--target", action="append", metavar="TARGET",
            help=f"server to judge: {server} (default: embedded, which is miniredis in this process, and "
            "real, a redis-server)",
        )  # fmt: skip
    made.add_argument(
        "--client", action="append", choices=FLAVOURS,
        help="flavour of the pressure client to judge; plain is sync without scripts (default: sync)",
    )  # fmt: skip
    made.add_argument(
        "--adapter", action="append", metavar="COMMAND", default=[],
        help="judge another client: a command that speaks the protocol which 'python -m pydoc "
        "conformance.clients.adapter' describes",
    )  # fmt: skip
    made.add_argument(
        "--suite", action="append", choices=SUITES, metavar="SUITE",
        help=f"judge only this suite: {', '.join(SUITES)}",
    )  # fmt: skip
    made.add_argument(
        "--clause", action="append", type=one_of("clause", CLAUSES, "--list"), metavar="ID",
        help="judge only this clause, such as queue.fifo",
    )  # fmt: skip
    made.add_argument(
        "--strict", action="store_true", help="let clauses of the levels should and may fail the run, too",
    )  # fmt: skip
    Files.add_options(made)
    made.add_argument(
        "--list",
        action="store_true",
        help="print each clause with its id, level and suites, and judge nothing",
    )
    return made


def main(arguments: Sequence[str] | None = None, *, at_once: bool = False) -> int:
    """Runs the command; returns its exit status.

    Args:
        arguments: those of the command line, unless others are given.
        at_once: whether several targets are judged at the same time, each in a process of its own.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    judges = words[:1] == ["judge"]
    made = parser(judges=judges)
    options = made.parse_args(words[1:] if judges else words)
    of_a_client = judges and options.adapter and not options.target
    clauses = chosen(options.suite or (OF_CLIENTS if of_a_client else SUITES), options.clause)
    if not clauses:
        made.error(
            "no clause of --clause concerns clients; name a server, too"
            if of_a_client and not options.suite
            else "no clause of --clause is in a suite of --suite; --list prints each clause with its suites"
        )
    if options.list:
        list_clauses(clauses)
        return 0
    if judges and not options.target and not options.adapter:
        made.error("name a server, such as redis://127.0.0.1:6379, or a client with --adapter")
    names = options.target or (["embedded"] if of_a_client else ["embedded", "real"])
    for command in options.adapter:
        program, *_ = *Adapter(command).words, ""
        if shutil.which(program) is None:
            made.error(f"--adapter: no command {command!r} that can be run")
        if package := imported_from_here(Adapter(command).words):
            sys.stderr.write(f"--adapter {command!r} imports {package} from this directory, {Path.cwd()}\n")
    try:
        for name in names:
            target_named(name)
        files = Files.of(options)
    except (ValueError, OSError) as error:
        made.error(str(error))
    flavours = options.client or ([] if options.adapter else ["sync"])
    may_choose = bool(flavours) and not options.client
    asked_for = bool(options.target) or judges
    ids = tuple(clause.id for clause in clauses)
    tasks = list(
        compared_once(
            [
                Task(
                    name, ids, tuple(flavours), tuple(options.adapter), asked_for, may_choose, options.strict
                )
                for name in names
            ]
        )
    )
    with Reporting(files, say) as run:
        if at_once and len(tasks) > 1:
            status = judge_all(run, [*in_parts(tasks)], files, say)
        else:
            status = max(judge_one(run, task, say) for task in tasks)
    if any(each.outcomes for each in run.judgements):
        say(total(run.judgements))
    return status


def imported_from_here(words: Sequence[str]) -> str:
    """The package that ``python -m`` imports from the current directory, whatever is installed."""
    name = words[words.index("-m") + 1] if "-m" in words[1:-1] and "-P" not in words else ""
    package = name.partition(".")[0]
    is_here = package and (Path(package, "__init__.py").exists() or Path(f"{package}.py").exists())
    return package if is_here else ""


def chosen(suites: Sequence[str], ids: Sequence[str] | None) -> list[Clause]:
    """The clauses of some suites; with ids, only those of these ids."""
    wanted = ids or CLAUSES
    return [each for each in CLAUSES.values() if each.id in wanted and set(each.suites) & set(suites)]


def list_clauses(clauses: Sequence[Clause]) -> None:
    for clause in clauses:
        say(f"{clause.id} [{clause.level}; {', '.join(clause.suites)}; {clause.place}] {clause.text}")


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def script() -> None:
    """Runs the command as a program."""
    as_program(lambda: main(at_once=True))
