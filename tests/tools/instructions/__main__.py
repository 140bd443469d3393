"""``python -m tests.tools.instructions``: what requests cost, and with ``--accept`` what they may."""

from __future__ import annotations

import argparse

from .guard import ACCEPTED, accept, counted

__all__ = ["main"]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.instructions",
        description="Counts the bytecode instructions that the engine executes for a request.",
    )
    parser.add_argument(
        "--accept", action="store_true", help=f"write them to {ACCEPTED.name}, as what the tests allow"
    )
    costs = accept() if parser.parse_args().accept else counted()
    for name, cost in costs.items():
        print(f"{name}: {cost:g} instructions per command")


if __name__ == "__main__":
    main()
