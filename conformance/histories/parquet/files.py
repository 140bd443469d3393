"""Histories in Parquet files: written in groups of rows, so that nothing is held but the group that grows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from ..model import History, Operation
from ..records import facts_of
from ..records import rows_in as rows_of_file
from .columns import SCHEMA, Row, facts_in, operations_in, rows_of_facts, table_of

__all__ = ["GROUP", "Writer", "convert", "read", "require_columns", "rows_in", "table_in", "write"]

GROUP: Final = 100_000
"""Rows in a group."""


class Writer:
    """Writes rows to a file; leaving its ``with`` block completes the file."""

    def __init__(self, path: Path) -> None:
        self._file = pa.parquet.ParquetWriter(path, SCHEMA, compression="zstd")
        self._rows: list[Operation | Row] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            self._flush()

    def add(self, row: Operation | Row) -> None:
        """Writes an operation, or a row of a fact."""
        self._rows.append(row)
        if len(self._rows) >= GROUP:
            self._flush()

    def add_table(self, table: pa.Table) -> None:
        """Writes the rows of a table."""
        self._flush()
        self._file.write_table(table, GROUP)

    def _flush(self) -> None:
        if self._rows:
            self._file.write_table(table_of(self._rows))
            self._rows.clear()


def write(history: History, path: Path) -> None:
    """Writes a history to a file."""
    with Writer(path) as writer:
        for fact in rows_of_facts(history.facts):
            writer.add(fact)
        for operation in history.operations:
            writer.add(operation)


def table_in(paths: Sequence[Path | str], columns: Sequence[str] | None = None) -> pa.Table:
    """The table in some files or folders of files.

    Args:
        paths: of one history.
        columns: those that are wanted; all by default.

    Raises:
        ValueError: it is no history.
        OSError: a file cannot be read.
    """
    found = _dataset(paths)
    wanted = columns or SCHEMA.names
    return found.to_table(columns=list(wanted)).cast(pa.schema([_nullable(SCHEMA.field(n)) for n in wanted]))


def rows_in(paths: Sequence[Path | str]) -> int:
    """How many rows there are in some files or folders of files; raises what ``table_in`` does."""
    return int(_dataset(paths).count_rows())


def _dataset(paths: Sequence[Path | str]) -> Any:
    files = [file for path in paths for file in _files(Path(path))]
    if not files:
        raise ValueError(f"there are no files of the kind *.parquet in {', '.join(map(str, paths))}")
    found = pa.dataset.dataset(files, format="parquet")
    require_columns(found.schema.names, ", ".join(map(str, paths)))
    return found


def _nullable(field: Any) -> Any:
    return field.with_nullable(True)  # whoever else wrote the file may not have said that nothing is null


def _files(path: Path) -> list[str]:
    if not path.is_dir():
        return [str(path)]
    return [str(file) for file in sorted(path.rglob("*.parquet")) if file.name[0] not in "._"]


def require_columns(names: Iterable[str], where: str) -> None:
    """Raises ValueError unless all columns of a history are there."""
    if missing := set(SCHEMA.names).difference(names):
        raise ValueError(
            f"{where}: not a history, as these columns are missing: {', '.join(sorted(missing))}"
        )


def read(*paths: Path) -> History:
    """Reads a whole history."""
    table = table_in(paths)
    return History(operations_in(table), facts_in(table))


def convert(sources: Sequence[Path], target: Path) -> int:
    """Writes recordings, which are JSON Lines, as one file, line by line.

    Only what is open is held until its end comes. The operations of a client have to be in order of time in
    each file, as recorders write them.

    Returns:
        The number of operations.

    Raises:
        ValueError: a line is not a record, or comes too late.
        OSError: a file cannot be read or written.
    """
    with Writer(target) as writer:
        facts: list[Mapping[str, str]] = []
        count = sum(_convert(source, writer, facts) for source in sources)
        for row in rows_of_facts(facts_of(facts)):
            writer.add(row)
    return count


def _convert(source: Path, writer: Writer, facts: list[Mapping[str, str]]) -> int:
    begun: dict[tuple[str, int], Operation] = {}
    over: dict[str, int] = {}
    count = 0
    for number, operation in rows_of_file(source):
        if not isinstance(operation, Operation):
            facts.append(operation)
            continue
        key = operation.client, operation.invoked
        known = begun.pop(key, None) is not None
        if not known and operation.invoked <= over.get(operation.client, -1):
            raise ValueError(f"{source}, line {number}: earlier than the record before it of the same client")
        over[operation.client] = max(operation.invoked, over.get(operation.client, -1))
        if operation.outcome == "open":
            begun[key] = operation
        else:
            writer.add(operation)
            count += 1
    for operation in begun.values():
        writer.add(operation)
    return count + len(begun)
