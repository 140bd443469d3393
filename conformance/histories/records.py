"""Histories as files: JSON Lines, flat, so that they fit a table.

A line with ``name`` is an operation, with the attributes of ``Operation``. Words are latin-1 between single
spaces; every byte but letters, digits and ``-._~:/+`` is percent-encoded, as in a URL, and an empty word is
a lone ``%``. A line with the same ``client`` and ``invoked`` as an earlier one replaces it: a client that
writes an operation when it begins, as open, and again when it is over leaves a good file wherever it is
killed.

A line with ``fact`` says something of the run: ``server``, ``slack`` and ``bound``, ``final``,
``overfilling``, ``killed``; ``about`` is the queue or the client that it is about, ``value`` a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from .model import Facts, History, Operation

__all__ = ["fact_rows", "operation_of", "read", "record_of", "rows_in", "text_of", "words_of", "write"]

_PLAIN: Final = "-._~:/+"
_EMPTY: Final = "%"


def text_of(words: Iterable[bytes] | None) -> str | None:
    """Words as one text; None for None."""
    if words is None:
        return None
    return " ".join([quote_from_bytes(word, _PLAIN) or _EMPTY for word in words])


def words_of(text: str | None) -> tuple[bytes, ...] | None:
    """The words that a text stands for."""
    if text is None:
        return None
    if "%" not in text:
        return tuple(text.encode("latin-1").split(b" ")) if text else ()
    return tuple(b"" if word == _EMPTY else unquote_to_bytes(word) for word in text.split(" "))


def record_of(operation: Operation) -> dict[str, str | int | None]:
    """An operation as a flat record."""
    return {
        "client": operation.client, "queue": operation.queue, "name": operation.name,
        "argument": text_of(operation.argument), "result": text_of(operation.result),
        "invoked": operation.invoked, "returned": operation.returned,
        "outcome": operation.outcome, "error": operation.error,
    }  # fmt: skip


def operation_of(record: Mapping[str, Any]) -> Operation:
    """The operation that a record stands for.

    Raises:
        KeyError: the record lacks something.
    """
    return Operation(
        record["client"], record["queue"], record["name"], words_of(record["argument"]) or (),
        words_of(record["result"]), record["invoked"], record["returned"], record["outcome"],
        record.get("error", ""),
    )  # fmt: skip


def fact_rows(facts: Facts) -> Iterator[dict[str, str]]:
    """What is known of a run as flat records."""
    yield _fact("server", "", facts.server)
    yield _fact("slack", "", str(facts.slack))
    for queue, bound in facts.bounds.items():
        yield _fact("bound", queue, str(bound))
    for queue, values in facts.final.items():
        yield _fact("final", queue, text_of(values) or "")
    for client in sorted(facts.overfilling):
        yield _fact("overfilling", client, "")
    for client in sorted(facts.killed):
        yield _fact("killed", client, "")


def _fact(fact: str, about: str, value: str) -> dict[str, str]:
    return {"fact": fact, "about": about, "value": value}


def facts_of(rows: Iterable[Mapping[str, str]]) -> Facts:
    """What flat records say of a run."""
    said: dict[str, dict[str, str]] = {}
    for row in rows:
        said.setdefault(row["fact"], {})[row["about"]] = row["value"]
    return Facts(
        server=said.get("server", {}).get("", ""),
        bounds={queue: int(bound) for queue, bound in said.get("bound", {}).items()},
        final={queue: words_of(values) or () for queue, values in said.get("final", {}).items()},
        overfilling=frozenset(said.get("overfilling", ())),
        killed=frozenset(said.get("killed", ())),
        slack=int(said.get("slack", {}).get("", 0)),
    )


def write(history: History, path: Path) -> None:
    """Writes a history to a file."""
    with path.open("w", encoding="ascii") as file:
        for row in fact_rows(history.facts):
            file.write(json.dumps(row) + "\n")
        for operation in history.operations:
            file.write(json.dumps(record_of(operation)) + "\n")


def read(*paths: Path) -> History:
    """Reads a history from a file, or from the files that its clients wrote.

    Raises:
        ValueError: a line is not a record.
        OSError: a file cannot be read.
    """
    operations: dict[tuple[str, int], Operation] = {}
    facts: list[Mapping[str, str]] = []
    for path in paths:
        for _, row in rows_in(path):
            if isinstance(row, Operation):
                operations[row.client, row.invoked] = row
            else:
                facts.append(row)
    ordered = sorted(operations.values(), key=lambda operation: operation.invoked)
    return History(ordered, facts_of(facts))


def rows_in(path: Path) -> Iterator[tuple[int, Operation | Mapping[str, str]]]:
    """The operations and facts in a file, each with the number of its line.

    A last line that is not whole is passed over: its writer was killed.

    Raises:
        ValueError: a line is not a record.
        OSError: the file cannot be read.
    """
    with path.open(encoding="latin-1") as file:
        for number, line in enumerate(file, 1):
            try:
                record: dict[str, Any] = json.loads(line)
                row = record if "fact" in record else operation_of(record)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                if line.endswith("\n"):
                    place = f"{path}, line {number}"
                    raise ValueError(f"{place}: not a record of a history: {line[:80]!r}") from error
            else:
                yield number, row
