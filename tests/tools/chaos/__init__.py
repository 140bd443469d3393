"""Chaos: clients and servers are killed, frozen and cut off at random, and no message may be lost.

``python -m tests.tools.chaos`` runs it and prints figures. Its parts: ``servers`` (a master and a replica),
``front`` (a way to them that can be blocked, and pointed elsewhere), ``worker`` (a producer or consumer that
writes down what it does), ``staff`` (the workers as processes), ``harm`` (what is done to them), ``journal``
(what they wrote down), ``judge`` (what has to hold of it) and ``run`` (all of it together).
"""

from .judge import Findings, judged
from .run import Plan, run

__all__ = ["Findings", "Plan", "judged", "run"]
