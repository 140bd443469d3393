"""``python -m conformance.histories``: records what clients do at once, and judges what was recorded."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ..flavours import FLAVOURS
from ..targets import NoRealRedisError, target_named
from .judging import judged
from .model import Answer, History, Verdict, worst
from .picture import as_svg, as_text
from .processes import processes
from .records import read, write
from .runs import Plan

__all__ = ["main"]

STATUS: Final[Mapping[Answer, int]] = {"ok": 0, "illegal": 1, "unknown": 3}


def parser() -> argparse.ArgumentParser:
    made, usual = argparse.ArgumentParser(
        prog="python -m conformance.histories",
        description="Judges histories of queues and lists that were recorded in files, or records one.",
        epilog="Exit status: 0 all is explained, 1 something is illegal, 2 a file or a target is not there, "
        "3 it cannot be told.",
    ), Plan(kills=2)  # fmt: skip
    add = made.add_argument
    add("files", nargs="+", type=Path, metavar="FILE", help="JSON Lines; several are one history")
    add("--svg", type=Path, metavar="FILE", help="write the picture there")
    add(
        "--record",
        metavar="TARGET",
        help="embedded, real or a redis:// URL: record a run there first, to FILE",
    )
    add("--operations", type=int, default=usual.operations, metavar="N", help="puts, about (%(default)s)")
    add("--clients", type=int, default=4, metavar="N", help="processes, half of them put (%(default)s)")
    add("--kill", type=int, default=usual.kills, metavar="N", help="of them by kill -9 (%(default)s)")
    add("--bound", type=int, default=usual.bound, metavar="N", help="of the queue (%(default)s)")
    add("--seed", type=int, default=usual.seed, metavar="N", help="of what they do (%(default)s)")
    add("--client", choices=FLAVOURS, default="sync", help="which flavour they are (%(default)s)")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    try:
        history = recorded(options) if options.record else read(*options.files)
    except (OSError, NoRealRedisError, ValueError) as error:
        say(f"{error}")
        return 2
    verdicts = judged(history)
    verdict = worst(verdicts.values())
    tell(history, verdicts, verdict)
    if options.svg:
        options.svg.write_text(as_svg(history, verdict), encoding="utf-8")
    return STATUS[verdict.answer]


def recorded(options: argparse.Namespace) -> History:
    """A run, which goes into the first file."""
    half = max(options.clients // 2, 1)
    others = max(options.clients - half, 1)
    plan = Plan(options.operations, half, others, options.kill, options.bound, options.seed)
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


def script() -> None:
    """Runs the command as a program: told to end, it takes what it started along."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    sys.exit(main())


if __name__ == "__main__":
    script()
