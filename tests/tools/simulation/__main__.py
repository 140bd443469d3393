"""``python -m tests.tools.simulation``: explores the named scenarios, and shows what is wrong."""

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

from conformance.arguments import add_seed, count, one_of, output_file

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
        prog="python -m tests.tools.simulation",
        description="Explores every order in which the clients of a queue can act, and every moment at which "
        "they can die, and checks that nothing is lost, duplicated or stuck.",
        epilog="Exit status: 0 nothing is wrong, 1 a scenario goes wrong, 2 wrong arguments.",
    )
    add, known = made.add_argument, [*SCENARIOS, *HOLES]
    add(
        "--scenario", action="append", type=one_of("scenario", known, "--list"), metavar="NAME",
        help="explore only this scenario; may be repeated (default: all)",
    )  # fmt: skip
    add("--list", action="store_true", help="print the scenarios, and explore none")
    add("--plain", action="store_true", help="explore only clients that send plain commands")
    add("--scripts", action="store_true", help="explore only clients that send scripts (needs lupa)")
    add(
        "--documents", action="store_true",
        help="explore clients that follow the documents' pseudocode, and show where they fail",
    )  # fmt: skip
    add(
        "--free", action="store_true",
        help="let a wait time out at any moment, not only when no client can do anything else",
    )  # fmt: skip
    add(
        "--faults", type=count(0), metavar="N",
        help="most clients that may die in a run (default: as the scenario says)",
    )  # fmt: skip
    add(
        "--limit", type=count(1), default=2_000_000, metavar="STATES",
        help="stop a scenario after so many states (default: %(default)s)",
    )  # fmt: skip
    add("--random", type=count(1), metavar="N", help="explore N random runs of each scenario, not all states")
    add_seed(made, "the first random run")
    add(
        "--processes", type=count(1), default=1, metavar="N",
        help="number of scenarios to explore at a time (default: %(default)s)",
    )  # fmt: skip
    add(
        "--schedule", metavar="MOVES",
        help="replay one schedule of one --scenario, as a failure prints it, and draw it",
    )  # fmt: skip
    add("--svg", type=output_file, metavar="FILE", help="write the drawing to FILE, too, as SVG")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    names = options.scenario or [*(HOLES if options.documents else SCENARIOS)]
    if options.list:
        for name in names:
            say(f"{name}: {SCENARIOS[name].text if name in SCENARIOS else HOLES[name].text}")
        return 0
    if options.schedule is not None and len(options.scenario or []) != 1:
        parser().error("--schedule needs one --scenario, whose schedule it is")
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
            raise ValueError("--scripts needs lupa: pip install 'pressure-queues[lua]'")
        else:
            say(f"{name}: clients that send scripts are left out, as lupa is not installed")


def explore_all(tasks: Sequence[Task], processes: int, svg: Path | None) -> int:
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


def play(task: Task, schedule: str, svg: Path | None) -> int:
    """Plays a schedule, and draws it; the exit status."""
    game, moves = task.game(), read(schedule)
    violation = replay(game, moves, about=task.about)
    shown = violation or Violation("nothing is wrong", moves)
    draw(task, shown, svg)
    return violation is not None


def draw(task: Task, violation: Violation, svg: Path | None) -> None:
    evidence = picture(task.game(), violation)
    options = " --free" if task.free else ""
    options += "" if task.faults is None else f" --faults {task.faults}"
    say(evidence.text)
    say(
        f"again: python -m tests.tools.simulation --scenario {task.name} --{task.mode}{options} "
        f'--schedule "{written(violation.schedule)}"'
    )
    if svg is not None:
        svg.write_text(evidence.markup, encoding="utf-8")


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
