"""``python -m tests.tools.mutation.lines waiting|protocol|execution``: tries every change, and says which no test notices."""

from __future__ import annotations

import argparse
import json
import queue
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from . import report
from .equivalent import reason_of
from .harmless import kind_of
from .mapping import map_reach
from .mutants import Mutant, mutants_of
from .subjects import SUBJECTS
from .trial import Bench, Outcome

__all__ = ["main"]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m tests.tools.mutation.lines",
        description="Tries every small change to some files, and says which of them no test notices.",
        epilog="Exit status: 0 if at least the share --least was noticed, 1 if not.",
    )
    made.add_argument("subject", choices=SUBJECTS)
    made.add_argument("--file", action="append", help="only this file of the subject; several allowed")
    made.add_argument("--limit", type=int, help="only so many changes of each file")
    made.add_argument("--processes", type=int, default=2, help="how many changes at once (default: 2)")
    made.add_argument("--seconds", type=float, default=20.0, help="of tests for a change (default: 20)")
    made.add_argument("--least", type=float, default=0.95, help="share to be noticed (default: 0.95)")
    made.add_argument("--reach", type=Path, help="which tests come by which lines; made if it is not there")
    made.add_argument("--out", type=Path, help="what became of each change, a line of JSON for each")
    made.add_argument("--resume", action="store_true", help="go on with what --out has")
    made.add_argument(
        "--again", action="store_true", help="the same, and try those anew that no test noticed"
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    subject = SUBJECTS[options.subject]
    mutants, left_out = chosen(options.file or subject.files, options.limit)
    outcomes = known(options) if options.resume or options.again else {}
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        reached = map_reach(subject, options.reach or Path(folder) / "reach", options.processes)
        out = options.out or Path(folder) / "out"
        todo = [each for each in mutants if each.name not in outcomes and reason_of(each) is None]
        benches = [Bench(subject, reached, options.seconds) for _ in range(options.processes)]
        outcomes |= try_all(todo, benches, out)
    outcomes |= {
        each.name: Outcome("survived", "", 0, 0.0) for each in mutants if reason_of(each) is not None
    }
    for line in report.lines(mutants, left_out, outcomes):
        say(line)
    counted = [each for each in mutants if reason_of(each) is None]
    killed = sum(each.name in outcomes and report.noticed(outcomes[each.name]) for each in counted)
    return int(killed < options.least * len(counted))


def chosen(files: Sequence[str], limit: int | None) -> tuple[list[Mutant], Counter[str]]:
    """The changes of files, without those that cannot make a difference, which are counted."""
    mutants, left_out = [], Counter[str]()
    for file in files:
        kinds = [(each, kind_of(each)) for each in mutants_of(file)]
        left_out.update(kind for _, kind in kinds if kind is not None)
        mutants += [each for each, kind in kinds if kind is None][:limit]
    return mutants, left_out


def known(options: argparse.Namespace) -> dict[str, Outcome]:
    """What became of changes in an earlier run."""
    lines = options.out.read_text().splitlines() if options.out and options.out.exists() else []
    outcomes = {(row := json.loads(line)).pop("name"): Outcome(**row) for line in lines}
    if options.again:
        return {name: outcome for name, outcome in outcomes.items() if report.noticed(outcome)}
    return outcomes


def try_all(mutants: Sequence[Mutant], benches: Sequence[Bench], out: Path) -> dict[str, Outcome]:
    """Tries changes, each bench one at a time."""
    todo: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for each in sorted(mutants, key=lambda each: not each.alone):  # those that take long at the end
        todo.put(each)
    outcomes: dict[str, Outcome] = {}
    lock = threading.Lock()

    def work(bench: Bench) -> None:
        with bench:
            while True:
                try:
                    mutant = todo.get_nowait()
                except queue.Empty:
                    return
                outcome = bench.try_out(mutant)
                with lock, out.open("a") as file:
                    outcomes[mutant.name] = outcome
                    file.write(json.dumps({"name": mutant.name, **asdict(outcome)}) + "\n")
                    say(progress(len(outcomes), len(mutants), mutant, outcome))

    threads = [threading.Thread(target=work, args=(bench,)) for bench in benches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def progress(number: int, of: int, mutant: Mutant, outcome: Outcome) -> str:
    what = f"{outcome.verdict} in {outcome.seconds} s by {outcome.test or 'none'}"
    return f"{number}/{of} {mutant.file}:{mutant.line} {mutant.becomes}: {what}"


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
