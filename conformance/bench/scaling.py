"""What becomes of the time for a command with more clients, larger values and more keys."""

from __future__ import annotations

from collections.abc import Generator

from .crowds import allow_files
from .every_command import cpu
from .memory import fill_with_strings
from .redis_benchmark import Load, rates
from .turns import Pair
from .workbench import Measure, Workbench, by_turns

__all__ = ["among_keys", "by_clients", "of_size"]


def by_clients(clients: int) -> Measure:
    """GETs a second by so many clients that wait for each reply; at most 20,000 can connect."""

    def measure(bench: Workbench) -> Generator[Pair]:
        crowd = bench.effort.scaled(clients)
        allow_files(crowd)
        yield from rates(Load(("GET", "key"), crowd), "redis-server")(bench)

    return measure


def of_size(size: int) -> Measure:
    """Microseconds of processor time for a SET and a GET of so many bytes."""

    def side(bench: Workbench, name: str) -> float:
        commands: list[list[str | bytes]] = [["SET", "key", b"x" * bench.effort.scaled(size)], ["GET", "key"]]
        at_once = max(min(1_000_000 // size, 50), 1)
        return cpu(bench.server(name), commands, bench.effort.seconds, at_once)

    return by_turns(side)


def among_keys(count: int) -> Measure:
    """Microseconds of processor time for a SET, a GET and a DEL beside so many other keys."""

    def side(bench: Workbench, name: str) -> float:
        server = bench.server(name)
        fill_with_strings(server, bench.effort.scaled(count))
        commands = [["SET", "one more", "xxx"], ["GET", "one more"], ["DEL", "one more"]]
        return cpu(server, commands, bench.effort.seconds)

    return by_turns(side)
