"""The engine does no I/O and reads no clock: it imports nothing by which it could."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import miniredis.engine

FOLDER = Path(miniredis.engine.__file__).parent

ALLOWED = {
    "__future__", "anycrc", "array", "binascii", "bisect", "collections", "contextlib", "dataclasses", "decimal", "enum", "functools",
    "hashlib", "heapq", "hiredis", "io", "ipaddress", "itertools", "math", "operator", "random", "re", "struct", "types",
    "typing",
}  # fmt: skip
"""Modules that only compute; hiredis is a parser, and of io, BytesIO may be used. Neither trio nor socket nor
a clock is among them. The table of the modules of commands loads these by name."""


def imported(nodes: list[ast.AST], path: Path) -> Iterator[str]:
    """The modules from outside the engine that a file imports, inside functions too."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.ImportFrom):
            depth = len(path.relative_to(FOLDER).parts)
            assert node.level <= depth, f"{path.name} imports from outside the engine"


def test_engine_imports_neither_trio_nor_socket_nor_a_clock() -> None:
    files = list(FOLDER.rglob("*.py"))
    assert len(files) > 15
    for path in files:
        allowed = ALLOWED | {"importlib"} if path == FOLDER / "commands" / "__init__.py" else ALLOWED
        nodes = [*ast.walk(ast.parse(path.read_text()))]
        assert set(imported(nodes, path)) <= allowed, path.name
        assert not {"open", "input", "__import__", "io", "FileIO"} & {
            node.id for node in nodes if isinstance(node, ast.Name)
        }, path.name


def test_engine_alone_loads_no_trio() -> None:
    program = (
        "import sys; package = type(sys)('miniredis'); package.__path__ = [sys.argv[1]]\n"
        "sys.modules['miniredis'] = package\n"
        "import miniredis.engine; print(*{'trio', 'socket', 'selectors', 'redis'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{program}", str(FOLDER.parent)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.strip() == ""
