"""The table: what is measured, against what, and what is wanted.

Every ratio is miniredis to its reference. A row's name is unique; its group selects it together with others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from .model import Row, Target
from .redis_benchmark import VALUE, Load, cpu_per_command, rates

__all__ = ["ROWS"]

LOADS: Final[Mapping[str, Load]] = {
    "lpush": Load(("LPUSH", "list", VALUE)),
    "rpop": Load(("RPOP", "list"), elements=int),
    "set": Load(("SET", "key", VALUE)),
    "get": Load(("GET", "key")),
    "incr": Load(("INCR", "number")),
}
"""The five commands, by 50 clients."""


def loads(clients: int = 50, pipeline: int = 1) -> Iterator[tuple[str, Load]]:
    for name, load in LOADS.items():
        yield name, Load(load.command, clients, pipeline, load.elements)


def rate_rows() -> Iterator[Row]:
    """The five commands against redis-server, with redis-benchmark."""
    for group, clients, pipeline, bound in (
        ("plain", 50, 1, 1.0),
        ("pipeline-16", 50, 16, 0.5),
        ("pipeline-100", 50, 100, 0.4),
        ("one-client", 1, 1, 0.9),
    ):
        crowd = "1 client" if clients == 1 else f"{clients} clients"
        queued = "" if pipeline == 1 else f", pipeline of {pipeline}"
        for name, load in loads(clients, pipeline):
            yield Row(
                f"{group}-{name}", group, f"{name.upper()}, {crowd}{queued}", "requests/s", "redis-server",
                Target(bound), rates(load, "redis-server"),
            )  # fmt: skip


def large_rows() -> Iterator[Row]:
    """Requests and replies that are large."""
    lrange = Load(("LRANGE", "list", "0", "99"), elements=lambda _: 100)
    lpush = Load(("LPUSH", "list", "x" * 10240))
    yield Row(
        "large-lrange", "large", "LRANGE of 100 elements, 50 clients", "requests/s", "redis-server",
        Target(0.5), rates(lrange, "redis-server"),
    )  # fmt: skip
    yield Row(
        "large-lpush", "large", "LPUSH of 10 KiB, 50 clients", "requests/s", "redis-server",
        Target(0.9), rates(lpush, "redis-server"),
    )  # fmt: skip


def cpu_rows() -> Iterator[Row]:
    """What the server's process computes for each command."""
    for name, load in loads():
        yield Row(
            f"cpu-{name}", "cpu", f"CPU time per {name.upper()}, 50 clients", "µs", "redis-server",
            Target(2.0, at_least=False), cpu_per_command(load, "redis-server"),
        )  # fmt: skip


def peer_rows() -> Iterator[Row]:
    """The first rows, against others that stand in for Redis in tests."""
    for peer, bound in (("fakeredis", 10.0), ("go-miniredis", 1.0)):
        for pipeline in (1, 16):
            group = peer if pipeline == 1 else f"{peer}-{pipeline}"
            queued = "" if pipeline == 1 else f", pipeline of {pipeline}"
            for name, load in loads(pipeline=pipeline):
                yield Row(
                    f"{group}-{name}", group, f"{name.upper()}, 50 clients{queued}", "requests/s", peer,
                    Target(bound), rates(load, peer),
                )  # fmt: skip


ROWS: Final[Mapping[str, Row]] = {
    row.name: row for rows in (rate_rows(), large_rows(), cpu_rows(), peer_rows()) for row in rows
}
"""All rows, by name, in the order in which they run."""
