"""A schedule as a picture: a column for each client, each batch with what it was answered.

As text the batches stand below each other, in the order in which they were sent; as SVG in columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from conformance.failure import Evidence

from .clients import Error
from .explore import Violation
from .moves import Game, Move, State
from .schedules import written
from .servers import Refusal

__all__ = ["DrawnMove", "drawn_moves", "picture"]

WIDE: Final = 300
"""Pixels of a column."""
LINE: Final = 14
"""Pixels of a line."""
LONGEST: Final = 44
"""Characters of a line."""


@dataclass(frozen=True, slots=True)
class DrawnMove:
    """What happened in a move.

    Attributes:
        move: the move.
        column: whose it is.
        lines: what was sent, and what it was answered.
        woken: the columns of those that were answered by it, each with its answer.
    """

    move: Move
    column: int
    lines: tuple[str, ...]
    woken: tuple[tuple[int, str], ...]


def drawn_moves(game: Game, schedule: Sequence[Move]) -> Iterator[DrawnMove]:
    """What happens in each move of a schedule."""
    state = game.start
    for move in schedule:
        after = dict(game.moves(state))[move]
        yield _drawn(game, move, state, after)
        state = after


def _drawn(game: Game, move: Move, before: State, after: State) -> DrawnMove:
    name = move.rstrip("~").partition("!")[0]
    column = game.names.index(name) if name in game.names else -1
    lines = []
    if move.endswith("~"):
        lines.append("its time is over" if column >= 0 else f"the lease of the {name} role is over")
    elif commands := game.clients[column].states[before[column + 1]].commands:
        lines += [_command(command, game.keys.queue) for command in commands]
    if "!" in move:
        lines.append(move.partition("!")[2].replace("-", " "))
    lines += _heard(game, column, before, after) if column >= 0 else ()
    others = [who for who in range(len(game.clients)) if who != column and before[who + 1] != after[who + 1]]
    woken = tuple((who, line) for who in others for line in _heard(game, who, before, after))
    return DrawnMove(move, column, tuple(lines), woken)


def _heard(game: Game, who: int, before: State, after: State) -> Iterator[str]:
    """What a client was answered in a move, and what its operation came to."""
    client = game.clients[who]
    was, now = client.states[before[who + 1]], client.states[after[who + 1]]
    if who in game.server(after).blocked and before[who + 1] == after[who + 1]:
        yield "waits"
    for replies in now.history[len(was.history) :][:1]:
        yield "-> " + (replies if isinstance(replies, str) else ", ".join(map(_reply, replies)))
    for deed, result in list(zip(client.member.deeds, now.results, strict=False))[len(was.results) :]:
        yield f"= {deed.kind}: {_result(result)}"


def _command(command: tuple[Any, ...], queue: bytes) -> str:
    words = []
    for word in command:
        text = word.decode("utf-8", "backslashreplace") if isinstance(word, bytes) else str(word)
        if isinstance(word, bytes) and word.startswith(queue):
            text = text[len(queue) :] or "queue"
        words.append(text if len(text) < LONGEST and "\n" not in text else text[:8] + "...")
    return " ".join(words)


def _reply(reply: Any) -> str:
    if reply is None:
        return "nil"
    if isinstance(reply, Refusal):
        return f"({reply.text})"
    if isinstance(reply, tuple):
        return "[" + " ".join(map(_reply, reply)) + "]"
    text = reply.decode("utf-8", "backslashreplace") if isinstance(reply, bytes) else str(reply)
    return text.rpartition("__pressure__:jobs")[2] or "queue"


def _result(result: Any) -> str:
    if result is None:
        return "done"
    return str(result) if isinstance(result, Error) else _reply(result)


def picture(game: Game, violation: Violation) -> Evidence:
    """What leads to a violation, drawn."""
    found = list(drawn_moves(game, violation.schedule))
    text = "\n".join([f"schedule: {written(violation.schedule)}", *_text(game, found), violation.what])
    return Evidence(f"{game.scenario.name}: {violation.what}", text, _markup(game, found, violation))


def _text(game: Game, found: Sequence[DrawnMove]) -> Iterator[str]:
    names = [*game.names, "server"]
    for number, each in enumerate(found, 1):
        heads = [f"{number:3} {names[each.column]:8}"] + [" " * 12] * len(each.lines)
        yield from (f"{head}{line}" for head, line in zip(heads, each.lines, strict=False))
        yield from (f"    {names[who]:8}{line}" for who, line in each.woken)


def _markup(game: Game, found: Sequence[DrawnMove], violation: Violation) -> str:
    """The same as SVG; who is asked reads it from top to bottom, and the colours say nothing of their own."""
    names, shapes, top = game.names, [], 3 * LINE
    for column, name in enumerate(names):
        left = column * WIDE
        shapes.append(f'<text x="{left + 8}" y="{LINE}" font-weight="bold">{escape(name)}</text>')
    for each in found:
        rows = [(max(each.column, 0), each.lines), *((who, (line,)) for who, line in each.woken)]
        for column, lines in rows:
            shapes += _box(column, top, lines)
            top += LINE * len(lines) + LINE // 2
    shapes.append(f'<text x="8" y="{top + LINE}" font-weight="bold">{escape(violation.what)}</text>')
    columns = [
        f'<line x1="{left}" y1="{2 * LINE}" x2="{left}" y2="{top}" stroke="currentColor"/>'
        for left in range(4, len(names) * WIDE, WIDE)
    ]
    size = f'viewBox="0 0 {max(len(names), 2) * WIDE} {top + 2 * LINE}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="monospace" font-size="11" '
        f'fill="currentColor"><title>{escape(violation.what)}</title>{"".join(columns)}{"".join(shapes)}</svg>'
    )


def _box(column: int, top: int, lines: Sequence[str]) -> Iterator[str]:
    left, height = column * WIDE + 4, LINE * len(lines) + 2
    yield (
        f'<rect x="{left}" y="{top - LINE + 2}" width="{WIDE - 12}" height="{height}" fill="none" '
        'stroke="currentColor" stroke-opacity="0.4"/>'
    )
    for at, line in enumerate(lines):
        yield f'<text x="{left + 4}" y="{top + at * LINE}">{escape(line[:LONGEST])}</text>'
