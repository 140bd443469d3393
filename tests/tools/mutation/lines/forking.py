"""A process that has imported everything and collected the tests, and forks a child for each mutant.

A child is forked in a millisecond, has the code of the changed functions put in the place of the old, and
runs its tests until the first that fails. Run as ``python -m tests.tools.mutation.lines.forking TESTS...`` in a copy of
the project; each line of its input is an order, each of its output what became of it, both JSON.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final

import pytest

__all__ = ["FELL_OVER", "ForkServer", "changed_code", "put_in"]

FELL_OVER: Final = 70
"""How a child ends that could not carry out its order."""

DEFAULT_RUN: Final = "not slow and not frameworks and not faults"


class ForkServer:
    """A plugin of pytest that takes orders where the tests would run."""

    def __init__(self, orders: Any, answers: Any) -> None:
        self.orders, self.answers = orders, answers

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        self._say({"ready": len(items)})
        for line in self.orders:
            self._say(self._carry_out(session, items, json.loads(line)))
        return True

    def _say(self, answer: dict[str, Any]) -> None:
        self.answers.write(json.dumps(answer) + "\n")
        self.answers.flush()

    def _carry_out(
        self, session: pytest.Session, items: dict[str, pytest.Item], order: dict[str, Any]
    ) -> dict[str, Any]:
        begin = time.monotonic()
        note = Path("current-test")
        note.write_text("")
        child = os.fork()
        if not child:
            status = FELL_OVER
            try:
                os.setsid()
                status = in_child(session, items, order, note)
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # the servers that it started
        ended = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return {"ended": ended, "test": note.read_text(), "seconds": round(time.monotonic() - begin, 2)}


def in_child(
    session: pytest.Session, items: dict[str, pytest.Item], order: dict[str, Any], note: Path
) -> int:
    """Runs the tests of an order; 0 if all pass, 1 if one does not."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    if order["source"] is not None:
        assert put_in(str(Path(order["file"]).resolve()), order["source"]), "nobody would see the change"
    tests = [(items[name], limit) for name, limit in order["tests"] if name in items]
    for (item, limit), after in zip(tests, [*tests[1:], (None, 0)], strict=True):
        note.write_text(item.nodeid)
        signal.setitimer(signal.ITIMER_REAL, limit)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after[0])
        signal.setitimer(signal.ITIMER_REAL, 0)
        if session.testsfailed:
            return 1
    return 0


def put_in(path: str, source: str) -> int:
    """Has all functions of a file do what the changed file says; how many were changed."""
    new = dict(changed_code(compile(source, path, "exec", dont_inherit=True)))
    count = 0
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename == path:
            code = new[each.__code__.co_qualname, each.__code__.co_firstlineno]
            if code != each.__code__:
                each.__code__ = code
                count += 1
    return count


def changed_code(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    """The code of all functions of a file, by name and first line."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield (each.co_qualname, each.co_firstlineno), each
            yield from changed_code(each)


def main(arguments: list[str]) -> int:
    orders, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number in (1, 2):
        os.dup2(log, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    options = [
        "-q",
        "-s",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        "-o",
        "addopts=",
        "-m",
        DEFAULT_RUN,
        "--tb=line",
    ]
    return pytest.main([*options, *arguments], plugins=[ForkServer(orders, answers)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
