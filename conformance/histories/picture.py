"""A history as a picture: a lane for each client, a bar for each operation, and where it goes wrong.

As text the lanes go down, a line for each beginning and end. As a drawing they go from left to right, and
every beginning or end is one step: what took long is no longer than what happened in the meantime. Marks,
patterns and words say what is what, and no colour does. Every bar can be focused, and has a title with all
that is known of it.
"""

from __future__ import annotations

from ..failure import Evidence
from .drawing import drawn
from .model import History, Operation, Verdict
from .scene import MOST, NEAR, Scene, scene_of

__all__ = ["as_svg", "as_text", "evidence"]

MOST_TEXT = 40
"""Operations in a text at most."""

_WIDTH = 24


def said(verdict: Verdict) -> str:
    """A verdict as a sentence."""
    return ": ".join(word for word in (verdict.answer, verdict.violation, verdict.reason) if word)


def as_text(history: History, verdict: Verdict, most: int = MOST_TEXT) -> str:
    """A history as text: a column for each client, time goes down."""
    scene = scene_of(history, verdict, most)
    lines = [said(verdict), *(f"  {operation}" for operation in verdict.operations[:NEAR])]
    if scene.left_out:
        lines.append(f"{scene.left_out} other operations are not shown")
    lines.append(" " * 14 + "".join(client[: _WIDTH - 1].ljust(_WIDTH) for client in scene.clients))
    return "\n".join([*lines, *(_line(scene, moment) for moment in scene.moments)])


def _line(scene: Scene, moment: int) -> str:
    cells = (_cell(scene, client, moment).ljust(_WIDTH) for client in scene.clients)
    return f"{(moment - scene.moments[0]) / 1000:11,.1f} µs {''.join(cells)}".rstrip()


def _cell(scene: Scene, client: str, moment: int) -> str:
    """What a client does at a moment."""
    cell = ""
    for operation in scene.operations:
        if operation.client != client or operation.invoked > moment:
            continue
        until = scene.until(operation)
        mark = "!" if operation in scene.concerned else ""
        if operation.invoked == moment:
            number = f"#{scene.numbers[operation]} " if operation in scene.numbers else ""
            return f"┌{mark}{number}{_short(operation)}"[: _WIDTH - 1]
        if operation.returned == moment:
            cell = f"└{mark}{operation.ending}"[: _WIDTH - 1]
        elif until is None or moment < until:
            cell = "?" if operation.returned is None else _bar(scene, operation, moment)
    return cell


def _bar(scene: Scene, operation: Operation, moment: int) -> str:
    return "┊" if moment < scene.blocked_until(operation) else "│"


def _short(operation: Operation) -> str:
    return str(operation).partition(": ")[2].partition(" -> ")[0]


def as_svg(history: History, verdict: Verdict, most: int = MOST) -> str:
    """A history as a fragment of HTML with a drawing in it, which needs nothing else."""
    return drawn(scene_of(history, verdict, most), said(verdict))


def evidence(history: History, verdict: Verdict, title: str = "the history") -> Evidence:
    """What a failure has to show: the place where it goes wrong."""
    return Evidence(title, as_text(history, verdict), as_svg(history, verdict))
