"""Which package may import which: miniredis none of the others, pressure only miniredis."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def imported(package: str) -> Iterator[tuple[str, str]]:
    """Each module of a package, with each package that it imports by its whole name."""
    for path in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from ((str(path.relative_to(ROOT)), each.name.partition(".")[0]) for each in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield str(path.relative_to(ROOT)), node.module.partition(".")[0]


@pytest.mark.parametrize(
    ("package", "others"),
    [("miniredis", {"pressure", "conformance", "tests"}), ("pressure", {"conformance", "tests"})],
)
def test_a_package_imports_none_that_is_built_upon_it(package: str, others: set[str]) -> None:
    assert [f"{module} imports {name}" for module, name in imported(package) if name in others] == []
