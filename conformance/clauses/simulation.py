"""What is to hold however the clients of a queue come between each other, and whoever dies.

The documents ask for it in a sentence each; ``conformance.simulation`` tries every way.
"""

from __future__ import annotations

from typing import Final

from .model import Clause, Level

__all__ = ["SIMULATION"]


def explored(id_: str, place: str, level: Level, text: str) -> Clause:
    return Clause(f"simulation.{id_}", ("simulation",), place, level, text, ("engine",), limit=120.0)


SIMULATION: Final = (
    explored("interleavings", "0.15, introduction: 'distributed, reliable, bounded, synchronized, exclusive FIFO'", "must", "However two producers and two consumers come between each other, no value is lost, comes twice or out of order, and all come to an end."),
    explored("bound", "0.15, introduction: 'Bounded', 'Synchronized'", "must", "However they come between each other, the bound is kept where scripts run and passed by one at most elsewhere, and a producer that waits for room gets it."),
    explored("close", "0.15, Close: 'Queues can be closed at most once'", "must", "However a close comes between the others, nothing is put after it, what was put before it is got, and the queue stays closed."),
    explored("delete", "0.15, Delete", "must", "However a delete comes between the others, all hear of it, and no key is left."),
    explored("create", "0.15, Create: 'an error must be raised, as the queue already exists'", "must", "However a create comes between a delete, there is a whole queue afterwards or none."),
    explored("reliable", "0.15, Queues: 'additional data reliability'", "may", "However a client that receives messages comes between the others, each message is done with once."),
    explored("many", "a run of Puts or Gets", "decided", "However runs of values come between the others, they are in order, and none is lost."),
    explored("deaths", "a client dies holding a role", "decided", "Whenever a client dies, a repair makes the queue whole, and no more is gone than the client had."),
    explored("lost-replies", "0.15, Queues: 'must fail and report their failure'", "must", "Whenever a command or a reply is lost, what was acknowledged is there, and what was refused is not."),
    explored("repair", "a client dies holding a role", "decided", "However a repair comes between clients that live, it takes nothing from them, and leaves one of each thing."),
    explored("leases", "a client dies holding a role", "decided", "However the lease of a role runs out, a repair gives the role to the next, once."),
    explored("random", "all of it", "must", "Three producers, three consumers and others keep to all this in runs by luck."),
)  # fmt: skip
