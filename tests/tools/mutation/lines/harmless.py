"""Kinds of mutants that make no difference or only one of wording, each with its reason.

They are left out by rule, and counted. To add a kind, add a function to ``KINDS`` that tells whether a change
is of it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Final, TypeAlias

from .mutants import Mutant
from .subjects import ROOT

__all__ = ["KINDS", "kind_of"]

Span: TypeAlias = tuple[tuple[int, int], tuple[int, int]]

_SAME_AS_IS: Final = ("ReplaceComparisonOperator_Is_Eq", "ReplaceComparisonOperator_IsNot_NotEq")
_IS_INSTEAD: Final = ("ReplaceComparisonOperator_Eq_Is", "ReplaceComparisonOperator_NotEq_IsNot")


def within(choose: Callable[[ast.AST], Iterator[ast.AST | None]]) -> Callable[[Mutant], bool]:
    """Whether a change is within one of the nodes that are chosen."""

    @cache
    def spans(file: str) -> tuple[Span, ...]:
        nodes = ast.walk(ast.parse((ROOT / file).read_text()))
        return tuple(span(each) for node in nodes for each in choose(node) if each is not None)

    def is_within(mutant: Mutant) -> bool:
        place = (mutant.line, mutant.column)
        return any(first <= place < last for first, last in spans(mutant.file))

    return is_within


def span(node: ast.AST) -> Span:
    assert isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def types_said(node: ast.AST) -> Iterator[ast.AST | None]:
    if isinstance(node, ast.arg | ast.AnnAssign):
        yield node.annotation
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.returns


def aliases(node: ast.AST) -> Iterator[ast.AST | None]:
    if isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation):
        yield node.value


def for_type_checkers(node: ast.AST) -> Iterator[ast.AST | None]:
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        yield node


def protocols(node: ast.AST) -> Iterator[ast.AST | None]:
    if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases):
        yield node


def texts(node: ast.AST) -> Iterator[ast.AST | None]:
    if isinstance(node, ast.JoinedStr):
        yield node
    if isinstance(node, ast.keyword) and node.arg == "stacklevel":
        yield node


def is_the_same_as_identity(mutant: Mutant) -> bool:
    """``is None`` and ``is`` a type, which ``==`` says too: none of our classes defines ``__eq__`` by itself."""
    return mutant.operator in _SAME_AS_IS


def is_identity_of_a_constant(mutant: Mutant) -> bool:
    """``== 1`` as ``is 1``: there is one object of each small number."""
    if mutant.operator not in _IS_INSTEAD:
        return False
    return any(isinstance(side, ast.Constant) and type(side.value) is int for side in sides_of(mutant))


def is_no_python(mutant: Mutant) -> bool:
    try:
        compile(mutant.source, mutant.file, "exec", dont_inherit=True)
    except SyntaxError:
        return True
    return False


def is_the_star_of_a_signature(mutant: Mutant) -> bool:
    """``*,`` as ``/,``: callers name what comes after it all the same."""
    return mutant.becomes in {mutant.line_text.replace(", *,", f", {slash},") for slash in ("/", " /")}


def is_a_guard(mutant: Mutant) -> bool:
    guards = ("slots", "frozen", "strict")
    return mutant.becomes in {mutant.line_text.replace(f"{each}=True", f"{each}=False") for each in guards}


def sides_of(mutant: Mutant) -> Iterator[ast.AST]:
    for node in ast.walk(ast.parse((ROOT / mutant.file).read_text())):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, right in pairwise(sides):
                if span(left)[1] <= (mutant.line, mutant.column) < span(right)[0]:
                    yield from (left, right)


KINDS: Final[dict[str, Callable[[Mutant], bool]]] = {
    "no Python any more, which any run would notice": is_no_python,
    "the star of a signature: callers name what comes after it all the same": is_the_star_of_a_signature,
    "annotations, which are never evaluated": within(types_said),
    "aliases of types, which are for type checkers": within(aliases),
    "protocols of types, which are for type checkers": within(protocols),
    "what guards or saves, and does nothing: slots, frozen, strict where lengths are alike": is_a_guard,
    "what only type checkers import": within(for_type_checkers),
    "the wording of errors and warnings, and the line a warning names": within(texts),
    "equality where identity is asked, of types and constants": is_the_same_as_identity,
    "identity where equality with a small number is asked: CPython has one of each": is_identity_of_a_constant,
}


def kind_of(mutant: Mutant) -> str | None:
    """Why a change is left out; None if it is not."""
    return next((kind for kind, is_of in KINDS.items() if is_of(mutant)), None)
