"""None of our regular expressions takes quadratic time, whatever the text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import conformance
import miniredis
import pressure
from tests.cases import for_each

from .backtracking import fault

COMPILED = {"compile", "template"}
USES = {"match", "fullmatch", "search", "findall", "finditer", "sub", "subn", "split"}


OWN = {
    "pressure/methods/methods.py": "reads annotations of our own functions",
    "conformance/reports/model.py": "reads one line of our own about a server",
}
"""The files whose patterns may take more than linear time, and why."""


BUILT = {"miniredis/engine/glob.py", "miniredis/engine/faults/fault_rules.py"}
"""Files that build patterns, from parts that all have a fixed length: test_glob.py times the worst one.

Those of fault rules have nothing that repeats.
"""


class Pattern(NamedTuple):
    """A regular expression in our code, and one way in which it is used there."""

    place: str
    text: str | bytes
    flags: int
    use: str


def patterns_of(tree: ast.Module, place: str) -> Iterator[Pattern]:
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := function_of_re(node)) in USES | COMPILED:
            if place in BUILT and not isinstance(node.args[0], ast.Constant):
                continue
            text, flags = ast.literal_eval(node.args[0]), flags_of(node)
            for use in uses(node, tree, parents) if name in COMPILED else [name]:
                yield Pattern(f"{place}:{node.lineno}", text, flags, use)


def function_of_re(call: ast.Call) -> str:
    function = call.func
    is_res = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
    return function.attr if is_res and function.value.id == "re" else ""  # type: ignore[attr-defined]


def flags_of(call: ast.Call) -> int:
    names = [each.attr for each in ast.walk(call) if isinstance(each, ast.Attribute) and each.attr.isupper()]
    return sum(getattr(re, name) for name in names)


def uses(call: ast.Call, tree: ast.Module, parents: dict[ast.AST, ast.AST]) -> list[str]:
    """The methods of a compiled pattern that are called; ``search`` where no call is found."""
    parent = parents[call]
    if isinstance(parent, ast.Attribute):
        return [parent.attr]
    target = parent.target if isinstance(parent, ast.AnnAssign) else None
    names = [node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    used = [
        parents[name].attr  # type: ignore[attr-defined]
        for name in names
        if isinstance(target, ast.Name) and isinstance(name, ast.Name) and name.id == target.id
    ]
    return used or ["search"]


def our_patterns() -> Iterator[Pattern]:
    for package in (miniredis, pressure, conformance):
        assert package.__file__ is not None
        folder = Path(package.__file__).parent
        for path in sorted(folder.rglob("*.py")):
            source = path.read_text()
            assert "from re import" not in source, f"{path} hides patterns from this test: import re"
            place = str(path.relative_to(folder.parent))
            if "import re\n" in source and place not in OWN:
                yield from patterns_of(ast.parse(source), place)


def test_our_regular_expressions_take_linear_time() -> None:
    found = list(our_patterns())
    assert len(found) > 30
    faults = {f"{each.place} {each.text!r}, {each.use}": fault(*each[1:]) for each in found}
    assert {place: why for place, why in faults.items() if why} == {}


@for_each(
    ("pattern", "use"),
    [
        (rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?", "fullmatch"),
        (r"a+a+", "fullmatch"), (r"\d+\s*\d+x", "match"), (r".*a.*b", "match"), (r"(a+)+b", "match"),
        (r"(?:ab|a.)*c", "match"), (r"(?:a|ab|b)*c", "match"), (r"(?:a*)*b", "match"), (r"(?:a{1,30}){1,30}b", "match"),
        (r"a{0,5000}a{0,5000}b", "match"), (r"(?i)a+A+b", "match"), (r"\w+[^ ]*!", "match"), (r"x*?x*?y", "match"),
        (r"(?>a+a+b)", "match"), (r"(?:a+a+b)*+", "match"), (r"(?!a+a+b)c", "match"), (r"a+b", "search"),
        (r"a++b", "search"), (r"(?:x|y+)z", "sub"), (r"(.*)=(.*)", "fullmatch"), (r"(?:é|\w+)+$", "match"),
    ],
)  # fmt: skip
def test_a_pattern_that_backtracks_is_found(pattern: Any, use: str) -> None:
    assert fault(pattern, use=use)


@for_each(
    ("pattern", "use"),
    [
        (rb"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:e[+-]?[0-9]++)?", "fullmatch"),
        (r"a++a+b", "fullmatch"), (r"[0-9]+\.[0-9]+", "fullmatch"), (r"a*b*c", "match"), (r"(?:[^'\\]|\\.)*'", "match"),
        (r"(?:ab)*c", "match"), (r"[0-9]+", "findall"), (r"x[0-9]+", "sub"), (r"(?:a+b)*c", "match"),
        (r"[a-z]+:.*", "match"), (r"(?m)^[a-z]+=", "search"), (r"^a+b", "search"), (r"a+(?:\.a+)*", "findall"),
        (r"(?>.*=)x", "match"), (r"a{1,5}a{1,5}b", "match"),
    ],
)  # fmt: skip
def test_a_pattern_that_does_not_backtrack_is_accepted(pattern: Any, use: str) -> None:
    assert fault(pattern, use=use) is None
