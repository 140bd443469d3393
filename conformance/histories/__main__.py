"""``python -m conformance.histories``: records what clients do at once, and judges what was recorded."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ..arguments import TARGET, add_bound, add_seed, as_program, count, output_file
from ..clients.flavours import FLAVOURS
from ..targets import NotInstalledError, target_named
from .judging import judged
from .model import Answer, History, Verdict, worst
from .picture import as_svg, as_text
from .processes import processes
from .records import read, write
from .runs import Plan

__all__ = ["main"]

KILLS: Final = 2
"""How many clients are killed unless the command line says otherwise."""

STATUS: Final[Mapping[Answer, int]] = {"ok": 0, "illegal": 1, "unknown": 3}


def parser() -> argparse.ArgumentParser:
    made, usual = argparse.ArgumentParser(
        prog="python -m conformance.histories",
        description="Judges a recorded history: whether a correct queue or list can have given the results "
        "that clients got. With --record it records one first.",
        epilog="Exit status: 0 ok, 1 illegal: no correct queue or list gives these results, 2 wrong "
        "arguments, or a file or a target is not there, 3 unknown: it cannot be decided.",
    ), Plan()  # fmt: skip
    add = made.add_argument
    add(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="file in JSON Lines; several files are one history",
    )
    add("--html", type=output_file, metavar="FILE", help="draw the history to FILE, for a browser")
    add(
        "--record",
        metavar="TARGET",
        help=f"first run clients on this server, and record what they do to FILE: {TARGET}. The options "
        "below say how",
    )
    add(
        "--operations", type=count(1), default=usual.operations, metavar="N",
        help="about how many values to put (default: %(default)s)",
    )  # fmt: skip
    add(
        "--clients", type=count(2), default=4, metavar="N",
        help="number of client processes; half of them put, the others get (default: %(default)s)",
    )  # fmt: skip
    add(
        "--kill", type=count(0), metavar="N",
        help="number of clients to kill by SIGKILL; one that puts and one that gets must be left "
        f"(default: {KILLS}, or fewer if there are fewer to spare)",
    )  # fmt: skip
    add_bound(made, usual.bound)
    add_seed(made, "what the clients do", usual.seed)
    add(
        "--client", choices=FLAVOURS, default="sync",
        help="flavour of the pressure client; plain is sync without scripts (default: %(default)s)",
    )  # fmt: skip
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    spare = options.clients - 2
    if options.kill is not None and options.kill > spare:
        parser().error(
            f"--kill: of {options.clients} clients {spare} can be killed at most; "
            f"give --clients {options.kill + 2} or more"
        )
    try:
        history = recorded(options) if options.record else read(*options.files)
    except FileNotFoundError as error:
        say(f"{error.filename}: there is no such file; --record TARGET records a history to it")
        return 2
    except (OSError, NotInstalledError, ValueError) as error:
        say(f"{error}")
        return 2
    verdicts = judged(history)
    verdict = worst(verdicts.values())
    tell(history, verdicts, verdict)
    if options.html:
        options.html.write_text(as_svg(history, verdict), encoding="utf-8")
    return STATUS[verdict.answer]


def recorded(options: argparse.Namespace) -> History:
    """A run, which goes into the first file."""
    half = max(options.clients // 2, 1)
    others = max(options.clients - half, 1)
    kills = min(KILLS, options.clients - 2) if options.kill is None else options.kill
    plan = Plan(options.operations, half, others, kills, options.bound, options.seed)
    with target_named(options.record).up() as address:
        history = processes(address, plan, options.client)
    write(history, options.files[0])
    return history


def tell(history: History, verdicts: Mapping[str, Verdict], verdict: Verdict) -> None:
    """What is said of each rule, and a picture of what is not ok."""
    open_ones = sum(operation.returned is None for operation in history.operations)
    clients = len({operation.client for operation in history.operations})
    say(f"{len(history.operations):,} operations of {clients} clients, {open_ones} of them open")
    for rule, each in verdicts.items():
        say(f"  {rule}: {each.answer}{f' ({each.reason})' if each.reason else ''}")
    if verdict.answer != "ok":
        say(as_text(history, verdict))


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    as_program(main)
