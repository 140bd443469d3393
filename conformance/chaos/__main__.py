"""``python -m conformance.chaos``: kills and cuts off the clients of a queue, and judges what came of it."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from ..arguments import amount, count
from ..targets import NoRealRedisError
from .run import Plan, run

__all__ = ["main"]


def parser() -> argparse.ArgumentParser:
    made, usual = argparse.ArgumentParser(
        prog="python -m conformance.chaos",
        description="Runs producers and consumers, in all flavours, on a redis-server with a replica; kills "
        "(SIGKILL), freezes (SIGSTOP), disconnects (CLIENT KILL) and cuts off workers at random; starts the "
        "server again, and has the replica take over, in turn; then says whether a message was lost.",
        epilog="Exit status: 0 all is well, 1 something is not, 2 wrong arguments, or no redis-server.",
    ), Plan()  # fmt: skip
    add = made.add_argument
    add(
        "--messages",
        type=count(1),
        default=usual.messages,
        metavar="N",
        help="how many are put (%(default)s)",
    )
    add(
        "--seconds", type=amount, default=usual.seconds, metavar="S",
        help="in how many seconds they are put, if all goes well (%(default)s)",
    )  # fmt: skip
    add(
        "--workers",
        type=count(2),
        default=usual.workers,
        metavar="N",
        help="processes; half of them put (%(default)s)",
    )
    add(
        "--lease",
        type=amount,
        default=usual.lease,
        metavar="S",
        help="of the workers, in seconds (%(default)s)",
    )
    add(
        "--pause", type=amount, default=usual.pause, metavar="S",
        help="seconds from one blow to the next, on average (%(default)s)",
    )  # fmt: skip
    add(
        "--swaps", type=count(0), default=usual.swaps, metavar="N",
        help="how often the server is started again, or another takes over (%(default)s)",
    )  # fmt: skip
    add(
        "--seed", type=int, default=usual.seed, metavar="N", help="decides what is done to whom (%(default)s)"
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    given = parser().parse_args(arguments)
    try:
        findings = run(Plan(**vars(given)))
    except NoRealRedisError as error:
        say(str(error))
        return 2
    except (RuntimeError, TimeoutError) as error:
        say("\n".join((f"WRONG: {error}", *getattr(error, "__notes__", ()))))
        return 1
    say(str(findings))
    return 1 if findings.wrong else 0


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    sys.exit(main())
