"""``python -m tests.tools.mutation.clauses``: tries every mutant, and prints the clauses that convict none."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from conformance.documents import CLAUSES

from . import PARTIES, Court, unconvicting


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.mutation.clauses",
        description="Has the suite judge each mutant by the clauses that are to convict it, and prints the clauses "
        "that convict none.",
        epilog="Exit status: 0 every clause convicts a mutant, 1 not so.",
    )
    parser.add_argument("--table", action="store_true", help="believe the table, and try no mutant")
    options = parser.parse_args(arguments)
    missing = unconvicting(of_table() if options.table else tried())
    for clause in missing:
        print(f"{clause} convicts no mutant: {CLAUSES[clause].text}")
    print(f"{len(CLAUSES) - len(missing)} of {len(CLAUSES)} clauses convict a mutant")
    return int(bool(missing))


def of_table() -> set[str]:
    """The clauses by which the table expects convictions."""
    return {clause for party in PARTIES for clause in party.clauses}


def tried() -> set[str]:
    """The clauses by which mutants were convicted."""
    convicts: set[str] = set()
    with Court() as court, ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        for party, found in zip(PARTIES, pool.map(court.convicted_of, PARTIES), strict=True):
            print(f"{party.name}: {', '.join(found) or 'not convicted'}", flush=True)
            convicts |= found.keys()
    return convicts


if __name__ == "__main__":
    sys.exit(main())
