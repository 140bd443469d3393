"""The options of the data source. They are checked before a queue is read or written.

Spark passes them as text, and ignores the case of their names; so does this module.

To add one: add a row to ``OPTIONS``, and a field of that name to ``Options``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from pressure.connections.arguments import settings
from pressure.connections.settings import Settings
from pressure.spark.errors import OptionError

KINDS: Final = ("pressure", "backup", "reliable")
FORMATS: Final = ("binary", "text", "json")
DELIVERIES: Final = ("exactly_once", "plain")
MALFORMED: Final = ("fail", "null", "keep")
MISSING: Final = ("fail", "empty")
ROLLBACKS: Final = ("fail", "resume")

#: The setting of Spark (4.1 and newer) that passes filters to data sources in Python.
PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"

#: The most rows of a micro-batch by default, and about how many bytes, if Spark can limit them.
ROWS: Final = 250_000
BYTES: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Options:
    """The checked options; the README describes each.

    Attributes:
        queue: The queue's name; with ``queues``, that of the first.
        queues: The names of several queues that are read together; empty for one queue.
        include_queue: Whether a table that is read has a column with the name of the queue.
        url: The URL of the server; None to take it from the environment.
        kind: One of ``KINDS``.
        prefix: The beginning of the keys; None for the default of the kind.
        rows_per_batch: The most rows of a micro-batch; None if not given.
        most_bytes: About how many bytes a micro-batch has at most; None if not given.
        min_rows: The fewest rows of a micro-batch, unless ``max_delay`` has passed; None for any number.
        max_delay: Seconds after which a micro-batch may have fewer rows than ``min_rows``.
        partitions: How many slices of rows are read in parallel.
        format: One of ``FORMATS``.
        schema: With JSON, the fields of the payload as DDL.
        infer_schema: Whether to find these fields in a sample of the queue.
        malformed: One of ``MALFORMED``: what to do with a payload that is not in the format.
        dead: The queue for payloads that are not in the format; None to do with them what ``malformed`` says.
        missing: One of ``MISSING``: what a backup or reliable queue is that has no key.
        envelope: Whether items of a backup queue carry an identifier of their own.
        snapshot: Whether a batch read sees the queue at one moment.
        delivery: One of ``DELIVERIES``.
        key: The column by which rows are sorted before they are put; None to keep their order.
        timeout: Seconds to wait for room or for a role without any progress.
        retry: For how many seconds to try again while the server cannot be reached.
        rollback: One of ``ROLLBACKS``: what to do when the server has lost changes that Spark holds as done.
        lease: For how many seconds a query that does not renew its lease keeps the queue.
        expire: Seconds after which staged rows that were not committed are dropped.
        writer: The name of batch writes: each of their batches is written once. None for a new name.
        batch: The number of a batch of this writer; a batch that is not later than the last one was written.
    """

    queue: str
    queues: tuple[str, ...] = ()
    include_queue: bool = False
    url: str | None = None
    kind: str = "pressure"
    prefix: str | None = None
    rows_per_batch: int | None = None
    most_bytes: int | None = None
    min_rows: int | None = None
    max_delay: float = 900.0
    partitions: int = 2
    format: str = "binary"
    schema: str | None = None
    infer_schema: bool = False
    malformed: str = "fail"
    dead: str | None = None
    missing: str = "fail"
    envelope: bool = False
    snapshot: bool = True
    delivery: str = "exactly_once"
    key: str | None = None
    timeout: float = 60.0
    retry: float = 60.0
    rollback: str = "fail"
    lease: float = 10.0
    expire: float = 86_400.0
    writer: str | None = None
    batch: int | None = None
    where: Settings = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            where = settings(url=self.url, prefix=self.prefix)
        except ValueError as error:
            raise OptionError(f"option url: {error}") from None
        object.__setattr__(self, "where", where)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle ``where``, too: another machine may have other environment variables."""
        return _restored, ({each.name: getattr(self, each.name) for each in fields(self)},)

    def but(self, **changes: Any) -> Options:
        """These options with changes, for the same server: the environment is not read again."""
        return _restored({**self.__reduce__()[1][0], **changes})

    @property
    def each(self) -> tuple[Options, ...]:
        """The options of each queue."""
        return tuple(self.but(queue=name, queues=()) for name in self.queues or (self.queue,))


def _restored(values: dict[str, Any]) -> Options:
    options = object.__new__(Options)
    for name, value in values.items():
        object.__setattr__(options, name, value)
    return options


def _one_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return text.lower()

    return read


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**53):
        raise ValueError("must be a whole number of 1 or more")
    return int(text)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 2**53):
        raise ValueError("must be a whole number of 0 or more")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.1 <= value < 1e9:
        raise ValueError("must be a number of seconds, 0.1 or more")
    return value


def _seconds_or_none(text: str) -> float:
    return 0.0 if text in ("0", "0.0") else _seconds(text)


