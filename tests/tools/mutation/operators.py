"""Generates mutants: every small change that a table of operators makes to a file of Python, and to the Lua in it.

Python is changed by the nodes of its syntax tree, Lua by token. What nothing ever evaluates (annotations, types for
type checkers) and the wording of texts are left as they are. To add an operator, add a row to ``INSTEAD`` or ``SWAPS``,
or a function to ``BY_NODE``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, TypeAlias

from .model import ROOT, Mutant

__all__ = ["mutants_of"]

Change: TypeAlias = tuple[int, int, str, str]
"""Where it begins and ends, what stands there then, and the operator's name."""

INSTEAD: Final[dict[str, tuple[str, ...]]] = {
    "==": ("!=",), "!=": ("==",), "~=": ("==",), "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
    "is": ("is not",), "is not": ("is",), "in": ("not in",), "not in": ("in",), "and": ("or",), "or": ("and",),
    "+": ("-",), "-": ("+",), "*": ("//",), "//": ("*",), "/": ("*",), "%": ("*",), "<<": (">>",), ">>": ("<<",),
    "&": ("|",), "|": ("&",), "^": ("&",), "True": ("False",), "False": ("True",), "true": ("false",), "false": ("true",),
    "break": ("continue",), "continue": ("break",),
}  # fmt: skip
"""What operators, constants and jumps become, in either language."""

SWAPS: Final = {
    one: other
    for pair in ("LPUSH RPUSH", "LPOP RPOP", "BLPOP BRPOP", "LEFT RIGHT", "NX XX", "INCRBY DECRBY", "ZRANGE ZREVRANGE",
                 "ZPOPMIN ZPOPMAX", "EXISTS LLEN", "PX EX")
    for one, other in (pair.split(), pair.split()[::-1])
}  # fmt: skip
"""Commands of Redis and their words that take each other's place in bytes and in Lua."""

UNUSED_WORDS: Final = {"slots", "frozen", "strict", "stacklevel", "repr", "compare"}
"""Keyword arguments that guard or tell something, and do nothing."""

LUA: Final = re.compile(
    r"(?P<comment>--[^\n]*)|(?P<text>'[^'\n]*'|\"[^\"\n]*\")|(?P<number>\b\d+\b)|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<operator>[=~<>]=|\.\.|[-+*/<>#=(),{}\[\]])"
)
CALL: Final = re.compile(r"^[ \t]*((?:redis\.p?call|[a-z_]+)\([^\n]*\))[ \t]*$", re.MULTILINE)
ASSIGNMENT: Final = re.compile(r"^[ \t]*((?!local )[a-z_]\w*(?:\[[^\n=]*\])? = [^\n]*)$", re.MULTILINE)
CONDITION: Final = re.compile(r"\b(?:if|elseif|while) ([^\n]+?) (?:then|do)\b")


def mutants_of(file: str) -> Iterator[Mutant]:
    """All mutants of a file, in the order of its text."""
    source = (ROOT / file).read_text()
    tree = ast.parse(source)
    places = Places(source)
    for start, end, becomes, name in sorted(set(changes_within(tree, places))):
        yield Mutant(name, file, source[start:end], becomes, at=start)


class Places:
    """The text of a file by lines and columns, as a syntax tree counts them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = [line.encode() for line in text.splitlines(keepends=True)]
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line.decode()))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node begins and ends in the text."""
        at = vars(node)
        return self._at(at["lineno"], at["col_offset"]), self._at(at["end_lineno"], at["end_col_offset"])

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1][:column].decode())


def changes_within(node: ast.AST, places: Places) -> Iterator[Change]:
    """The changes of a node and of all that is in it."""
    for by_node in BY_NODE:
        yield from by_node(node, places)
    left_out = {id(each) for each in (*never_run(node), *says_nothing(node))}
    for child in ast.iter_child_nodes(node):
        if id(child) not in left_out:
            yield from changes_within(child, places)


def never_run(node: ast.AST) -> Iterator[ast.AST | None]:
    """What in a node is for readers and type checkers only."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield node.returns
        case ast.arg():
            yield node.annotation
        case ast.AnnAssign():
            yield from (
                ast.iter_child_nodes(node)
                if "TypeAlias" in ast.unparse(node.annotation)
                else [node.annotation]
            )
        case ast.JoinedStr():
            yield from ast.iter_child_nodes(node)
        case ast.Call():
            yield from (each for each in node.keywords if each.arg in UNUSED_WORDS)
        case ast.If() if ast.unparse(node.test) == "TYPE_CHECKING":
            yield from ast.iter_child_nodes(node)
    for child in ast.iter_child_nodes(node):
        is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        is_protocol = isinstance(child, ast.ClassDef) and "Protocol" in map(ast.unparse, child.bases)
        if is_text or is_protocol:
            yield child


def says_nothing(node: ast.AST) -> Iterator[ast.AST]:
    """The last statement of a function that returns None, which the function does without it, too."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        last = node.body[-1]
        if isinstance(last, ast.Return) and (last.value is None or ast.unparse(last.value) == "None"):
            yield last


