"""What a run found, told to people and to programs.

A run is a list of judgements (``model``), and every report is a function of that list: lines for the
terminal, a page of HTML, JUnit XML, JSON. ``Reporting`` judges, keeps what was found, and writes what was
asked for, also if the run does not get to its end. To add a report, write such a function and a row in
``files.WRITERS``.
"""

from .data import as_json
from .files import Files
from .junit import as_junit
from .model import Judgement
from .page import as_page
from .reporting import Reporting, why
from .terminal import failed, lines, show, total

__all__ = [
    "Files", "Judgement", "Reporting", "as_json", "as_junit", "as_page", "failed", "lines", "show", "total",
    "why",
]  # fmt: skip
