"""``python -m tests.tools.exchange``: messages between processes that are killed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from conformance.arguments import add_bound, add_seed, add_target, as_program, count
from conformance.targets import NotInstalledError, target_named

from . import Exchange, Findings, exchanged

__all__ = ["main"]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m tests.tools.exchange",
        description="Sends numbered messages over a queue from one process to another, kills either process "
        "now and then, and checks that no message is lost or out of order.",
        epilog="Exit status: 0 no message is lost or out of order, 1 one is, 2 wrong arguments, or a target "
        "that was asked for is not there.",
    )
    add, usual = made.add_argument, Exchange()
    add_target(made, several=True)
    add(
        "--messages", type=count(1), default=usual.messages, metavar="N",
        help="number of messages to send (default: %(default)s)",
    )  # fmt: skip
    add(
        "--kills", type=count(0), default=usual.kills, metavar="N",
        help="number of kills, of the producer and the consumer in turn (default: %(default)s)",
    )  # fmt: skip
    add_bound(made, usual.bound)
    add_seed(made, "when the kills happen", usual.seed)
    add(
        "--force", action="store_true",
        help="after a kill, repair the queue at once, without watching the killed process's role for five "
        "seconds first",
    )  # fmt: skip
    add("--plain", action="store_true", help="use clients that send plain commands instead of scripts")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    try:
        targets = [target_named(name) for name in options.target or ["embedded"]]
    except ValueError as error:
        parser().error(str(error))
    exchange = Exchange(
        options.messages, options.kills, options.bound, options.seed, options.force, options.plain
    )
    status = 0
    for target in targets:
        try:
            with target.up() as address:
                say(f"{target.name} is {address.origin}")
                findings = exchanged(exchange, address)
        except (NotInstalledError, OSError) as error:
            say(f"{target.name}: {error}")
            return 2
        for line in told(exchange, findings):
            say(line)
        status |= bool(findings.problems)
    return status


def told(exchange: Exchange, found: Findings) -> Iterator[str]:
    """What came of it, for people."""
    rate = found.came / found.seconds if found.seconds else 0.0
    killed = ", ".join(f"the {role} {count} times" for role, count in found.kills.items())
    yield (
        f"{exchange.messages:,} messages over a bound of {exchange.bound:,} in {found.seconds:.1f} s "
        f"({rate:,.0f} a second); killed: {killed}"
    )
    if found.repairs:
        what = "; ".join(f"{kind}: {count}" for kind, count in sorted(found.repaired.items()))
        longest = max(found.repairs)
        yield f"{len(found.repairs)} repairs, {longest:.1f} s the longest: {what or 'nothing to repair'}"
    yield f"{found.again} messages were delivered again"
    yield from found.problems or ["no message is missing, and all are in order"]


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    as_program(main)
