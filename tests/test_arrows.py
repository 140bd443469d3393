"""Which package, and which folder of the engine, may import which; and that imports go in no circle."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parents[1]

LOWER: Final = {
    "numbers": {"protocol"},
    "protocol": {"numbers"},
    "values": {"numbers", "protocol", "versions"},
    "keyspace": {"protocol", "values"},
    "rdb": {"keyspace", "numbers", "protocol", "values", "versions"},
    "declarations": {"numbers", "protocol", "versions"},
    "config": {"acl", "glob", "keyspace", "numbers", "versions"},
}
"""The folders of the engine that know neither clients nor the engine, not even their types: what each may import."""


class Import(NamedTuple):
    """A module imports another module, or a name of it; at run time, or only for types."""

    importer: str
    imported: str
    is_for_types: bool


@cache
def imports(package: str) -> tuple[Import, ...]:
    return tuple(
        each for path in sorted((ROOT / package).rglob("*.py")) for each in imports_of(path.relative_to(ROOT))
    )


def imports_of(path: Path) -> Iterator[Import]:
    tree = ast.parse((ROOT / path).read_text())
    name = dotted(path)
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(name, each.name, node in for_types) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = path.parent.parts[: len(path.parent.parts) + 1 - node.level] if node.level else ()
            base = ".".join((*parents, *([node.module] if node.module else [])))
            yield from (
                Import(name, part if is_module(part := f"{base}.{each.name}") else base, node in for_types)
                for each in node.names
            )


def dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


@cache
def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@pytest.mark.parametrize(
    ("package", "others"),
    [("miniredis", {"pressure", "conformance", "tests"}), ("pressure", {"conformance", "tests"})],
)
def test_a_package_imports_none_that_is_built_upon_it(package: str, others: set[str]) -> None:
    assert [each for each in imports(package) if each.imported.partition(".")[0] in others] == []


@pytest.mark.parametrize("folder", LOWER)
def test_a_lower_folder_of_the_engine_imports_only_lower_ones(folder: str) -> None:
    engine = "miniredis.engine."
    own = [each for each in imports("miniredis") if each.importer.startswith(f"{engine}{folder}.")]
    found = {each.imported.removeprefix(engine).partition(".")[0] for each in own if engine in each.imported}
    assert found - {folder} <= LOWER[folder]


@pytest.mark.parametrize("package", ["miniredis", "pressure"])
def test_imports_at_run_time_go_in_no_circle(package: str) -> None:
    """Those within functions neither: such an import is there to save time, not because of a circle."""
    graph = defaultdict(set)
    for each in imports(package):
        if not each.is_for_types and each.imported != each.importer:
            graph[each.importer].add(each.imported)
    TopologicalSorter(graph).prepare()
