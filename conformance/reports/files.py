"""Where reports go, and how each is made."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .data import as_json
from .junit import as_junit
from .model import Judgement
from .page import as_page
from .table import as_table

__all__ = ["Files"]

WRITERS: Final[Mapping[str, Callable[[Sequence[Judgement]], str]]] = {
    "report": as_page,
    "junit": as_junit,
    "json": as_json,
    "table": as_table,
}
"""What makes each report, by the name of its option."""


@dataclass(frozen=True, slots=True)
class Files:
    """The files that are asked for.

    Attributes:
        paths: by the name of the option.
    """

    paths: Mapping[str, Path]

    @staticmethod
    def add_options(parser: argparse.ArgumentParser) -> None:
        """Adds the options that ask for reports."""
        add = parser.add_argument
        add("--report", type=Path, metavar="DIR", help="write a report in HTML to DIR/index.html")
        add("--junit", type=Path, metavar="FILE", help="write a report in JUnit's XML to FILE, for CI")
        add("--json", type=Path, metavar="FILE", help="write a report in JSON to FILE, for programs")
        add("--table", type=Path, metavar="FILE", help="write a table in Markdown to FILE, for a guide")

    @classmethod
    def of(cls, options: argparse.Namespace) -> Files:
        """Those that the options ask for; their folders are made, and the files if there are none.

        Raises:
            OSError: that cannot be done, which is better known before the run than after it.
        """
        asked = {name: path for name in WRITERS if (path := getattr(options, name)) is not None}
        if "report" in asked:
            asked["report"] /= "index.html"
        for name, path in asked.items():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.open("a").close()
            except OSError as error:
                raise OSError(f"--{name}: cannot write {path}: {error.strerror}") from error
        return cls(asked)

    @property
    def wants_bytes(self) -> bool:
        """Whether one of them shows what was said; all do but the table."""
        return bool(self.paths.keys() - {"table"})

    def write(self, judgements: Sequence[Judgement]) -> Iterator[Path]:
        """Writes them; each path when its file is there."""
        for name, path in self.paths.items():
            path.write_text(WRITERS[name](judgements), encoding="utf-8", errors="backslashreplace")
            yield path
