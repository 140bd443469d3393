"""Draws a scene as SVG. Text and lines take the colour of the text around them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from html import escape
from typing import Final

from .model import Operation
from .scene import Scene

__all__ = ["drawn"]

STEP: Final = 34
LANE: Final = 52
LEFT: Final = 90
TOP: Final = 30
BAR: Final = 20
LETTER: Final = 6.2
"""How wide a letter is, about; all in units of the drawing, which are pixels unless it is scaled."""

_STYLE: Final = (
    "text{font:11px monospace;fill:currentColor}line,rect,path,circle{stroke:currentColor;fill:none}"
    ".came{paint-order:stroke;stroke:Canvas;stroke-width:4px}g:focus{outline:3px solid;outline-offset:2px}"
)

_KEY: Final = (
    "A bar is an operation, its dotted part a wait; a dashed bar without an end never came back; a thick bar "
    "with ✗ is what is wrong; a number in a circle is its place in the order of effects."
)


def drawn(scene: Scene, what: str) -> str:
    """The drawing, with what is said of it."""
    mark = f"w{zlib.crc32(repr(scene.operations).encode()):08x}"  # several of them fit one page
    width, height = LEFT + STEP * (len(scene.moments) + 2), TOP + LANE * len(scene.clients) + 10
    bars = (line for operation in scene.operations for line in _bar(scene, operation, mark))
    parts = [*_begun(scene, what, width, height), *_defined(mark), *_lanes(scene, width), *bars]
    return "\n".join([*parts, *_end_of_order(scene, height), "</g></svg></div></figure>"])


def _begun(scene: Scene, what: str, width: int, height: int) -> Iterator[str]:
    left_out = f" {scene.left_out} other operations are not shown." if scene.left_out else ""
    yield f'<figure class="history"><figcaption>{escape(what)}<br>{_KEY}{left_out}</figcaption>'
    yield '<div style="overflow-x:auto" tabindex="0" role="group" aria-label="lanes of the clients">'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
    yield f'viewBox="0 0 {width} {height}" role="group" aria-label="{escape(what, quote=True)}">'


def _defined(mark: str) -> Iterator[str]:
    yield f'<style>{_scoped(mark)}</style><g id="{mark}"><defs>'
    yield f'<pattern id="{mark}d" width="5" height="5" patternUnits="userSpaceOnUse">'
    yield '<circle cx="2" cy="2" r="0.8"/></pattern></defs>'


def _scoped(mark: str) -> str:
    return "".join(
        f"{','.join(f'#{mark} {name}' for name in names.split(','))}{{{rule}}}"
        for names, _, rule in (part.partition("{") for part in _STYLE.split("}") if part)
    )


def _lanes(scene: Scene, width: int) -> Iterator[str]:
    for place, client in enumerate(scene.clients):
        y = TOP + LANE * place + BAR + 12
        yield f'<text x="4" y="{y}">{escape(client)}</text>'
        yield f'<line x1="{LEFT - 8}" y1="{y + 16}" x2="{width}" y2="{y + 16}" stroke-width="0.3"/>'


def _x(scene: Scene, moment: int) -> int:
    return LEFT + STEP * scene.moments.index(moment)


def _bar(scene: Scene, operation: Operation, mark: str) -> Iterator[str]:
    """A bar that can be focused: what it does above it, what came of it in it."""
    until, wrong = scene.until(operation), operation in scene.concerned
    x = _x(scene, operation.invoked)
    end = _x(scene, until) if until is not None else LEFT + STEP * (len(scene.moments) + 1)
    width, y = max(end - x, 4), TOP + LANE * scene.clients.index(operation.client) + 8
    title = escape(scene.title(operation), quote=True)
    yield f'<g tabindex="0" role="img" aria-label="{title}"><title>{title}</title>'
    waited = _x(scene, scene.blocked_until(operation)) - x
    if waited > 0:
        box = f'x="{x}" y="{y}" width="{min(waited, width)}" height="{BAR}"'
        yield f'<rect {box} style="fill:url(#{mark}d)"/>'
    if operation.returned is None:
        shape = f"M{end},{y} H{x} V{y + BAR} H{end}"
        yield f'<path d="{shape}" stroke-dasharray="5 3" stroke-width="{_stroke(wrong)}"/>'
    else:
        yield f'<rect x="{x}" y="{y}" width="{width}" height="{BAR}" stroke-width="{_stroke(wrong)}"/>'
    does, _, came = str(operation).partition(": ")[2].partition(" -> ")
    yield f'<text x="{x}" y="{y - 5}">{escape(_cut(("✗ " if wrong else "") + does, width))}</text>'
    number = scene.numbers.get(operation)
    if number is not None:
        yield f'<circle cx="{x + 9}" cy="{y + BAR / 2}" r="8.5"/>'
        yield f'<text x="{x + 9}" y="{y + BAR / 2 + 4}" text-anchor="middle">{number}</text>'
    indent = 21 if number is not None else 3
    came = escape(_cut(came, width - indent))
    yield f'<text class="came" x="{x + indent}" y="{y + 14}">{came}</text></g>'


def _stroke(wrong: bool) -> float:
    return 3.0 if wrong else 1.0


def _cut(text: str, width: int) -> str:
    """As much of a text as fits; the title has all of it."""
    letters = max(int(width / LETTER), 1)
    return text if len(text) <= letters else text[: letters - 1] + "…"


def _end_of_order(scene: Scene, height: int) -> Iterator[str]:
    """Where the order ends, if it does."""
    if scene.verdict.violation != "linearizable":
        return
    ends = [each.end for each in scene.concerned if each.end in scene.moments]
    if ends:
        x = _x(scene, min(ends))
        yield f'<line x1="{x}" y1="14" x2="{x}" y2="{height}" stroke-width="2" stroke-dasharray="2 4"/>'
        yield f'<text x="{x + 4}" y="12">no order goes on beyond here</text>'
