"""The pieces of a queue's history, computed without Spark in the plainest way."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from conformance.histories.model import NEVER, Facts, Operation
from conformance.histories.parquet.borders import MAYBE_TAKEN, NEVER_CAME
from conformance.histories.parquet.columns import SCHEMA, rows_of_facts, values_of

FIRSTS = pa.list_(pa.struct([("piece", pa.int32()), ("client", pa.string()), ("looked", pa.int32())]))
PIECES = pa.schema(
    [*SCHEMA, ("group", pa.string()), ("piece", pa.int32()), ("firsts", FIRSTS), ("own", pa.bool_())]
)


def settlements(operations: list[Operation]) -> dict[tuple[str, int], Operation | None]:
    """What settled each receive."""
    found: dict[tuple[str, int], Operation | None] = {}
    held: dict[str, Operation] = {}
    for each in sorted(operations, key=lambda each: each.invoked):
        if each.name == "receive" and each.outcome == "ok":
            held[each.client] = each
            found[each.client, each.invoked] = None
        elif each.name in {"ack", "put_back"} and each.client in held:
            found[each.client, held.pop(each.client).invoked] = each
    return found


def quiet_moments(operations: list[Operation]) -> list[int]:
    settled, over, found = settlements(operations), 0, []
    for each in sorted(operations, key=lambda each: each.invoked):
        if over and over < each.invoked:
            found.append(each.invoked)
        by = settled.get((each.client, each.invoked), each)
        over = max(over, by.end if by else NEVER)
    return found


def put_by(operation: Operation) -> tuple[bytes, ...]:
    if operation.name not in {"put", "put_many"}:
        return ()
    if operation.outcome == "error":
        return operation.argument[: int((operation.result or (b"0",))[0])]
    return operation.argument


def taken_by(operation: Operation, settled: dict[tuple[str, int], Operation | None]) -> tuple[bytes, ...]:
    by = settled.get((operation.client, operation.invoked))
    acknowledged = by is not None and by.name == "ack" and by.outcome == "ok"
    got = operation.name in {"get", "get_many"} and operation.outcome == "ok"
    return (operation.result or ()) if got or (operation.name == "receive" and acknowledged) else ()


def pieces(queue: str, operations: list[Operation], facts: Facts, cuts: list[int]) -> Iterator[pa.Table]:
    """The table of each piece, if it is cut at some moments."""
    last, settled = len(cuts), settlements(operations)
    rows: list[tuple[Any, ...]] = []

    def piece_of(operation: Operation) -> int:
        return bisect_right(cuts, operation.invoked)

    maybe = {
        value
        for each in operations
        if (by := settled.get((each.client, each.invoked), each)) is not each
        and not (by and by.outcome == "ok")
        for value in each.result or ()
    }
    takes: dict[bytes, tuple[int, int, str]] = {}
    seen: dict[bytes, set[int]] = {value: {last} for value in facts.final.get(queue, ())}

    looks: dict[bytes, int] = {}

    def first(value: bytes) -> dict[str, Any]:
        piece, _, client = takes.get(value, (None, 0, None))
        if piece is None:
            piece = MAYBE_TAKEN if value in maybe else NEVER_CAME
        return {"piece": piece, "client": client, "looked": looks.get(value)}

    for each in operations:
        for value in taken_by(each, settled):
            takes[value] = min(takes.get(value, (NEVER, 0, "")), (piece_of(each), each.invoked, each.client))
        looked = (each.result or ()) if each.name == "receive" and each.outcome == "ok" else ()
        for value in looked:
            looks[value] = min(looks.get(value, last), piece_of(each))
        for value in (*taken_by(each, settled), *looked):
            seen.setdefault(value, set()).add(piece_of(each))
    for each in operations:
        rows.append((*values_of(each), queue, piece_of(each), None, True))
        if each.name == "close" and each.outcome == "ok":
            rows += [
                (*values_of(each), queue, later, None, False) for later in range(piece_of(each) + 1, last + 1)
            ]
        values = put_by(each)
        until = max((takes[value][0] if value in takes else last for value in values), default=0)
        into = set(range(piece_of(each) + 1, until + 1))
        for value in values:
            if value in takes:
                into |= {piece for piece in seen[value] if piece > max(takes[value][0], piece_of(each))}
        firsts = [first(value) for value in values]
        if any(each["piece"] in {NEVER_CAME, MAYBE_TAKEN} for each in firsts):
            into.add(piece_of(each))
        carried = Operation(each.client, queue, each.name, values, None, each.invoked, each.returned)
        rows += [(*values_of(carried), queue, piece, firsts, False) for piece in into]
    for row in rows_of_facts(facts):
        into = {last} if row[2] == "final" else set(range(last + 1)) if row[2] == "bound" else set()
        rows += [(*row, queue, piece, None, True) for piece in into]
    for piece in range(last + 1):
        mine = [row for row in rows if row[10] == piece]
        arrays = [
            pa.array(column, field.type)
            for column, field in zip(zip(*mine, strict=True), PIECES, strict=True)
        ]
        yield pa.Table.from_arrays(arrays, schema=PIECES)
