"""How fast miniredis is: the rows that most people ask for, from the table in the guide of the bench.

The picture is drawn from the table that is published, and so never says anything else.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from conformance.bench.chart import Bar, Group, as_svg

__all__ = ["CHOSEN", "groups", "make"]

GUIDE: Final = Path(__file__).parents[3] / "conformance" / "bench" / "README.md"

CHOSEN: Final = {
    "redis-server": {
        "GET, 50 clients": "GET, 50 clients",
        "LPUSH, 50 clients": "LPUSH, 50 clients",
        "GET, 1 client": "GET, one client",
        "LPUSH, 50 clients, pipeline of 16": "LPUSH, 50 clients, pipelines of 16",
        "BLPOP hand-over, there and back, median": "BLPOP, from client to client",
        "miniredis.start() until the first PONG": "from start to the first PONG",
    },
    "fakeredis": {
        "GET, 50 clients": "GET, 50 clients, over TCP",
        "LPUSH, 50 clients": "LPUSH, 50 clients, over TCP",
        "redis-py in-process, one thread, five commands in turn": "in-process, redis-py",
    },
}
"""By what miniredis is compared with: what the table calls each row, and what the picture does."""

_ROW: Final = re.compile(
    r"^\| (?P<what>[^|]+) \| [^|]+ \| (?P<reference>[^|]+) \| (?P<ratio>[\d.]+) \([^|]+\) \| (?P<sign>[≥≤])",
    re.MULTILINE,
)


def make() -> bytes:
    """The picture."""
    return as_svg(groups(GUIDE.read_text(encoding="utf-8"))).encode()


def groups(guide: str) -> list[Group]:
    """What is drawn, from the text of a guide.

    Raises:
        LookupError: a row that is wanted is not in its table.
    """
    return [
        Group(
            f"{name} {version(guide, name)}",
            [Bar(label, better(guide, name, what)) for what, label in rows.items()],
        )
        for name, rows in CHOSEN.items()
    ]


def version(guide: str, name: str) -> str:
    """Which one it was measured against."""
    found = re.search(rf"{name} (\d+\.\d+\.\d+)", guide)
    if found is None:
        raise LookupError(f"the guide does not say which {name}")
    return found[1]


def better(guide: str, name: str, what: str) -> float:
    """How many times as good as the reference miniredis is by one row."""
    for row in _ROW.finditer(guide):
        if row["what"] == what and name in row["reference"].lower():
            ratio = float(row["ratio"])
            return ratio if row["sign"] == "≥" else 1 / ratio
    raise LookupError(f"the table has no row {what!r} against {name}")
