"""The checker of those who wait on a list."""

from __future__ import annotations

import pytest

from conformance.histories import Facts
from conformance.histories.waiters import check

from .notation import history

THREE = """
a BLPOP 0 {a} 0 {ended}
a blocked 1 1
b BRPOP 0 {b} 2 {ended}
b blocked 3 3
c BLPOP 0 {c} 4 {ended}
c blocked 5 5
"""


def three(pushes: str, a: str, b: str, c: str, ended: int = 90) -> str:
    words = {
        name: f"= q {value}" if value not in {"?", "nil"} else "= nil"
        for name, value in zip("abc", (a, b, c), strict=True)
    }
    lines = THREE.format(**words, ended=ended)
    open_ = [name for name, value in zip("abc", (a, b, c), strict=True) if value == "?"]
    for name in open_:
        lines = "\n".join(
            line.replace("= nil", "?").replace(f" {ended}", "") if line.startswith(f"{name} B") else line
            for line in lines.splitlines()
        )
    return f"{lines}\n{pushes}"


PUSHES = "p RPUSH x = 1 10 11\np RPUSH y = 1 12 13\np RPUSH z = 1 14 15"

GOOD = {
    "in order": three(PUSHES, "x", "y", "z"),
    "by one push, each from its end": three("p RPUSH x y z = 3 10 11", "x", "z", "y"),
    "by one push to the left": three("p LPUSH x y z = 3 10 11", "z", "x", "y"),
    "two served, one waits on": three("p RPUSH x y = 2 10 11", "x", "y", "?"),
    "one that hung up": three("a gone 8 8\n" + PUSHES, "?", "x", "y"),
    "one that came too late": three(PUSHES, "x", "y", "z") + "\nd BLPOP 0 ? 20",
    "one whose time was over": "a BLPOP 0.1 = nil 0 5\np RPUSH x = 1 10 11\nb LPOP = x 12 13",
    "what is there at once": "p RPUSH x y = 2 0 1\na BRPOP 0 = q y 2 3\nb BLPOP 0 = q x 4 5",
}

BAD = {
    "the youngest first": three(PUSHES, "z", "y", "x"),
    "two swapped": three(PUSHES, "y", "x", "z"),
    "one forgotten": three(PUSHES, "?", "x", "y"),
    "the wrong end": three("p RPUSH x y z = 3 10 11", "z", "x", "y"),
    "served though it hung up": three("a gone 8 8\n" + PUSHES, "?", "y", "z"),
    "one served for each push": three("p RPUSH x y z = 3 10 11", "x", "?", "?"),
}

UNCLEAR = {
    "two that blocked at once": THREE.replace("a blocked 1 1\n", "").format(
        a="= q x", b="= q y", c="= q z", ended=90
    ),
    "pushes at once": three("p RPUSH x = 1 10 20\no RPUSH y = 1 11 19", "x", "y", "?"),
    "a time that may have been over": "a BLPOP 0.000000001 = nil 0 50\na blocked 1 1\np RPUSH x = 1 10 11",
}


@pytest.mark.parametrize("name", GOOD)
def test_good(name: str) -> None:
    assert check(history(GOOD[name])).answer == "ok"


@pytest.mark.parametrize("name", BAD)
def test_bad(name: str) -> None:
    verdict = check(history(BAD[name]))
    assert (verdict.answer, verdict.violation) == ("illegal", "waiters")
    assert verdict.operations


@pytest.mark.parametrize("name", UNCLEAR)
def test_unclear(name: str) -> None:
    verdict = check(history(UNCLEAR[name]))
    assert verdict.answer == "unknown"
    assert verdict.reason


def test_a_waiter_that_was_killed() -> None:
    lines = three(PUSHES, "?", "y", "z")
    assert check(history(lines)).answer == "illegal"
    assert check(history(lines, Facts(killed=frozenset("a")))).answer == "unknown"


def test_waiters_for_roles_are_nobodys_business() -> None:
    assert check(history(BAD["two swapped"], queue="jobs:producer_free")).answer == "ok"
