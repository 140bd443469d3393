"""``pipeline``: process a queue with Spark, into another queue or into Parquet files.

Spark is imported when the command runs, not before.

Rules:
    - After a signal the current batch is completed. However the command ends, the next run with the same
      checkpoint continues there; no row is lost or put twice.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from pressure.cli.call import Call, print_error
from pressure.cli.options import FLAG, QUIET, Arguments, positive_number, seconds
from pressure.cli.status import DONE

_KINDS: Final = ("pressure", "backup", "reliable")

ARGUMENTS: Final[Arguments] = {
    "--from": {"metavar": "QUEUE", "dest": "source", "required": True, "help": "the queue to read"},
    "--to": {
        "metavar": "QUEUE|PARQUET",
        "dest": "target",
        "required": True,
        "help": "the queue to write; or a folder for Parquet files, if the name has a / or ends in .parquet",
    },
    "--checkpoint": {
        "metavar": "FOLDER",
        "required": True,
        "help": "where Spark keeps its progress; the next run with the same folder continues",
    },
    "--transform": {
        "metavar": "MODULE:FUNCTION",
        "help": "a Python function that takes the DataFrame of the messages and returns the one to "
        "write; default: all columns unchanged. A single column named value is written as it is, other "
        "columns as JSON",
    },
    "--from-kind": {
        "choices": _KINDS,
        "default": "pressure",
        "help": "the kind of the queue to read; default: pressure",
    },
    "--to-kind": {
        "choices": _KINDS,
        "default": "pressure",
        "help": "the kind of the queue to write; default: pressure",
    },
    "--format": {
        "choices": ("binary", "text", "json"),
        "default": "text",
        "help": "the format of the messages to read; default: text",
    },
    "--schema": {
        "metavar": "DDL",
        "help": "with --format json: the fields of a message, such as 'user STRING, n INT'",
    },
    "--rows": {"metavar": "N", "type": positive_number, "help": "how many rows a batch has at most"},
    "--timeout": {
        "metavar": "SECONDS",
        "type": seconds,
        "help": "longest time to wait for room or for a role; default 60",
    },
    "--drain": {**FLAG, "help": "exit when the queue is empty"},
    "--every": {
        "metavar": "SECONDS",
        "type": seconds,
        "default": 1.0,
        "help": "time from one batch to the next; default 1",
    },
    "--master": {"metavar": "URL", "help": "where Spark runs; default local[*]"},
    **QUIET,
}


def run(call: Call) -> int:
    """Run the query until it is stopped; with --drain, until the queue is empty."""
    from pressure.spark import finishing, pipeline, sessions

    options = call.arguments
    here = str(Path.cwd())
    sys.path.insert(0, here)
    transform = pipeline.function_named(options.transform) if options.transform else lambda table: table
    quiet = {**sessions.QUIET, "spark__log__level": "OFF"}
    spark = sessions.session(f"pressure pipeline {options.source}", options.master, folder=here, **quiet)
    try:
        plan = pipeline.Plan(
            _source(call), _target(call), options.checkpoint, transform, options.drain, options.every
        )
        query = pipeline.started(spark, plan)
        rows = 0
        for batch in pipeline.running(query, lambda: call.signals.requested_stop() is not None):
            rows += batch.rows
            _say(options, f"batch {batch.number}: {batch.rows:,} rows, {batch.rate:,.0f}/s")
        left = finishing.finish(query, url_of(call))
        _say(options, f"{rows} rows done" + (f", {left} are claimed for the next run" if left else ""))
    finally:
        spark.stop()
    call.signals.check()
    return DONE


def _say(options: Namespace, text: str) -> None:
    if not options.quiet:
        print_error(f"pipeline: {text}")


def url_of(call: Call) -> str | None:
    """The URL of the server, if the command line says where it is; else None."""
    host, port, db = (getattr(call.arguments, name, None) for name in ("host", "port", "db"))
    if host is port is db is None:
        return getattr(call.arguments, "url", None)
    settings = call.settings.kwargs
    return f"redis://{quote(settings['host'])}:{settings['port']}/{settings['db']}"


def _common(call: Call, name: str, kind: str) -> dict[str, str]:
    given: dict[str, Any] = {
        "queue": name,
        "kind": kind,
        "url": url_of(call),
        "prefix": getattr(call.arguments, "prefix", None),
        "timeout": call.arguments.timeout,
    }
    return {option: str(value) for option, value in given.items() if value is not None}


def _source(call: Call) -> dict[str, str]:
    options = call.arguments
    given = {"format": options.format, "schema": options.schema, "rowsPerBatch": options.rows}
    more = {option: str(value) for option, value in given.items() if value is not None}
    return {**_common(call, options.source, options.from_kind), **more}


def _target(call: Call) -> dict[str, str] | str:
    name = call.arguments.target
    if "/" in name or name.endswith(".parquet"):
        return os.fspath(Path(name))
    return _common(call, name, call.arguments.to_kind)
