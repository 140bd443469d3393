"""The marker ``miniredis_fault`` and the setting ``miniredis_report``: what each server of a test gets.

They are for the servers that fixtures give, whoever wrote the fixtures, and for those that
``miniredis_factory`` starts. A marker of a module or a class is for those of its tests that have a server.
A rule of the marker holds from the end of the fixture on (in a fixture of a wider scope, while the test runs)
until the fixtures are torn down.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from ..recordings import Recording
    from .fault_handles import Rule

__all__ = ["FAULT", "SERVERS", "ServersOfTest"]

FAULT: Final = "miniredis_fault"

NO_SERVER: Final = (
    f"the marker {FAULT} met no server: it is for those that the test's fixtures give, or that "
    "miniredis_factory starts; with others, use server.faults.add"
)


class ServersOfTest:
    """The servers of one test, with the rules and recordings that they got for it.

    Args:
        item: the test.
        shown: how many requests to each of them the report of a failed test shows.
    """

    def __init__(self, item: pytest.Item, shown: int) -> None:
        self._item = item
        self._shown = shown
        self._conditions = [conditions(marker) for marker in reversed([*item.iter_markers(FAULT)])]
        self._needs_server = any(marker.name == FAULT for marker in item.own_markers)
        self._servers: list[Any] = []
        self._rules: list[Rule] = []
        self._recordings: list[tuple[str, Recording]] = []

    def meet(self, value: object) -> None:
        """A fixture gave this. If it is a server, or several, each gets the rules and is recorded, once."""
        for server in servers_in(value):
            if server in self._servers:
                continue
            with contextlib.suppress(RuntimeError):  # it has stopped, and no request will meet anything
                self._rules += [server.faults.add(**each) for each in self._conditions]
                if self._shown:
                    self._recordings.append((server.public_url, server.record(self._shown)))
                self._servers.append(server)

    def check(self) -> None:
        """Fails the test if a marker of its own had no effect."""
        if self._needs_server and not self._servers:
            pytest.fail(NO_SERVER, pytrace=False)

    def show(self, when: str) -> None:
        """The report of this phase of the test shows what was recorded; a later one does not again."""
        recordings, self._recordings = self._recordings, []
        for url, calls in recordings:
            with contextlib.suppress(RuntimeError):  # its process was killed
                calls.stop()
                if told := str(calls):
                    title = "requests to miniredis" + (f" at {url}" if len(recordings) > 1 else "")
                    self._item.add_report_section(when, title, told)

    def end(self) -> None:
        """Ends the rules and the recordings."""
        for rule in self._rules:
            rule.remove()
        for _, calls in self._recordings:
            with contextlib.suppress(RuntimeError):
                calls.stop()


SERVERS: Final = pytest.StashKey[ServersOfTest]()
"""The servers of a test, if it is marked or its requests are to be shown."""


def conditions(marker: pytest.Mark) -> dict[str, Any]:
    """The arguments of a marker for ``Faults.add``."""
    if marker.args:
        raise pytest.UsageError(
            f'{FAULT} takes keywords, as server.faults.add: {FAULT}(command="SET", then="OOM no memory")'
        )
    return dict(marker.kwargs)


KINDS: Final[dict[tuple[str, str], Callable[[Any], Sequence[Any]]]] = {
    ("server", "Server"): lambda server: [server],
    ("processes.spawning", "SpawnedServer"): lambda server: [server],
    ("topologies.clusters", "Cluster"): lambda cluster: cluster.nodes,
    ("topologies.sentinels", "Sentinels"): lambda group: [*group.servers, *group.sentinels],
}
"""Where the classes of servers are, with the servers in each; a test that needs none imports none of them."""


def servers_in(value: object) -> Sequence[Any]:
    """The servers that a fixture gave."""
    package = __name__.partition(".")[0]
    for (module, name), servers in KINDS.items():
        kind = getattr(sys.modules.get(f"{package}.{module}"), name, None)
        if kind is not None and issubclass(type(value), kind):
            return servers(value)
    return []
