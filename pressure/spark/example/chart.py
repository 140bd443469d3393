"""The report as a chart: bars for a terminal, and the same as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["as_svg", "as_text"]

Hour = Mapping[str, Any]

_WIDTH: Final = 60
_BAR, _HEIGHT = 24, 220


def as_text(hours: Sequence[Hour]) -> str:
    """A line for each hour: how many requests, and how many of them failed."""
    most = max(hour["requests"] for hour in hours)
    return "\n".join(
        f"{hour['hour']:02d}:00 {'█' * round(_WIDTH * hour['requests'] / most):<{_WIDTH}} "
        f"{hour['requests']:>6}" + (f"  {hour['failed']} failed" if hour["failed"] else "")
        for hour in hours
    )


def as_svg(hours: Sequence[Hour]) -> str:
    """A picture: a bar for each hour, the failed part of it in red."""
    most = max(hour["requests"] for hour in hours)
    bars = "\n".join(_bar(number, hour, most) for number, hour in enumerate(hours))
    width = _BAR * len(hours) + 20
    box = f"0 0 {width} {_HEIGHT + 50}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" font-family="sans-serif" font-size="10">\n'
        f"<title>Requests by the hour; failures in red</title>\n{bars}\n</svg>\n"
    )


def _bar(number: int, hour: Hour, most: int) -> str:
    left, middle = 10 + number * _BAR, 10 + number * _BAR + _BAR / 2
    tall, failed = (_HEIGHT * hour[name] / most for name in ("requests", "failed"))
    top = 20 + _HEIGHT - tall
    return (
        f'<rect x="{left + 2}" y="{top:.1f}" width="{_BAR - 4}" height="{tall:.1f}" fill="#4477aa"/>'
        f'<rect x="{left + 2}" y="{top:.1f}" width="{_BAR - 4}" height="{failed:.1f}" fill="#cc3311"/>'
        f'<text x="{middle}" y="{_HEIGHT + 35}" text-anchor="middle">{hour["hour"]:02d}</text>'
    )
