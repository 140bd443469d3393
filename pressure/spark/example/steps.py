"""What Spark does with the log: lines to requests, requests to a report by the hour.

Both are functions of a DataFrame, as ``pressure pipeline --transform`` takes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["parsed", "report"]

#: Address, time, method, path, status, size, seconds.
_LINE: Final = r'^(\S+) \S+ \S+ \[([^\]]+)\] "(\S+) (\S+) [^"]*" (\d{3}) (\d+) ([0-9.]+)$'

#: The columns that are made of these, as SQL.
_COLUMNS: Final = {
    "address": "{}",
    "at": "to_timestamp({}, 'dd/MMM/yyyy:HH:mm:ss Z')",
    "method": "{}",
    "path": "{}",
    "status": "int({})",
    "size": "bigint({})",
    "seconds": "double({})",
}


def parsed(lines: DataFrame) -> DataFrame:
    """A row for each line, with the line itself; of one that is broken nothing else is known."""
    pattern = _LINE.replace("\\", "\\\\")
    columns = [
        f"{form.format(f'''nullif(regexp_extract(value, '{pattern}', {group}), '')''')} AS {name}"
        for group, (name, form) in enumerate(_COLUMNS.items(), 1)
    ]
    return lines.selectExpr(*columns, "value AS line")


def report(requests: DataFrame) -> DataFrame:
    """Requests, failures, bytes and mean seconds by the hour; no hour for lines that are broken."""
    hours = requests.selectExpr("hour(at) AS hour", "int(status >= 500) AS failed", "size", "seconds")
    counted = hours.groupBy("hour").agg({"*": "count", "failed": "sum", "size": "sum", "seconds": "avg"})
    return counted.selectExpr(
        "hour",
        "`count(1)` AS requests",
        "coalesce(`sum(failed)`, 0) AS failed",
        "coalesce(`sum(size)`, 0) AS bytes",
        "round(`avg(seconds)`, 4) AS seconds",
    )
