"""What miniredis does in one tick of its loop, and the module of each step.

A test runs a real tick, in which a client pushes what another one waits for, and sees that these modules are
entered in this order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from conformance.bench import svg

from .shapes import arrow, upright

__all__ = ["STEPS", "Step", "make"]

TOP, HIGH, GAP = 84, 72, 16
"""Where the first step is, how high each is, and how far apart; in units."""

LEFT, RIGHT = 20, svg.WIDTH - 64


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a tick.

    Attributes:
        title: what is done.
        module: where, below the package.
        more: a line about it.
        repeated: it is done for each request.
    """

    title: str
    module: str
    more: str
    repeated: bool = False


STEPS: Final = (
    Step("Wait for sockets", "network/poll_loop.py", "One Trio task waits for all of them."),
    Step("Read what has arrived", "network/connection.py", "Once from each readable socket."),
    Step("Parse requests", "engine/protocol/requests.py", "Malformed ones get Redis's own error."),
    Step("Check and run each command", "engine/call.py", "Refused, queued by MULTI, or run.", repeated=True),
    Step(
        "Change keys",
        "engine/keyspace/keyspace.py",
        "WATCH, tracking and key events hear of it.",
        repeated=True,
    ),
    Step(
        "Serve blocked clients",
        "engine/clients/waiting.py",
        "Who has waited longest comes first.",
        repeated=True,
    ),
    Step("Do what is due", "engine/timers.py", "Timeouts, expired keys, unblocked clients."),
    Step("Send all replies", "network/connection.py", "After all requests of the tick have run."),
)


def make() -> bytes:
    """The picture."""
    height = TOP + (HIGH + GAP) * len(STEPS) + 8
    said = " ".join(f"{number}. {step.title}. {step.more}" for number, step in enumerate(STEPS, 1))
    return svg.document("One tick of miniredis", said, height, drawn()).encode()


def drawn() -> Iterator[str]:
    yield svg.text(LEFT, 36, "One tick of the server", 22, "ink bold")
    yield svg.text(LEFT, 64, "on one thread, from requests to replies", 17, "soft")
    for place, step in enumerate(STEPS):
        yield from drawn_step(step, place)
    repeated = [place for place, step in enumerate(STEPS) if step.repeated]
    yield from back(repeated[-1], repeated[0], 22, "next request", "good")
    yield from back(len(STEPS) - 1, 0, 46, "next tick", "soft")


def drawn_step(step: Step, place: int) -> Iterator[str]:
    """A box with its number, and the way to it from the one above."""
    y = top(place)
    if place:
        yield arrow([(LEFT + 30, y - GAP), (LEFT + 30, y)])
    yield svg.box(LEFT, y, RIGHT - LEFT, HIGH, "panel", "good" if step.repeated else "rule", 6)
    yield svg.text(LEFT + 12, y + 22, f"{place + 1}  {step.title}", 18, "ink bold")
    yield svg.text(LEFT + 12, y + 43, step.more, 16)
    yield svg.text(LEFT + 12, y + 63, step.module, 15, "soft", face="mono")


def back(start: int, end: int, out: float, words: str, colour: str) -> Iterator[str]:
    """The way back from one step to an earlier one, to the right of them, with words along it."""
    x, low, high = RIGHT + out, top(start) + HIGH / 2, top(end) + HIGH / 2
    yield arrow([(RIGHT, low), (x, low), (x, high), (RIGHT, high)], colour)
    yield upright(x - 6, (low + high) / 2, words, 16, f"{colour} bold")


def top(place: int) -> float:
    """Where a step begins."""
    return TOP + (HIGH + GAP) * place