def operator_between(left: ast.AST, right: ast.AST, places: Places, name: str) -> Iterator[Change]:
    start, end = places.span(left)[1], places.span(right)[0]
    found = re.search(r"is not\b|not in\b|[a-z]+|[=!<>]=|//|\*\*|<<|>>|[-+*/%<>&|^]", places.text[start:end])
    for instead in INSTEAD.get(found[0], ()) if found else ():
        yield start + found.start(), start + found.end(), instead, name  # type: ignore[union-attr]


def operators(node: ast.AST, places: Places) -> Iterator[Change]:
    match node:
        case ast.Compare():
            for left, right in pairwise([node.left, *node.comparators]):
                yield from operator_between(left, right, places, "compares otherwise")
        case ast.BoolOp():
            for left, right in pairwise(node.values):
                yield from operator_between(left, right, places, "joins conditions otherwise")
        case ast.BinOp() if not isinstance(node.left, ast.JoinedStr):
            yield from operator_between(node.left, node.right, places, "calculates otherwise")
        case ast.UnaryOp(ast.Not() | ast.USub()):
            start = places.span(node)[0]
            yield start, start + (3 if isinstance(node.op, ast.Not) else 1), "", "leaves a sign or a not out"


def constants(node: ast.AST, places: Places) -> Iterator[Change]:
    if not isinstance(node, ast.Constant):
        return
    start, end = places.span(node)
    match node.value:
        case bool():
            yield start, end, INSTEAD[places.text[start:end]][0], "has the other constant"
        case int():
            yield from ((start, end, str(node.value + step), "has another number") for step in (1, -1))
        case bytes() if (word := node.value.decode("latin-1")) in SWAPS:
            yield start, end, f'b"{SWAPS[word]}"', "sends another word"
        case bytes() | str() if "\n" in places.text[start:end]:
            text = places.text[start:end]
            if "redis." in text or "local " in text:
                yield from (
                    (start + first, start + last, becomes, f"Lua: {name}")
                    for first, last, becomes, name in lua_changes(text)
                )


def statements(node: ast.AST, places: Places) -> Iterator[Change]:
    """Leaves a statement out, or negates its condition."""
    start, end = places.span(node) if hasattr(node, "lineno") else (0, 0)
    match node:
        case ast.Break() | ast.Continue():
            yield start, end, INSTEAD[places.text[start:end]][0], "jumps elsewhere"
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Return() | ast.Delete():
            yield start, end, "pass", "leaves a statement out"
        case (
            ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_])
            | ast.AnnAssign(target=ast.Attribute(), value=ast.expr())
        ):
            yield start, end, "pass", "leaves a statement out"
        case ast.If() if ast.unparse(node.test) == "TYPE_CHECKING":
            pass  # it is false wherever anything runs
        case ast.If() | ast.While() | ast.IfExp():
            yield from negated(node.test, places)
        case ast.comprehension():
            for each in node.ifs:
                yield from negated(each, places)


def negated(test: ast.expr, places: Places) -> Iterator[Change]:
    """The condition's opposite, where no operator of its own makes it."""
    simple = isinstance(test, ast.Compare) and len(test.ops) == 1
    if not simple and not isinstance(test, ast.UnaryOp | ast.Constant):
        start, end = places.span(test)
        yield start, end, f"not ({places.text[start:end]})", "negates a condition"


BY_NODE: Final[tuple[Callable[[ast.AST, Places], Iterator[Change]], ...]] = (operators, constants, statements)


def lua_changes(text: str) -> Iterator[Change]:
    """The changes of a text in Lua."""
    for pattern in (CALL, ASSIGNMENT):
        for found in pattern.finditer(text):
            if found[1].count("(") == found[1].count(")") and not found[1].startswith("function"):
                yield *found.span(1), "", "leaves a statement out"
    for found in CONDITION.finditer(text):
        if re.search(r" (and|or) |^(?!not )[^=<>]+$", found[1]):
            yield *found.span(1), f"not ({found[1]})", "negates a condition"
    before = "("
    for token in LUA.finditer(text):
        if token.lastgroup != "comment":
            yield from lua_token(token, before)
            before = token[0]


def lua_token(token: re.Match[str], before: str) -> Iterator[Change]:
    word, (start, end) = token[0], token.span()
    match token.lastgroup:
        case "text" if word[1:-1] in SWAPS:
            yield start, end, f"'{SWAPS[word[1:-1]]}'", "sends another word"
        case "number":
            yield from (
                (start, end, str(int(word) + step), "has another number")
                for step in (1, -1)
                if int(word) + step >= 0
            )
        case "word" if word == "not":
            yield start, end, "", "leaves a sign or a not out"
        case "operator" if word == "-" and not re.match(r"[\w)\]'\"]", before[-1]):
            yield start, end, "", "leaves a sign or a not out"
        case "word" | "operator" if word not in {"in", "break"}:
            yield from (
                (start, end, instead.replace("!=", "~="), "has another operator")
                for instead in INSTEAD.get(word, ())
            )
