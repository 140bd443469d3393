"""The checker of clients that block on a list: they are served in the order in which they blocked."""

from __future__ import annotations

from conformance.histories import Facts
from conformance.histories.waiters import check
from tests.cases import for_each

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
    "by one push, each pops from its own end": three("p RPUSH x y z = 3 10 11", "x", "z", "y"),
    "by one push to the left": three("p LPUSH x y z = 3 10 11", "z", "x", "y"),
    "two values serve two of three waiters": three("p RPUSH x y = 2 10 11", "x", "y", "?"),
    "a waiter that disconnects is not served": three("a gone 8 8\n" + PUSHES, "?", "x", "y"),
    "a waiter after the last value waits on": three(PUSHES, "x", "y", "z") + "\nd BLPOP 0 ? 20",
    "a waiter that timed out is not served": "a BLPOP 0.1 = nil 0 5\np RPUSH x = 1 10 11\nb LPOP = x 12 13",
    "a push that failed pushed nothing": three("p RPUSH w ! OOM 6 7\n" + PUSHES, "x", "y", "z"),
    "a waiter that an error ended is not served": "a BLPOP 0 ! UNBLOCKED 0 5\na blocked 1 1\np RPUSH x = 1 10 11\nb LPOP = x 12 13",
    "values already there need no wait": "p RPUSH x y = 2 0 1\na BRPOP 0 = q y 2 3\nb BLPOP 0 = q x 4 5",
}

BAD = {
    "the youngest first": three(PUSHES, "z", "y", "x"),
    "two swapped": three(PUSHES, "y", "x", "z"),
    "the oldest waiter is not served": three(PUSHES, "?", "x", "y"),
    "values popped from the wrong end": three("p RPUSH x y z = 3 10 11", "z", "x", "y"),
    "a value given to a waiter that disconnected": three("a gone 8 8\n" + PUSHES, "?", "y", "z"),
    "one served for each push": three("p RPUSH x y z = 3 10 11", "x", "?", "?"),
}

UNCLEAR = {
    "two that blocked at once": THREE.replace("a blocked 1 1\n", "").format(
        a="= q x", b="= q y", c="= q z", ended=90
    ),
    "pushes at once": three("p RPUSH x = 1 10 20\no RPUSH y = 1 11 19", "x", "y", "?"),
    "another command on the list": three("d DEL = 0 6 7\n" + PUSHES, "x", "y", "z"),
    "a move into the list from another one": three("d LMOVE q LEFT LEFT = x 6 7\n" + PUSHES, "x", "y", "z"),
    "a command that nobody knows": three("d LPOS x = nil 6 7\n" + PUSHES, "x", "y", "z"),
    "a waiter on two lists": three("d BLPOP other 0 ? 6\n" + PUSHES, "x", "y", "z"),
    "a waiter that an error ended during a push": (
        "a BLPOP 0 ! UNBLOCKED 0 11\na blocked 1 1\np RPUSH x = 1 10 12"
    ),
    "a waiter that may have timed out": "a BLPOP 0.000000001 = nil 0 50\na blocked 1 1\np RPUSH x = 1 10 11",
}


@for_each("name", GOOD)
def test_waiters_served_in_order_are_ok(name: str) -> None:
    assert check(history(GOOD[name])).answer == "ok"


@for_each("name", BAD)
def test_waiters_served_out_of_order_are_illegal(name: str) -> None:
    verdict = check(history(BAD[name]))
    assert (verdict.answer, verdict.violation) == ("illegal", "waiters")
    assert verdict.operations


@for_each("name", UNCLEAR)
def test_an_order_that_cannot_be_known_is_not_illegal(name: str) -> None:
    verdict = check(history(UNCLEAR[name]))
    assert verdict.answer == "unknown"
    assert verdict.reason


def test_the_order_is_unknown_if_a_waiter_that_was_not_served_was_killed() -> None:
    lines = three(PUSHES, "?", "y", "z")
    assert check(history(lines)).answer == "illegal"
    assert check(history(lines, Facts(killed=frozenset("a")))).answer == "unknown"


def test_waiters_for_roles_are_not_judged() -> None:
    assert check(history(BAD["two swapped"], queue="jobs:producer_free")).answer == "ok"
