"""What the rows work with: servers that are up, and how much to measure."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Final, Self

from .servers import SERVERS, RunningServer
from .turns import Effort, Pair

__all__ = ["BOTH", "Measure", "Workbench", "by_turns"]

BOTH: Final = ("miniredis", "redis-server")


class Workbench:
    """Starts servers when a row first needs them; leaving its ``with`` block ends them.

    Attributes:
        effort: how much to measure.
    """

    def __init__(self, effort: Effort) -> None:
        self.effort = effort
        self._stack = ExitStack()
        self._servers: dict[str, RunningServer] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def server(self, name: str) -> RunningServer:
        """The server of that name that all rows share, empty; the others stand still meanwhile.

        Raises:
            MissingError: it is not on this machine.
        """
        server = self._servers.get(name)
        if server is None or not server.alive:
            server = self._servers[name] = self._stack.enter_context(SERVERS[name]())
        self._stop_all()
        server.process.send_signal(signal.SIGCONT)
        server.ask("FLUSHALL")
        return server

    def fresh(self, name: str) -> AbstractContextManager[RunningServer]:
        """A server of that name for one row alone."""
        self._stop_all()
        return SERVERS[name]()

    def _stop_all(self) -> None:
        """Servers that are not measured get no processor: some go on working when their clients are gone."""
        for server in self._servers.values():
            server.process.send_signal(signal.SIGSTOP)

    def turns(self) -> Iterator[int]:
        """The numbers of the turns to take."""
        return iter(range(self.effort.pairs))


Measure = Callable[[Workbench], Generator[Pair]]
"""Yields a pair for each turn that the effort asks for.

Raises:
    MissingError: something is not there to measure with or against.
"""


def by_turns(side: Callable[[Workbench, str], float], names: Sequence[str] = BOTH) -> Measure:
    """What ``side`` measures of one thing and of another, turn by turn; by their names."""

    def measure(bench: Workbench) -> Generator[Pair]:
        for _ in bench.turns():
            yield Pair(*(side(bench, name) for name in names))

    return measure
