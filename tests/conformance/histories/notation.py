"""Histories as tables: client, operation, arguments, ``=`` and a result, ``!`` and an error or ``?``, moments."""

from __future__ import annotations

from conformance.histories import Facts, History, Operation


def operation(line: str, queue: str = "q") -> Operation:
    words = line.split()
    open_ = "?" in words
    moments = [int(words.pop()) for _ in range(1 if open_ else 2)][::-1]
    client, name, *rest = words
    for mark in "=!?":
        if mark in rest:
            at = rest.index(mark)
            said, rest = rest[at + 1 :], rest[:at]
            break
    else:
        mark, said = "", []
    result = tuple(map(str.encode, said)) if mark == "=" else None
    if mark == "!" and len(said) > 1:  # of a put_many, how much was put
        result = (said[1].encode(),)
    if said == ["nil"]:
        result = None
    outcome = {"!": "error", "?": "open"}.get(mark, "ok")
    error = said[0] if mark == "!" else ""
    returned = None if open_ else moments[1]
    argument = tuple(map(str.encode, rest))
    return Operation(client, queue, name, argument, result, moments[0], returned, outcome, error)  # type: ignore[arg-type]


def table(lines: str, queue: str = "q") -> list[Operation]:
    return [operation(line, queue) for line in lines.strip().splitlines() if line.strip()]


def history(lines: str, facts: Facts | None = None, queue: str = "q") -> History:
    return History(table(lines, queue), facts or Facts())
