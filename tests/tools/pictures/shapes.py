"""More shapes for drawings than the benchmark's chart needs."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.bench.svg import text

__all__ = ["arrow", "upright"]


def upright(x: float, y: float, words: str, size: int = 17, look: str = "ink") -> str:
    """Words that go up, centred at a point."""
    flat = text(x, y, words, size, look, anchor="middle")
    return flat.replace("<text ", f'<text transform="rotate(-90 {x:g} {y:g})" ', 1)


def arrow(points: Iterable[tuple[float, float]], colour: str = "soft") -> str:
    """A line along some points, with a head at its end."""
    *_, (x0, y0), (x, y) = path = list(points)
    along = " ".join(f"{each_x:g},{each_y:g}" for each_x, each_y in path)
    length = max(abs(x - x0), abs(y - y0))
    dx, dy = (x - x0) / length * 8, (y - y0) / length * 8
    head = f"{x:g},{y:g} {x - dx - dy / 2:g},{y - dy + dx / 2:g} {x - dx + dy / 2:g},{y - dy - dx / 2:g}"
    return (
        f'<polyline points="{along}" stroke-width="2" class="{colour}-line"/>'
        f'<polygon points="{head}" class="{colour}"/>'
    )
