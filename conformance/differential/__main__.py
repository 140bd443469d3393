"""``python -m conformance.differential``: miniredis and a real Redis, request by request."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from ..targets import NoRealRedisError, real_redis
from ..wire import RawConnection
from .coverage import Coverage, all_names
from .grammar import LEFT_OUT, Form, read_forms
from .mutants import LIMIT, MUTANTS, effort_to_find
from .pair import Pair
from .report import transcript
from .rival import RIVALS
from .search import Found, search
from .tolerated import TOLERATED

EXAMPLES: Final = 10
"""Conversations of one seed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status: 0 if nothing differed, or if every mutant was found."""
    options = read_options(arguments)
    if options.mutants:
        return try_mutants(options.seed)
    try:
        with real_redis() as address, RawConnection(address.host, address.port) as server:
            forms = read_forms(server, chosen(options))
        with RIVALS[options.against]() as rival:
            print(f"miniredis beside {rival.origin}")
            coverage, used = Coverage(), Counter[str]()
            pair = Pair(rival, coverage, used)
            found = look(pair, forms, options)
            pair.close()
    except NoRealRedisError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(summary(coverage, used, [form.name for form in forms])))
    if found:
        print(f"\nThey differ:\n\n{transcript(found)}")
    return int(found is not None)


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m conformance.differential", description=__doc__)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, help="how long to look")
    length.add_argument("--commands", type=int, help="how many requests to send (20000 unless told)")
    parser.add_argument(
        "--seed", type=int, default=0, help="where to begin; one seed, one set of conversations"
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="COMMAND", help="only these")
    parser.add_argument("--without", nargs="+", default=[], metavar="COMMAND", help="all but these")
    parser.add_argument(
        "--against", choices=RIVALS, default="redis-server",
        help="a real server, or miniredis again behind one of its loops, which must change nothing",
    )  # fmt: skip
    parser.add_argument("--as-found", action="store_true", help="do not shorten what differs")
    parser.add_argument(
        "--mutants", action="store_true", help="see that every kept fault of the engine is found"
    )
    options = parser.parse_args(arguments)
    options.commands = options.commands or (0 if options.minutes else 20_000)
    return options


def chosen(options: argparse.Namespace) -> list[str]:
    names = [name for name in all_names() if name not in LEFT_OUT and name not in options.without]
    return [name for name in names if name in options.only] if options.only else names


def look(pair: Pair, forms: Sequence[Form], options: argparse.Namespace) -> Found | None:
    """Goes from seed to seed until something differs, or there was enough."""
    began = time.monotonic()
    progress = Progress(began, (options.minutes or 0) * 60, options.commands)
    number = options.seed
    while not progress.is_over(pair.coverage.total):
        found = search(
            pair,
            forms,
            number=number,
            examples=EXAMPLES,
            shorten=not options.as_found,
            tick=lambda: progress.show(pair.coverage.total),
        )
        if found:
            progress.end()
            return found
        number += 1
    progress.end()
    return None


class Progress:
    """A line that tells how far it is."""

    def __init__(self, began: float, seconds: float, requests: int) -> None:
        self.began = began
        self.seconds = seconds
        self.requests = requests
        self.shown = 0.0

    def is_over(self, sent: int) -> bool:
        """Whether there was enough."""
        return self.part(sent) >= 1

    def part(self, sent: int) -> float:
        """How much of it is done, from 0 to 1."""
        if self.seconds:
            return (time.monotonic() - self.began) / self.seconds
        return sent / self.requests

    def show(self, sent: int) -> None:
        """Writes the line anew, not too often."""
        if not sys.stderr.isatty() or time.monotonic() - self.shown < 0.2:
            return
        self.shown = time.monotonic()
        done = min(self.part(sent), 1.0)
        bar = ("#" * int(done * 30)).ljust(30)
        rate = sent / (self.shown - self.began)
        print(f"\r[{bar}] {done:4.0%}  {sent:,} requests, {rate:,.0f}/s ", end="", file=sys.stderr)

    def end(self) -> None:
        """Leaves the line."""
        if sys.stderr.isatty():
            print(file=sys.stderr)


def summary(coverage: Coverage, used: Counter[str], names: Sequence[str]) -> Iterable[str]:
    """The table of what was tried, what was let pass, and what is missing."""
    yield from coverage.lines(names)
    gaps = list(coverage.gaps(names))
    yield f"\n{coverage.total:,} requests, {len(names)} commands; not tried: " + (
        ", ".join(f"{name} {outcome}" for name, outcome in gaps) or "nothing"
    )
    yield "let pass: " + ", ".join(f"{row.name} {used[row.name]}" for row in TOLERATED)


def try_mutants(seed: int) -> int:
    survivors = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        efforts = pool.map(lambda mutant: effort_to_find(mutant, seed), MUTANTS)
        for mutant, effort in zip(MUTANTS, efforts, strict=True):
            survivors += effort is None
            told = (
                f"found after {effort.requests:,} requests, {effort.seconds:.1f} s" if effort else "not found"
            )
            print(f"{mutant.name}: {told}", flush=True)
    print(f"{len(MUTANTS) - survivors} of {len(MUTANTS)} found within {LIMIT:,} requests")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
