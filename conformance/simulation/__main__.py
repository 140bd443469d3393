"""``python -m conformance.simulation``: explores the named scenarios, and shows what is wrong."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from .documents import HOLES
from .drawing import picture
from .explore import Violation, replay
from .scenarios import LARGE, SCENARIOS
from .schedules import read, written
from .tasks import HEAD, Task, explored

__all__ = ["main"]

RUNS: Final = 300
"""How many runs by luck there are of what is too large to be known whole."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m conformance.simulation",
        description="Explores every way in which the clients of a queue can come between each other and die.",
        epilog="Exit status: 0 nothing is wrong, 1 something is, 2 the arguments are.",
    )
    add, known = made.add_argument, [*SCENARIOS, *HOLES]
    add("--scenario", action="append", choices=known, metavar="NAME", help="only this one; several allowed")
    add("--list", action="store_true", help="print the scenarios, and explore none")
    add("--plain", action="store_true", help="only clients that send plain batches")
    add("--scripts", action="store_true", help="only clients that have the server run scripts")
    add(
        "--documents", action="store_true", help="clients from the documents' pseudocode, and where they fail"
    )
    add("--free", action="store_true", help="let any wait end at any moment, not only when nobody can go on")
    add("--faults", type=int, metavar="N", help="how many clients may die (default: as the scenario says)")
    add("--limit", type=int, default=2_000_000, metavar="STATES", help="stop there (%(default)s)")
    add("--random", type=int, metavar="N", help="N runs by luck each, instead of all states")
    add("--seed", type=int, default=0, metavar="N", help="of the first of those runs (%(default)s)")
    add("--processes", type=int, default=1, metavar="N", help="how many scenarios at a time (%(default)s)")
    add("--schedule", metavar="MOVES", help="play this one schedule of the one scenario, and draw it")
    add("--svg", metavar="FILE", help="write what is drawn there, too")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    names = options.scenario or [*(HOLES if options.documents else SCENARIOS)]
    if options.list:
        for name in names:
            say(f"{name}: {SCENARIOS[name].text if name in SCENARIOS else HOLES[name].text}")
        return 0
    try:
        tasks = list(tasks_of(options, names))
        if options.schedule is not None:
            return play(tasks[0], options.schedule, options.svg)
    except ValueError as error:
        parser().error(str(error))
    return explore_all(tasks, options.processes, options.svg)


def tasks_of(options: argparse.Namespace, names: Sequence[str]) -> Iterator[Task]:
    for name in names:
        for mode in modes_of(options, name):
            runs = options.random
            if runs is None:
                runs = RUNS if name in {scenario.name for scenario in LARGE} else 0
            yield Task(name, mode, options.faults, options.free, options.limit, runs, options.seed)


def modes_of(options: argparse.Namespace, name: str) -> Iterator[str]:
    if name in HOLES:  # the documents know no scripts
        yield "plain"
        return
    if options.plain or not options.scripts:
        yield "plain"
    if options.scripts or not options.plain:
        if find_spec("lupa") is not None:
            yield "scripts"
        elif options.scripts:
            raise ValueError("scripts need lupa: pip install pressure-queues[lua]")
        else:
            say(f"{name}: scripts need lupa, which is not installed; plain batches alone are explored")


def explore_all(tasks: Sequence[Task], processes: int, svg: str | None) -> int:
    """Explores each, prints a row for each, and draws what is wrong; the exit status."""
    say(HEAD)
    status = 0
    with ExitStack() as stack:
        results: Iterable[tuple[str, Violation | None]] = map(explored, tasks)
        if processes > 1:
            pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
            results = stack.enter_context(pool).map(explored, tasks)
        for task, (row, violation) in zip(tasks, results, strict=True):
            say(row)
            if violation is not None:
                status = 1
                draw(task, violation, svg)
    return status


def play(task: Task, schedule: str, svg: str | None) -> int:
    """Plays a schedule, and draws it; the exit status."""
    game, moves = task.game(), read(schedule)
    violation = replay(game, moves, about=task.about)
    shown = violation or Violation("nothing is wrong", moves)
    draw(task, shown, svg)
    return violation is not None


def draw(task: Task, violation: Violation, svg: str | None) -> None:
    evidence = picture(task.game(), violation)
    options = " --free" if task.free else ""
    options += "" if task.faults is None else f" --faults {task.faults}"
    say(evidence.text)
    say(
        f"again: python -m conformance.simulation --scenario {task.name} --{task.mode}{options} "
        f'--schedule "{written(violation.schedule)}"'
    )
    if svg is not None:
        Path(svg).write_text(evidence.markup, encoding="utf-8")


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