def _yes(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return text.lower() == "true"


def _text(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names) or len(set(names)) < len(names):
        raise ValueError("must be different names, separated by commas")
    return names


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]+", text):
        raise ValueError("must be made of letters, digits, '-', '_' and '.'")
    return text


@dataclass(frozen=True, slots=True)
class Option:
    """How an option is read from its text.

    Attributes:
        field: The field of ``Options``.
        read: Converts the text to a value; raises ValueError with the reason.
    """

    field: str
    read: Callable[[str], Any]


OPTIONS: Final[Mapping[str, Option]] = {
    "queue": Option("queue", _text),
    "queues": Option("queues", _names),
    "includeQueue": Option("include_queue", _yes),
    "url": Option("url", _text),
    "kind": Option("kind", _one_of(KINDS)),
    "prefix": Option("prefix", _text),
    "rowsPerBatch": Option("rows_per_batch", _count),
    "maxBytesPerBatch": Option("most_bytes", _count),
    "minRowsPerBatch": Option("min_rows", _count),
    "maxBatchDelay": Option("max_delay", _seconds),
    "partitions": Option("partitions", _count),
    "format": Option("format", _one_of(FORMATS)),
    "schema": Option("schema", _text),
    "inferSchema": Option("infer_schema", _yes),
    "malformed": Option("malformed", _one_of(MALFORMED)),
    "dead": Option("dead", _text),
    "missing": Option("missing", _one_of(MISSING)),
    "envelope": Option("envelope", _yes),
    "snapshot": Option("snapshot", _yes),
    "delivery": Option("delivery", _one_of(DELIVERIES)),
    "key": Option("key", _text),
    "timeout": Option("timeout", _seconds),
    "retry": Option("retry", _seconds_or_none),
    "onServerRollback": Option("rollback", _one_of(ROLLBACKS)),
    "lease": Option("lease", _seconds),
    "expire": Option("expire", _seconds),
    "writer": Option("writer", _name),
    "batch": Option("batch", _number),
}
"""Every option, by the name that users write."""

_BY_LOWER: Final = {name.lower(): name for name in OPTIONS}

#: Options that Spark itself adds to those of a stream.
_SPARKS: Final = ("checkpointlocation", "queryname")


def options_of(given: Mapping[str, str]) -> Options:
    """Check the options that Spark passes.

    Raises:
        OptionError: An option is unknown, has a wrong value, or excludes another.
    """
    values: dict[str, Any] = {}
    for written, text in given.items():
        if written.lower() in _SPARKS:
            continue
        name = _known(written)
        try:
            values[OPTIONS[name].field] = OPTIONS[name].read(str(text))
        except ValueError as error:
            raise OptionError(f"option {name}: {error}, not {text!r}") from None
    if ("queue" in values) == ("queues" in values):
        raise OptionError(
            "option queue is missing: it is the name of the queue; to read several, give queues instead"
            if "queue" not in values
            else "options queue and queues exclude each other"
        )
    values.setdefault("queue", *values.get("queues", ())[:1])
    options = Options(**values)
    _check(options)
    return options


def _known(written: str) -> str:
    if (name := _BY_LOWER.get(written.lower())) is not None:
        return name
    if written.lower() == "path":
        raise OptionError(
            "a queue has no path: name it by the option queue, and leave the argument of load(), save() or "
            "start() out"
        )
    near = difflib.get_close_matches(written.lower(), _BY_LOWER, 1)
    hint = f"; did you mean {_BY_LOWER[near[0]]}?" if near else f"; the options are {', '.join(OPTIONS)}"
    raise OptionError(f"option {written} is not known{hint}")


def _check(options: Options) -> None:
    """Raises OptionError for options that exclude each other."""
    if options.schema is not None and options.format != "json":
        raise OptionError("option schema works only with format=json")
    if options.infer_schema and (options.format != "json" or options.schema is not None):
        raise OptionError("option inferSchema works only with format=json, and without schema")
    if options.dead is not None and options.malformed != "fail":
        raise OptionError("option dead works only without malformed: it says what is done with such messages")
    if options.envelope and options.kind != "backup":
        raise OptionError("option envelope works only with kind=backup")
    if (options.batch is None) is not (options.writer is None):
        raise OptionError(
            "options writer and batch need each other: a writer's batch is written if its number is larger "
            "than the last one"
        )
    if len(options.queues) > (options.rows_per_batch or ROWS):
        raise OptionError(
            "option rowsPerBatch is less than the number of queues, so one of them could starve"
        )
    if (options.min_rows or 0) > (options.rows_per_batch or ROWS):
        raise OptionError("option minRowsPerBatch is more than rowsPerBatch, so no batch could have as many")
    if options.delivery == "plain" and options.writer is not None:
        raise OptionError("option writer does not work with delivery=plain, which writes the rows each time")
