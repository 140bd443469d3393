"""Clients of one engine, step by step: interleaved, killed or stopped as a schedule says, in held time.

A driver of ``pressure``'s operations without sockets, threads or clocks: the engine of miniredis is handed
what a client sends, and hands out what it is answered. Which client goes on next is asked of ``choose``, so
that the same choices give the same run, and all choices can be tried (``every_run``).

Time stands still while anybody can go on. When all wait, it moves on to where the first wait ends.
"""

from __future__ import annotations

from .actor import FAULTS, Actor, Fault
from .choices import Choose, StuckError, every_run, seeded
from .world import Simulation, operation

__all__ = [
    "FAULTS",
    "Actor",
    "Choose",
    "Fault",
    "Simulation",
    "StuckError",
    "every_run",
    "operation",
    "seeded",
]
