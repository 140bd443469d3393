"""Marks which statements have been executed: a marked copy of a file reports each statement before it runs.

``marked`` makes such a copy. It imports this module, and nothing else.
"""

from __future__ import annotations

import ast
from typing import Final

__all__ = ["mark", "marked", "seen"]

seen: Final[set[tuple[str, int]]] = set()
"""The files and first lines of the statements."""


def mark(file: str, line: int) -> None:
    seen.add((file, line))


def marked(file: str, text: str) -> str:
    """The text of a file whose functions mark each of their statements."""
    tree = ast.parse(text)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            _mark_within(file, function)
    lines = ast.unparse(tree).splitlines()
    after = max(at for at, line in enumerate(lines) if line.startswith("from __future__")) + 1
    return "\n".join([*lines[:after], f"from {__name__} import mark as _mark", *lines[after:], ""])


def _mark_within(file: str, node: ast.AST) -> None:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            setattr(node, name, [each for statement in block for each in _marked(file, statement)])
    for handler in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
        _mark_within(file, handler)


def _marked(file: str, statement: ast.stmt) -> list[ast.stmt]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):  # its turn comes by itself
        return [statement]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):  # a docstring
        return [statement]
    _mark_within(file, statement)
    call = ast.parse(f"_mark({file!r}, {statement.lineno})").body
    return [*call, statement]
