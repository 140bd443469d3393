"""How fast miniredis is, side by side with its peers: ``python -m conformance.bench``.

A row of the table (``rows.py``) says what is measured, against what, and which ratio is wanted. Both sides
run on one machine in alternation, so that what slows the machine down slows both. To add a row, write a
generator that yields a ``Pair`` for each turn, and name it in the table.
"""

from .model import Outcome, Row, Target
from .rows import ROWS
from .runner import run
from .turns import Effort, Pair

__all__ = ["ROWS", "Effort", "Outcome", "Pair", "Row", "Target", "run"]
