"""``python -m tests.tools.chaos``: kills and cuts off the clients of a queue, and judges what came of it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Final

from conformance.arguments import amount, as_program, count
from conformance.targets import NoRealRedisError

from .run import Plan, run

__all__ = ["main"]


#: The options, called as the fields of ``Plan``, which has their defaults: type, name of the value, and help.
OPTIONS: Final[dict[str, tuple[Callable[[str], float], str, str]]] = {
    "messages": (count(1), "N", "how many are put"),
    "seconds": (amount, "S", "in how many seconds they are put, if all goes well"),
    "workers": (count(2), "N", "processes; half of them put"),
    "lease": (amount, "S", "of the workers, in seconds"),
    "pause": (amount, "S", "seconds from one blow to the next, on average"),
    "swaps": (count(0), "N", "how often the server is started again, or another takes over"),
    "seed": (int, "N", "decides what is done to whom"),
}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m tests.tools.chaos",
        description="Runs producers and consumers, in all flavours, on a redis-server with a replica; kills "
        "(SIGKILL), freezes (SIGSTOP), disconnects (CLIENT KILL) and cuts off workers at random; starts the "
        "server again, and has the replica take over, in turn; then says whether a message was lost.",
        epilog="Exit status: 0 all is well, 1 something is not, 2 wrong arguments, or no redis-server.",
    )
    for name, (type_, value, text) in OPTIONS.items():
        made.add_argument(
            f"--{name}", type=type_, default=getattr(Plan(), name), metavar=value,
            help=f"{text} (default: %(default)s)",
        )  # fmt: skip
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
    print(line, flush=True)


if __name__ == "__main__":
    as_program(main)
