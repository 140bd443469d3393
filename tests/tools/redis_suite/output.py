"""What Redis's suite prints, read into results.

Each result is a line such as ``[ok]: LPOP (3 ms)``. That of a failure goes on over further lines. At the end
the suite prints ``The End`` and all failures once more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

__all__ = ["OUTSIDE", "Failure", "Results", "read"]

OUTSIDE: Final = "(outside a test)"
"""The name of a failure between tests: the rest of a group of tests, or of the file, did not run."""

STATUS: Final = re.compile(r"\[(?:\d+/\d+ )?(\w+)\]: ?(.*)").fullmatch
TOOK: Final = re.compile(r" \(\d+ ms\)$")
PLACE: Final = re.compile(r" in tests/[\w./-]+\.tcl$")
THE_END: Final = "The End"


@dataclass(frozen=True, slots=True)
class Failure:
    """A test that failed.

    Attributes:
        test: its name, or ``OUTSIDE``.
        message: what the suite says about it.
    """

    test: str
    message: str


@dataclass(slots=True)
class Results:
    """What became of the tests of one file.

    Attributes:
        passed: names of tests, as often as they passed.
        failed: in their order.
        skipped: names of tests that were told to be skipped.
        ignored: why tests, or groups of them, skipped themselves: ``Tag: needs:repl denied``.
        complete: the suite came to its end.
        ending: why it did not.
    """

    passed: list[str] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    complete: bool = False
    ending: str = ""


def read(text: str) -> Results:
    """The results in what the suite printed, which may have been cut off."""
    results = Results()
    for status, lines in entries(text):
        head, body = lines[0], "\n".join(lines[1:]).strip()
        match status:
            case "ok":
                results.passed.append(TOOK.sub("", head))
            case "skip":
                results.skipped.append(head)
            case "ignore":
                results.ignored.append(head)
            case "err" if PLACE.search(head):
                results.failed.append(Failure(PLACE.sub("", head), body))
            case "err" | "exception" | "TIMEOUT":
                results.failed.append(Failure(OUTSIDE, "\n".join([head, body]).strip()))
            case "end":
                results.complete = True
    return results


def entries(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each status with its lines."""
    status, lines = "", [""]
    for line in text.splitlines():
        if line.strip() == THE_END:
            yield status, lines
            yield "end", [""]
            return
        if found := STATUS(line):
            yield status, lines
            status, lines = found[1], [found[2]]
        else:
            lines.append(line)
    yield status, lines
