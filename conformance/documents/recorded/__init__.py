"""Recorded conversations: the files of this folder, one clause each, on a server that may be emptied.

What clients send is written by hand; what they get was recorded from redis-server 7.0.15. ``player`` explains the
lines. To add a conversation, write it without its replies, and have them recorded: ``python -m tests.miniredis.record``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from ...failure import Evidence
from ...judging.environment import Environment, Failure
from ..model import Clause
from ..registry import check, declare
from .player import Player, Scenario, read

__all__ = ["FILES"]

FILES: Final = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.txt"))}
"""The files, by their names."""


def play(env: Environment, path: Path) -> None:
    """Fails at the first conversation of a file in which a client gets other bytes."""
    anew = env.address.another or env.address.emptied
    assert anew is not None
    with anew() as address:
        for scenario in read(path):
            try:
                with Player((address.host, address.port)) as player:
                    player.play(scenario)
            except (Failure, OSError) as error:
                raise Failure(f"{scenario.title}: {error}", lines_of(scenario)) from error


def lines_of(scenario: Scenario) -> Evidence:
    return Evidence("the conversation as it was recorded", "\n".join(map(str, scenario.steps)))


for _name, _path in FILES.items():
    _words = _name.replace("_", " ")
    _text = f"Each client gets the bytes that Redis 7.0.15 sends it: {_words}."
    _id = f"recorded.{_name.replace('_', '-')}"
    declare(
        Clause(
            _id, ("recorded",), "Redis 7.0.15", "decided", _text, ("redis-7.0", "spare", "no-password"), 60.0
        )
    )
    check(_id)(partial(play, path=_path))
