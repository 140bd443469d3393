"""``finish``: acknowledge the last batch of a query. Spark acknowledges a batch when the next one begins."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pressure.spark.options import Options, options_of
from pressure.spark.source import Source, offsets_in


def finish(
    query: Any,
    url: str | None = None,
    *,
    lease: float = 10.0,
    options: Mapping[str, object] | None = None,
) -> int:
    """Stop a query, acknowledge the last batch that it completed, and let others use its queues.

    Args:
        query: A ``StreamingQuery`` that reads queues; it may have other sources, too.
        url: The URL of the Redis; None for the environment variables.
        lease: The query's option ``lease``, in seconds. The query may own its queues for this long after it
            has ended.
        options: The options with which the query reads, for a query that has completed no batch since it
            started: it does not say which queues it reads. Those of None count as not given; the others win
            over ``url`` and ``lease``.

    Returns:
        How many rows are still claimed, because their batch was not completed. The next run with the same
        checkpoint reads them. 0 for a query that has completed no batch, if no options are given.

    Raises:
        QueueInUseError: Another query reads one of the queues.
        RowsGoneError: The rows of the last batch are gone, for example after a repair.
    """
    if query.isActive:
        query.stop()
    progress = query.lastProgress
    sources = progress["sources"] if progress else []
    offsets = [offset for each in sources for offset in offsets_in(_offset(each["endOffset"])).values()]
    if offsets or options is None:
        return sum(_finish(offset, url, lease) for offset in offsets)
    given = {name: value for name, value in options.items() if value is not None}
    told = {"lease": lease, **({} if url is None else {"url": url}), **given}
    return sum(_leave(each) for each in options_of({name: str(value) for name, value in told.items()}).each)


def lag(query: Any) -> dict[str, int]:
    """How many rows each queue had at the end of a query's last batch that the query had not read.

    Args:
        query: A ``StreamingQuery`` that reads queues, in Spark 4.2 or newer. An older one does not ask a
            queue how long it is, so that the lag looks like 0.
    """
    found = dict[str, int]()
    for each in (query.lastProgress or {"sources": []})["sources"]:
        read, last = (offsets_in(_offset(each[name])) for name in ("endOffset", "latestOffset"))
        found |= {name: last[name]["row"] - told["row"] for name, told in read.items() if name in last}
    return found


def _offset(told: Any) -> dict[str, Any]:
    """The offset in a query's progress: JSON or, in some versions of Spark, the ``repr`` of a dict."""
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, TypeError, SyntaxError):
            found = read(told)
            return found if isinstance(found, dict) else {}
    return told if isinstance(told, dict) else {}


def _finish(offset: dict[str, Any], url: str | None, lease: float) -> int:
    options = Options(
        offset["pressure"], url=url, kind=offset["kind"], prefix=offset["prefix"] or None,
        lease=lease, timeout=2 * lease, dead=offset.get("dead"),
    )  # fmt: skip
    source = Source(options)
    try:
        source.acknowledge(offset["row"], offset["stream"])
        return source.leave()
    finally:
        source.release()


def _leave(options: Options) -> int:
    """Let others read a queue whose query has ended. Returns how many rows are claimed for the next run."""
    source = Source(options)
    try:
        return source.leave()
    finally:
        source.release()
