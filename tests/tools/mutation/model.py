"""What a mutant is, and how it is put into a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["ROOT", "Mutant"]

ROOT: Final = Path(__file__).parents[3]
"""The folder of the project."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file of ours with one small change that makes it wrong.

    Attributes:
        name: what it does wrong; of a generated mutant, the operator.
        file: the file that is changed, from the project's folder on.
        text: what stands there; once in the file, unless ``at`` says where.
        becomes: what it is changed to.
        clauses: the clauses that must convict it; none: any may.
        client: the flavour of our client that these clauses judge it with.
        at: where ``text`` begins in the file, of a generated mutant; None if it was written by hand.
    """

    name: str
    file: str
    text: str
    becomes: str
    clauses: tuple[str, ...] = ()
    client: str = "sync"
    at: int | None = None

    @property
    def package(self) -> str:
        """The package of the file, with dots."""
        return self.file.rpartition("/")[0].replace("/", ".")

    @property
    def place(self) -> str:
        """What tells it from all others."""
        before = (ROOT / self.file).read_text()[: self._start()]
        return f"{self.file}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))} {self.name}"

    @property
    def lines(self) -> range:
        """The lines that it changes, the first being 1."""
        first = (ROOT / self.file).read_text().count("\n", 0, self._start()) + 1
        return range(first, first + self.text.rstrip("\n").count("\n") + 1)

    def changed(self) -> tuple[str, str]:
        """The whole lines that it changes, and what they become, both without what surrounds them."""
        source, start = (ROOT / self.file).read_text(), self._start()
        first, last = source.rfind("\n", 0, start) + 1, source.find("\n", start + len(self.text))
        before = source[first:last]
        return before.strip(), (
            source[first:start] + self.becomes + source[start + len(self.text) : last]
        ).strip()

    def source(self) -> str:
        """The whole changed file.

        Raises:
            ValueError: the text is not there, or more than once.
        """
        source, start = (ROOT / self.file).read_text(), self._start()
        return source[:start] + self.becomes + source[start + len(self.text) :]

    def _start(self) -> int:
        if self.at is not None:
            return self.at
        source = (ROOT / self.file).read_text()
        if source.count(self.text) != 1:
            raise ValueError(
                f"{self.name}: {self.text!r} is {source.count(self.text)} times in {self.file}; it must be there once"
            )
        return source.index(self.text)
