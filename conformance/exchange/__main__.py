"""``python -m conformance.exchange``: messages between processes that are killed, and what became of them."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence

from ..targets import NoRealRedisError, target_named
from . import Exchange, Findings, exchanged

__all__ = ["main"]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m conformance.exchange",
        description="Sends messages from process to process, kills either one, and counts what came.",
        epilog="Exit status: 0 none is missing and the order holds, 1 something is wrong, 2 a target that "
        "was asked for is not there.",
    )
    add, usual = made.add_argument, Exchange()
    add(
        "--target", action="append", metavar="TARGET",
        help="embedded, real or a redis:// URL; several allowed (default: embedded)",
    )  # fmt: skip
    add("--messages", type=int, default=usual.messages, metavar="N", help="how many (%(default)s)")
    add("--kills", type=int, default=usual.kills, metavar="N", help="of either end in turn (%(default)s)")
    add("--bound", type=int, default=usual.bound, metavar="N", help="of the queue (%(default)s)")
    add("--seed", type=int, default=usual.seed, metavar="N", help="of the moments of the kills (%(default)s)")
    add("--force", action="store_true", help="repair by force, without the looks that take five seconds")
    add("--plain", action="store_true", help="send plain batches instead of scripts")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    try:
        targets = [target_named(name) for name in options.target or ["embedded"]]
    except ValueError as error:
        parser().error(str(error))
    if options.messages < 1:
        parser().error("there is to be one message at least")
    exchange = Exchange(
        options.messages, options.kills, options.bound, options.seed, options.force, options.plain
    )
    status = 0
    for target in targets:
        try:
            with target.up() as address:
                say(f"{target.name} is {address.origin}")
                findings = exchanged(exchange, address)
        except (NoRealRedisError, OSError) as error:
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
    yield f"{found.again} came again"
    yield from found.problems or ["none is missing, and all are in order"]


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def script() -> None:
    """Runs the command as a program: told to end, it takes what it started along."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    sys.exit(main())


if __name__ == "__main__":
    script()
