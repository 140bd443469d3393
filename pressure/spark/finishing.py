"""The end of a stream: Spark acknowledges a batch when it begins the next, so the last one is left to us."""

from __future__ import annotations

import ast
import json
from contextlib import suppress
from typing import Any

from pressure.spark.options import Options
from pressure.spark.source import Source

__all__ = ["finish"]


def finish(query: Any, url: str | None = None, *, lease: float = 10.0) -> int:
    """Acknowledge what a query has done, and let others have its queues. The query is stopped if it runs.

    Args:
        query: A ``StreamingQuery`` whose sources are queues, among others perhaps.
        url: Where the queues are; None for what the environment says.
        lease: The query's option of that name: for so long (seconds) its queues may be its own still.

    Returns:
        How many rows are claimed still, of batches that were begun and not done; a restart from the
        checkpoint reads them.

    Raises:
        QueueInUseError: Another query reads one of the queues.
        RowsGoneError: Its rows are not there any more.
    """
    if query.isActive:
        query.stop()
    progress = query.lastProgress
    sources = progress["sources"] if progress else []
    return sum(_finish(_offset(each["endOffset"]), url, lease) for each in sources)


def _offset(told: Any) -> dict[str, Any]:
    """An offset as a query tells of it: JSON, or in some versions what Python would print."""
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, TypeError, SyntaxError):
            found = read(told)
            return found if isinstance(found, dict) else {}
    return told if isinstance(told, dict) else {}


def _finish(offset: dict[str, Any], url: str | None, lease: float) -> int:
    if "pressure" not in offset:
        return 0
    options = Options(
        offset["pressure"], url, offset["kind"], offset["prefix"] or None, lease=lease, timeout=2 * lease
    )
    source = Source(options)
    try:
        source.acknowledge(offset["row"], offset["stream"])
        return source.leave()
    finally:
        source.release()
