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
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from pressure.cli.call import Call, print_error, tell
from pressure.cli.options import FLAG, QUIET, Arguments, positive_number, seconds
from pressure.cli.status import DONE

if TYPE_CHECKING:
    from pressure.spark.pipeline import Plan

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
        "write; default: a queue gets the same messages, Parquet files all columns. A single column named "
        "value is written as it is, other columns as JSON",
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
        "help": "the format of the messages to read; default: text, or binary to copy them into a queue",
    },
    "--schema": {
        "metavar": "DDL",
        "help": "with --format json: the fields of a message, such as 'user STRING, n INT'",
    },
    "--malformed": {
        "choices": ("fail", "null", "keep"),
        "help": "what to do with a message that is not in the format: end with an error, read its value as "
        "null, or also add the columns raw and reason; default: fail",
    },
    "--dead": {
        "metavar": "QUEUE",
        "help": "put messages that are not in the format into this queue, as they are, and go on",
    },
    "--partitions": {
        "metavar": "N",
        "type": positive_number,
        "help": "in how many partitions Spark reads the messages; default 2",
    },
    "--key": {"metavar": "COLUMN", "help": "sort what is written to a queue by this column"},
    "--output-mode": {
        "choices": ("append", "update", "complete"),
        "default": "append",
        "help": "Spark's output mode, for transforms that aggregate; default: append",
    },
    "--rows": {"metavar": "N", "type": positive_number, "help": "how many rows a batch has at most"},
    "--on-server-rollback": {
        "choices": ("fail", "resume"),
        "help": "what to do when Redis has lost its last changes, as after a power loss: end with an error "
        "that says which, or go on with a warning; default: fail",
    },
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
    "--conf": {
        "metavar": "NAME=VALUE",
        "action": "append",
        "default": [],
        "help": "a setting of Spark, such as spark.executor.memory=2g; may be given several times",
    },
    "--verbose": {**FLAG, "help": "print Spark's warnings, and all that it says about an error"},
    **QUIET,
}


def run(call: Call) -> int:
    """Run the query until it is stopped; with --drain, until the queue is empty."""
    from pressure.spark import pipeline
    from pressure.spark.errors import PipelineError

    options = call.arguments
    sys.path.insert(0, str(Path.cwd()))
    transform = pipeline.function_named(options.transform) if options.transform else None
    plan = pipeline.Plan(
        _source(call), _target(call), options.checkpoint, transform, options.drain, options.every,
        options.output_mode,
    )  # fmt: skip
    settings = _settings(options)
    pipeline.check(plan)
    try:
        _run(call, plan, settings)
    except PipelineError as error:
        if options.verbose:
            tell(error.details + "\n")
        raise
    call.signals.check()
    return DONE


def _run(call: Call, plan: Plan, settings: dict[str, str]) -> None:
    from pressure.spark import finishing, pipeline, sessions, source
    from pressure.spark.errors import PipelineError
    from pressure.spark.options import options_of

    options, given, rows = call.arguments, options_of(plan.source), 0
    here = str(Path.cwd())
    spark = sessions.session(
        f"pressure pipeline {options.source}", options.master, folder=here, apart=True, **settings
    )
    try:
        call.signals.install()  # Spark has replaced the handler of SIGINT
        call.signals.check()
        restarts = pipeline.RESTARTS
        while True:
            query = pipeline.started(spark, plan)
            try:
                for batch in pipeline.running(
                    query, lambda: call.signals.requested_stop() is not None, source.Source(given).pause
                ):
                    rows, restarts = rows + batch.rows, pipeline.RESTARTS
                    _say(options, f"batch {batch.number}: {batch.rows:,} rows, {batch.rate:,.0f}/s")
                break
            except PipelineError as error:
                if pipeline.STARVED not in error.details or not restarts:
                    raise
                if call.signals.requested_stop() is not None:
                    break
                restarts -= 1
                _say(
                    options,
                    "the machine is busy, and a process of Spark took more than 10 s to start; trying again",
                )
        left = finishing.finish(query, url_of(call), lease=given.lease, options=plan.source)
        _say(options, f"{rows} rows done" + (f", {left} are claimed for the next run" if left else ""))
    finally:
        spark.stop()


def _settings(options: Namespace) -> dict[str, str]:
    from pressure.spark.sessions import QUIET as LITTLE

    settings = {} if options.verbose else {**LITTLE, "spark__log__level": "OFF"}
    for text in options.conf:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise ValueError(f"--conf must be NAME=VALUE, not {text!r}")
        settings[name.replace(".", "__")] = value
    return settings


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
        "onServerRollback": call.arguments.on_server_rollback,
    }
    return {option: str(value) for option, value in given.items() if value is not None}


def _source(call: Call) -> dict[str, str]:
    options = call.arguments
    copying = options.transform is None and _is_queue(options.target) and options.schema is None
    given = {
        "format": options.format or ("binary" if copying else "text"),
        "schema": options.schema,
        "rowsPerBatch": options.rows,
        "partitions": options.partitions,
        "malformed": None if options.dead and options.malformed == "keep" else options.malformed,
        "dead": options.dead,
    }
    more = {option: str(value) for option, value in given.items() if value is not None}
    return {**_common(call, options.source, options.from_kind), **more}


def _target(call: Call) -> dict[str, str] | str:
    options = call.arguments
    if not _is_queue(options.target):
        return os.fspath(Path(options.target))
    key = {} if options.key is None else {"key": options.key}
    return {**_common(call, options.target, options.to_kind), **key}


def _is_queue(target: str) -> bool:
    return "/" not in target and not target.endswith(".parquet")
