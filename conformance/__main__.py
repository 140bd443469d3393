"""``python -m conformance``: judges miniredis and a real Redis, with our client, by every clause."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence

from .adapter import Adapter
from .clauses import CLAUSES, SUITES, Clause
from .environment import Client
from .flavours import FLAVOURS
from .reports import Files, Reporting, failed, lines, why
from .targets import TARGETS, NotInstalledError, Target, target_named

__all__ = ["main"]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m conformance",
        description="Judges servers and the pressure client by every clause of the documents.",
        epilog="Exit status: 0 all clauses hold, 1 some do not, 2 a target that was asked for is not there.",
    )
    made.add_argument(
        "--target", action="append", metavar="TARGET",
        help=f"{', '.join(TARGETS)}, a redis:// URL, or a program like redis-server as PATH or NAME=PATH; "
        "several allowed (default: embedded and real)",
    )  # fmt: skip
    made.add_argument(
        "--client", action="append", choices=FLAVOURS,
        help="which flavour of the pressure client; several allowed (default: sync)",
    )  # fmt: skip
    made.add_argument(
        "--adapter", action="append", metavar="COMMAND", default=[],
        help="a program that is a client, as pydoc conformance.adapter says; several allowed",
    )  # fmt: skip
    made.add_argument("--suite", action="append", choices=SUITES, help="only this suite; several allowed")
    made.add_argument(
        "--clause", action="append", choices=CLAUSES, metavar="ID", help="only this clause; several allowed"
    )
    Files.add_options(made)
    made.add_argument("--list", action="store_true", help="print the clauses, and judge nothing")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    suites = options.suite or list(SUITES)
    clauses = chosen(suites, options.clause)
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
            judge_target(run, target, clauses, clients, asked_for=bool(options.target)) for target in targets
        )


def adapter_of(command: str) -> Client:
    """The client that a command is.

    Raises:
        SystemExit: there is no such command.
    """
    made = Adapter(command)
    if not made.words or shutil.which(made.words[0]) is None:
        parser().error(f"no command {command!r} that can be run")
    return made


def chosen(suites: Sequence[str], ids: Sequence[str] | None) -> list[Clause]:
    """The clauses of the suites, or of them those with some ids."""
    wanted = ids or CLAUSES
    return [each for each in CLAUSES.values() if each.id in wanted and set(each.suites) & set(suites)]


def judge_target(
    run: Reporting, target: Target, clauses: Sequence[Clause], clients: Mapping[str, Client],
    *, asked_for: bool,
) -> int:  # fmt: skip
    found = 0
    try:
        with target.up() as address:
            say(f"{target.name} is {address.origin}")
            for client, make in clients.items():
                judged = run.judge(target.name, client, address, clauses, make)
                for line in lines(judged.name, judged.outcomes):
                    say(line)
                found |= failed(judged.outcomes)
    except (NotInstalledError, OSError) as error:
        run.absent(target.name, len(clauses), str(error), excused=not asked_for)
        say(f"{target.name}: {error}{'' if asked_for else '; miniredis alone is judged'}")
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


if __name__ == "__main__":
    script()
