"""What a guilty party is."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Guilty"]


@dataclass(frozen=True, slots=True)
class Guilty:
    """A package with one small change that makes it wrong.

    Attributes:
        name: what it does wrong.
        file: the file that is changed, from the package's name on.
        text: what stands there, once in the file.
        becomes: what it is changed to.
        clauses: the clauses that must fail by it.
        client: the flavour of our client that the trial is held with.
    """

    name: str
    file: str
    text: str
    becomes: str
    clauses: tuple[str, ...]
    client: str = "sync"

    @property
    def package(self) -> str:
        """The package that is changed."""
        return self.file.partition("/")[0]
