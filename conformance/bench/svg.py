"""SVG as text: shapes in a few named colours, each of them one for light and one for dark surroundings.

A picture brings its own background, so that it can be read wherever it is shown, and names no font that has
to be fetched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Final

__all__ = ["COLOURS", "WIDTH", "box", "document", "line", "text"]

WIDTH: Final = 480
"""How wide the drawings are: a telephone shows letters of 18 units at about 13 pixels."""

COLOURS: Final[Mapping[str, tuple[str, str]]] = {
    "paper": ("#ffffff", "#0d1117"),
    "panel": ("#f3f5f7", "#1b222c"),
    "ink": ("#1f2328", "#e6edf3"),
    "soft": ("#59636e", "#9da7b3"),
    "rule": ("#c2c8cf", "#3d4652"),
    "good": ("#0969da", "#58a6ff"),
    "poor": ("#b35900", "#f0a04b"),
    "wait": ("#a40e6a", "#ff8ac4"),
}
"""What each colour is on a light and on a dark page."""

FACES: Final = {
    "sans": "system-ui,Helvetica,Arial,sans-serif",
    "mono": "ui-monospace,Menlo,Consolas,monospace",
}


def style() -> str:
    """The rules for all shapes, light and dark."""
    light, dark = (
        "".join(
            f".{name}{{fill:{shades[at]}}}.{name}-line{{stroke:{shades[at]};fill:none}}"
            for name, shades in COLOURS.items()
        )
        for at in (0, 1)
    )
    faces = "".join(f".{name}{{font-family:{face}}}" for name, face in FACES.items())
    return f"{faces}.bold{{font-weight:600}}{light}@media (prefers-color-scheme:dark){{{dark}}}"


def document(title: str, description: str, height: float, parts: Iterable[str], width: int = WIDTH) -> str:
    """A picture.

    Args:
        title: what it is, for those who cannot see it.
        description: what it says, likewise.
        height: in the units of the drawing, of which there are ``width`` across.
        parts: its shapes.
        width: how wide it is.
    """
    size = f'width="{width}" height="{height:g}" viewBox="0 0 {width} {height:g}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title description">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="description">{escape(description)}</desc>',
            f"<style>{style()}</style>",
            box(0.5, 0.5, width - 1, height - 1, "paper", "rule", 8),
            *parts,
            "</svg>\n",
        )
    )


def text(
    x: float, y: float, words: str, size: int = 17, look: str = "ink", *, face: str = "sans", anchor: str = ""
) -> str:
    """Words on a line; ``look`` is a colour, and ``bold`` perhaps."""
    anchored = f' text-anchor="{anchor}"' if anchor else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" class="{face} {look}"{anchored}>{escape(words)}</text>'
    )


def box(x: float, y: float, width: float, height: float, fill: str, edge: str = "", radius: float = 4) -> str:
    """A rectangle."""
    shape = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}" class='
    edged = shape + f'"{edge}-line"/>' if edge else ""
    return shape + f'"{fill}"/>' + edged


def line(x1: float, y1: float, x2: float, y2: float, colour: str = "rule", width: float = 1) -> str:
    """A straight line."""
    ends = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
    return f'<line {ends} stroke-width="{width:g}" class="{colour}-line"/>'
