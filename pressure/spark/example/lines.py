"""The log: lines as web servers write them, made by a seeded generator, the same every time.

A day in which most people come in the afternoon, one address scrapes at night, and a page breaks at half
past two in the afternoon for twenty minutes. Some lines are broken, as in any log.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from typing import Final

__all__ = ["BROKEN", "DAY", "lines"]

DAY: Final = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
#: One line in so many is cut short.
BROKEN: Final = 500

_PATHS: Final = ("/", "/search", "/cart", "/checkout", "/images/logo.png", "/api/items", "/login", "/about")
_WEIGHTS: Final = (30, 18, 8, 4, 22, 12, 4, 2)
#: How busy each hour is.
_HOURS: Final = (3, 2, 2, 2, 2, 3, 5, 8, 12, 15, 17, 18, 17, 18, 20, 21, 20, 18, 16, 15, 13, 10, 7, 5)
_OUTAGE: Final = (DAY + dt.timedelta(hours=14, minutes=30), DAY + dt.timedelta(hours=14, minutes=50))


def lines(number: int, seed: int = 1) -> Iterator[bytes]:
    """So many lines, in the order of their time."""
    chance = random.Random(seed)  # noqa: S311, it is to be the same every time
    seconds = sorted(
        hour * 3600 + chance.random() * 3600 for hour in chance.choices(range(24), _HOURS, k=number)
    )
    for at in seconds:
        line = _line(chance, DAY + dt.timedelta(seconds=at))
        yield line[: len(line) // 2] if chance.randrange(BROKEN) == 0 else line


def _line(chance: random.Random, at: dt.datetime) -> bytes:
    scraping = at.hour < 5 and chance.random() < 0.7
    address = "203.0.113.7" if scraping else f"198.51.100.{chance.randrange(256)}"
    path = "/search" if scraping else chance.choices(_PATHS, _WEIGHTS)[0]
    status = _status(chance, path, at)
    size = 0 if status == 304 else int(chance.lognormvariate(8, 1))
    return (
        f'{address} - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "GET {path} HTTP/1.1" {status} {size} '
        f"{chance.expovariate(20):.3f}"
    ).encode()


def _status(chance: random.Random, path: str, at: dt.datetime) -> int:
    if path == "/checkout" and _OUTAGE[0] <= at < _OUTAGE[1]:
        return 503
    return chance.choices((200, 304, 404, 500), (90, 6, 3.7, 0.3))[0]
