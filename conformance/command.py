"""``python -m conformance``: judges miniredis and a real Redis, with our client, by every clause."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence

from .arguments import one_of
from .clients.adapter import Adapter
from .clients.flavours import FLAVOURS
from .documents import CLAUSES, SUITES, Clause
from .judging.environment import Client
from .reports import Files, Reporting, failed, lines, why
from .targets import TARGETS, NotInstalledError, Target, target_named

__all__ = ["main", "script"]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m conformance",
        description="Checks Redis servers and queue clients against every clause of the documents that they "
        "follow.",
        epilog="--target, --client, --adapter, --suite and --clause may be given several times. Exit "
        "status: 0 every clause that must hold was passed or not asked, 1 some were not, 2 wrong arguments, "
        "or a target that was asked for is not there.",
    )
    made.add_argument(
        "--target", action="append", metavar="TARGET",
        help=f"server to judge: {', '.join(TARGETS)}, a redis:// URL, or a program like redis-server as PATH "
        "or NAME=PATH (default: embedded, which is miniredis in this process, and real, a redis-server)",
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    suites = options.suite or list(SUITES)
    clauses = chosen(suites, options.clause)
    if not clauses:
        parser().error(
            "no clause of --clause is in a suite of --suite; --list prints each clause with its suites"
        )
    if options.list:
        list_clauses(clauses)
        return 0
    try:
        targets = [target_named(name) for name in options.target or ("embedded", "real")]
        files = Files.of(options)
    except (ValueError, OSError) as error:
        parser().error(str(error))
    clients = {name: FLAVOURS[name] for name in options.client or ([] if options.adapter else ["sync"])}
    clients |= {command: adapter_of(command) for command in options.adapter}
    with Reporting(files, say) as run:
        return max(
            judge_target(run, target, clauses, clients, asked_for=bool(options.target), strict=options.strict)
            for target in targets
        )


def adapter_of(command: str) -> Client:
    """The client that a command is.

    Raises:
        SystemExit: there is no such command.
    """
    made = Adapter(command)
    if not made.words or shutil.which(made.words[0]) is None:
        parser().error(f"--adapter: no command {command!r} that can be run")
    return made


def chosen(suites: Sequence[str], ids: Sequence[str] | None) -> list[Clause]:
    """The clauses of some suites; with ids, only those of these ids."""
    wanted = ids or CLAUSES
    return [each for each in CLAUSES.values() if each.id in wanted and set(each.suites) & set(suites)]


def judge_target(
    run: Reporting, target: Target, clauses: Sequence[Clause], clients: Mapping[str, Client],
    *, asked_for: bool, strict: bool,
) -> int:  # fmt: skip
    found = 0
    try:
        with target.up() as address:
            say(f"{target.name} is {address.origin}")
            for client, make in clients.items():
                judged = run.judge(target.name, client, address, clauses, make)
                for line in lines(judged.name, judged.outcomes):
                    say(line)
                found |= failed(judged.outcomes, strict=strict)
    except (NotInstalledError, OSError) as error:
        run.absent(target.name, len(clauses), str(error), excused=not asked_for)
        say(f"{target.name}: {error}{'' if asked_for else '; only miniredis is judged'}")
        return 2 if asked_for else 0
    except BaseException as error:
        run.absent(target.name, len(clauses), why(error), excused=False)
        raise
    return found


def list_clauses(clauses: Sequence[Clause]) -> None:
    for clause in clauses:
        say(f"{clause.id} [{clause.level}; {', '.join(clause.suites)}; {clause.place}] {clause.text}")


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def script() -> None:
    """Runs the command as a program: told to end, it takes the servers it started along."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    sys.exit(main())
