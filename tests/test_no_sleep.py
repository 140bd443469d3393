"""No test waits for a time: it waits for a condition, or for the end of what it starts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

HELPERS = {"sleep", "pause"}
"""Functions that wait for a time: those of ``time``, asyncio and Trio, and the one of ``tests/pressure/loops.py``.

A method named ``pause`` is none: it has something else pause, such as a server.
"""

UNTIL_CANCELLED = 10
"""Seconds from which on a sleep is there to be cancelled."""


def naps(tree: ast.AST, is_in_loop: bool = False) -> Iterator[ast.Call]:
    """The sleeps that are neither in a loop, which looks again after each, nor long enough to be cancelled."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            is_helper = getattr(node, "name", "") in HELPERS
            yield from () if is_helper else naps(node)
        elif isinstance(node, ast.While | ast.For | ast.AsyncFor):
            yield from naps(node, is_in_loop=looks_again(node))
        else:
            if isinstance(node, ast.Call) and not is_in_loop and is_nap(node):
                yield node
            yield from naps(node, is_in_loop)


def looks_again(loop: ast.While | ast.For | ast.AsyncFor) -> bool:
    """Whether a loop ends, or yields, once a condition holds: a mere repetition is one long sleep."""
    has_condition = isinstance(loop, ast.While) and not isinstance(loop.test, ast.Constant)
    return has_condition or any(
        isinstance(node, ast.Break | ast.Return | ast.Raise | ast.Yield) for node in ast.walk(loop)
    )


def is_nap(call: ast.Call) -> bool:
    name = getattr(call.func, "id", "") or getattr(call.func, "attr", "").replace("pause", "")
    match call.args:
        case [ast.Constant(value=int() | float() as seconds)]:
            return name in HELPERS and 0 < seconds < UNTIL_CANCELLED
    return name in HELPERS


def test_no_test_sleeps() -> None:
    here = Path(__file__).parent
    found = {
        f"{path.relative_to(here)}:{nap.lineno}": ast.unparse(nap)
        for path in here.rglob("*.py")
        if any(f"{name}(" in path.read_text() for name in HELPERS)  # to parse all would take seconds
        for nap in naps(ast.parse(path.read_text()))
    }
    assert not found, "wait for a condition instead, with until() of tests/waiting.py"


def test_a_sleep_is_found_unless_a_loop_looks_again_after_it() -> None:
    text = """
def test():
    time.sleep(0.1)
    while not over():
        time.sleep(0.1)
        def later():
            await pause()
    sleep(seconds)
    for _ in range(3):
        time.sleep(0.1)
    for _ in range(3):
        time.sleep(0.1)
        if over():
            break
    trio.sleep(0)
    server.pause(1)
    asyncio.sleep(10)
"""
    assert [nap.lineno for nap in naps(ast.parse(text))] == [3, 7, 8, 10]
