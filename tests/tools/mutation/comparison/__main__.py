"""``python -m tests.tools.mutation.comparison``: puts faults into the engine, and says how soon each is found."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from conformance.arguments import add_seed

from . import LIMIT, MUTANTS, effort_to_find


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status: 0 if every mutant was found, 1 if not."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.mutation.comparison",
        description="Puts small faults into miniredis, one at a time, and checks that the comparison with a real "
        "Redis (python -m conformance.differential) finds each.",
        epilog="Exit status: 0 every mutant was found, 1 one was not.",
    )
    add_seed(parser, "which requests are made up first")
    options = parser.parse_args(arguments)
    survivors = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        efforts = pool.map(lambda mutant: effort_to_find(mutant, options.seed), MUTANTS)
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
