"""``python -m tests.tools.mutation``: has mutants judged, and prints the kill rate and the survivors."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from . import report
from .bench import Bench, Benches
from .beyond import is_beyond
from .equivalent import reason_of
from .judges import JUDGES, Judge, Outcome
from .model import ROOT, Mutant
from .operators import mutants_of
from .written import COMPARED, CONVICTED, WRITTEN, clauses_without_mutant

PACKAGES: Final = (
    "miniredis.engine.commands",
    "miniredis.engine.clients.waiting",
    "pressure.protocol",
    "pressure.kinds",
)
"""What is mutated unless told otherwise."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m tests.tools.mutation",
        description="Puts small faults into our packages, one at a time, and prints which of them the judge does not "
        "convict: the suite, the project's tests, or the comparison with a real Redis.",
        epilog="Exit status: 0 if at least the share --least was convicted, each mutant written by hand by exactly the "
        "clauses that it names, and if every clause convicts a mutant; 1 if not.",
    )
    made.add_argument("--judge", choices=JUDGES, default="suite", help="who judges (default: suite)")
    made.add_argument("--package", action="append", metavar="PACKAGE",
                      help="only mutants of this package or module; several allowed (default of generated "
                      f"mutants: {', '.join(PACKAGES)})")  # fmt: skip
    made.add_argument(
        "--sample", type=int, metavar="N", help="only so many generated mutants, as many of each package"
    )
    made.add_argument(
        "--seed", type=int, default=0, help="which ones, such as the day, 20261124 (default: 0)"
    )
    made.add_argument(
        "--seconds", type=float, default=float("inf"), help="begin no other mutant so many after the first"
    )
    made.add_argument(
        "--least", type=float, default=0.98, help="share that must be convicted (default: 0.98)"
    )
    made.add_argument("--processes", type=int, default=4, help="mutants at a time (default: 4)")
    which = made.add_mutually_exclusive_group()
    which.add_argument("--written", action="store_true", help="only mutants written by hand")
    which.add_argument("--generated", action="store_true", help="only generated mutants")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    mutants: list[Mutant] = []
    if not options.generated:
        mutants += (each for each in written(options.judge) if is_of(each.file, options.package or [""]))
    if not options.written:
        some = asked(options.judge, options.package or PACKAGES)
        mutants += sample(some, options.sample, options.seed) if options.sample else some
    equivalent = Counter(reason for each in mutants if each.at is not None and (reason := reason_of(each)))
    mutants = [each for each in mutants if each.at is None or reason_of(each) is None]
    judge: Judge = JUDGES[options.judge]()
    with Benches(options.processes) as benches:
        outcomes = dict(judged(mutants, judge, benches, options.seconds))
    for line in report.lines(outcomes):
        say(line)
    say(
        f"equivalent, not judged: {equivalent.total()}; not tried for want of time: {len(mutants) - len(outcomes)}"
    )
    wrong = list(disagreements(options.judge, outcomes))
    if options.judge == "suite" and outcomes.keys() >= set(written("suite")):
        wrong += clauses_without_mutant(name for each in outcomes.values() for name in each.convicted)
    for line in wrong:
        say(line)
    return int(bool(wrong) or not outcomes or report.rate(list(outcomes.values())) < options.least)


def written(judge: str) -> Iterable[Mutant]:
    """The mutants written by hand that a judge must convict."""
    return COMPARED if judge == "comparison" else WRITTEN if judge == "tests" else CONVICTED


def is_of(file: str, packages: Iterable[str]) -> bool:
    """Whether a file belongs to one of these packages, or is one of these modules."""
    return any(
        f"{file.removesuffix('.py')}/".startswith(f"{each.replace('.', '/')}/" if each else "")
        for each in packages
    )


def generated(packages: Iterable[str]) -> list[Mutant]:
    """All generated mutants of packages or modules."""
    tops = ("miniredis", "pressure")
    files = sorted(str(path.relative_to(ROOT)) for top in tops for path in (ROOT / top).rglob("*.py"))
    return [mutant for file in files if is_of(file, packages) for mutant in mutants_of(file)]


def asked(judge: str, packages: Iterable[str]) -> list[Mutant]:
    """The generated mutants of packages or modules that a judge is asked about."""
    found = generated(packages)
    return [each for each in found if not is_beyond(each)] if judge == "suite" else found


def sample(mutants: Sequence[Mutant], number: int, seed: int) -> list[Mutant]:
    """So many of them, as many of each package; the same for the same seed."""
    shuffled = random.Random(seed).sample(mutants, len(mutants))  # noqa: S311  (a sample)
    turn = Counter[str]()
    places = []
    for at, each in enumerate(shuffled):
        turn[each.package] += 1
        places.append((turn[each.package], at))
    return [shuffled[at] for _, at in sorted(places)[:number]]


def judged(
    mutants: Sequence[Mutant], judge: Judge, benches: Benches, seconds: float
) -> Iterator[tuple[Mutant, Outcome]]:
    """What became of each mutant that there was time for."""
    if any(not each.clauses for each in mutants):
        judge.record(benches, {each.file for each in mutants})
    end = time.monotonic() + seconds

    def tried(mutant: Mutant) -> Outcome | None:
        def work(bench: Bench) -> Outcome | None:
            return judge.judge(bench, mutant) if time.monotonic() < end else None

        return benches.with_bench(work)

    for number, (mutant, outcome) in enumerate(
        zip(mutants, benches.pool.map(tried, mutants), strict=True), 1
    ):
        if outcome is not None:
            found = "; ".join(f"{name}: {why[:100]!r}" for name, why in outcome.convicted.items())
            say(f"{number}/{len(mutants)} {mutant.place}: {found or 'not convicted'}")
            yield mutant, outcome


def disagreements(judge: str, outcomes: dict[Mutant, Outcome]) -> Iterator[str]:
    """The mutants written by hand for this judge that it does not convict, or by something else than they name."""
    for mutant in written(judge) if judge != "tests" else ():
        if mutant in outcomes:
            names, found = set(mutant.clauses) if judge == "suite" else {judge}, outcomes[mutant].convicted
            if found.keys() != names:
                yield f"{mutant.name}: must be convicted by {', '.join(names)}; is by {', '.join(found) or 'none'}"


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
