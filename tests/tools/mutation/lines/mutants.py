"""Changes to a file, one at a time, as the operators of cosmic-ray make them.

Any other source of changes will do that makes ``Mutant``s.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from .subjects import ROOT

__all__ = ["Equivalent", "Mutant", "mutants_of", "statement_at"]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file with one change.

    Attributes:
        file: which, from the project's folder on.
        operator: what kind of change it is.
        occurrence: which of those of its kind in the function.
        line: where, the first being 1.
        column: where in it.
        line_text: the line as it is, without what surrounds it.
        becomes: what it is changed to.
        source: the whole changed file.
        alone: whether the change is within a function, so that it can be put in where all is imported.
    """

    file: str
    operator: str
    occurrence: int
    line: int
    column: int
    line_text: str
    becomes: str
    source: str
    alone: bool

    @property
    def name(self) -> str:
        """What tells it from all others."""
        return f"{self.file}:{self.line}:{self.column} {self.operator} {self.occurrence}"

    def diff(self) -> list[str]:
        """The change as lines."""
        before = (ROOT / self.file).read_text().splitlines()
        return list(difflib.unified_diff(before, self.source.splitlines(), n=0, lineterm=""))[2:]


@dataclass(frozen=True, slots=True)
class Equivalent:
    """Changes of one line that make no difference.

    Attributes:
        file: which, from the project's folder on.
        line: the line, without what surrounds it.
        becomes: what it is changed to, each of them.
        reason: why nobody can tell.
    """

    file: str
    line: str
    becomes: tuple[str, ...]
    reason: str


def mutants_of(file: str) -> Iterator[Mutant]:
    """All changes to a file.

    Raises:
        ImportError: the extra ``mutation`` is not installed.
    """
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    text = (ROOT / file).read_text()
    bodies = tuple(function_bodies(ast.parse(text)))
    made = {name: get_operator(name)() for name in operators()}
    for first, chunk in chunks(text):
        tree = get_ast(chunk)
        for name, operator in made.items():
            spans = [place for node in ast_nodes(tree) for place in operator.mutation_positions(node)]
            for number, (start, _) in enumerate(spans):
                changed = mutate_code(chunk, operator, number)
                if changed is not None and changed != chunk:
                    yield mutant(file, text, bodies, name, number, first, start, changed)


def mutant(
    file: str, text: str, bodies: Sequence[range], operator: str, number: int,
    first: int, start: tuple[int, int], changed: str,
) -> Mutant:  # fmt: skip
    """The change of a chunk of a file, which begins behind so many lines."""
    before, after = text.splitlines(), changed.splitlines()
    line = first + start[0]
    source = [*before[:first], *after, *before[first + len(after) :]]
    at = next(at for at, (old, new) in enumerate(zip(before, source, strict=False)) if old != new)
    return Mutant(
        file, operator.partition("/")[2], number, line, start[1], before[at].strip(), source[at].strip(),
        "\n".join([*source, ""]), any(line in body for body in bodies),
    )  # fmt: skip


def chunks(text: str) -> Iterator[tuple[int, str]]:
    """The parts of a file that stand on their own, each with how many lines come before it."""
    starts = [first_line(statement) - 1 for statement in ast.parse(text).body]
    lines = text.splitlines()
    for start, end in pairwise([*starts, len(lines)]):
        yield start, "\n".join([*lines[start:end], ""])


def first_line(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", [])
    return int(decorators[0].lineno if decorators else statement.lineno)


def operators() -> list[str]:
    """The names of the operators that need to be told nothing."""
    from cosmic_ray.plugins import get_operator, operator_names

    return [name for name in operator_names() if not get_operator(name).arguments()]


def function_bodies(tree: ast.AST) -> Iterator[range]:
    """The lines of the bodies of functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)


def statement_at(path: Path, line: int) -> int:
    """The first line of the innermost statement that a line is part of."""
    statements = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.stmt))
    return max(each.lineno for each in statements if each.lineno <= line <= (each.end_lineno or each.lineno))
