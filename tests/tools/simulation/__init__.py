"""Clients of one engine, step by step: interleaved, killed or stopped as a schedule says.

Operations of ``pressure`` without sockets, threads or clocks: the engine of miniredis is handed what a client
sends, and hands out what it is answered. There are two ways.

``Simulation`` runs clients from the beginning, in held time: which of them goes on next is asked of
``choose``, so that the same choices give the same run, and all choices can be tried (``every_run``). Time
stands still while anybody can go on. When all wait, it moves on to where the first wait ends.

``Game`` takes a ``Scenario`` apart into states and moves. ``explore`` reaches all its states, each once, and
finds what is wrong by a shortest schedule; ``wander`` runs what is too large for that by luck. ``laws`` and
``endings`` are what has to hold. ``python -m tests.tools.simulation`` does it for all ``SCENARIOS``.
"""

from __future__ import annotations

from .actor import FAULTS, Actor, Fault
from .choices import Choose, StuckError, every_run, seeded
from .documents import HOLES
from .drawing import picture
from .explore import Found, Violation, explore, replay
from .moves import Game
from .scenario import Deed, Member, Scenario
from .scenarios import SCENARIOS
from .wander import Wandered, wander
from .world import Simulation, held, operation

__all__ = [
    "FAULTS",
    "HOLES",
    "SCENARIOS",
    "Actor",
    "Choose",
    "Deed",
    "Fault",
    "Found",
    "Game",
    "Member",
    "Scenario",
    "Simulation",
    "StuckError",
    "Violation",
    "Wandered",
    "every_run",
    "explore",
    "held",
    "operation",
    "picture",
    "replay",
    "seeded",
    "wander",
]
