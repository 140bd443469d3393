"""Find the fields of JSON messages in a sample of a queue; the sample stays in the queue.

Rules:
    - The oldest rows are read: those that a stream has claimed, and then those that wait.
    - A field has the narrowest type that holds all its values unchanged. Values of types that no column holds
      together are an error: a guess would make some of them malformed.
    - Messages that are no JSON objects are left out. What to do with them is said by other options.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from pressure.spark.errors import OptionError
from pressure.spark.options import Options
from pressure.spark.peeking import Peek
from pressure.spark.rows import READ_FIRST, rows_of
from pressure.spark.server import QueueServer

#: The most rows of a sample, and about how many bytes.
SAMPLE: Final = 1000
SAMPLE_BYTES: Final = 1 << 22

#: Types of numbers; each holds the values of those before it.
_NUMBERS: Final = ("BIGINT", "DECIMAL(38,0)", "DOUBLE")


def inferred(options: Options) -> str:
    """The fields of the messages of queues, as the option ``schema``.

    Raises:
        OptionError: No message is a JSON object, or a field has values of different types.
    """
    found: Any = {}
    for each in options.each:
        for value in _sample(each):
            found = _merged(found, _type_of_object(value), ())
    if not found:
        raise OptionError(
            "option inferSchema: there is no JSON object with fields in the first messages of the queue; "
            "give the option schema"
        )
    return _fields(found, " ")


def _sample(options: Options) -> Iterator[bytes]:
    size = 0
    for value in islice(_oldest(options), SAMPLE):
        yield value
        size += len(value)
        if size > SAMPLE_BYTES:
            return


def _oldest(options: Options) -> Iterator[bytes]:
    server = QueueServer(options)
    try:
        (claimed,) = server.ask((b"LRANGE", server.places.pending, -READ_FIRST, -1))
        yield from rows_of(options.kind, options.envelope, claimed).values
    finally:
        server.close()
    with Peek(options.but(snapshot=False, partitions=1)) as peek:
        for part in peek.plan():
            for _, rows in peek.read(part):
                yield from rows.values


def _type_of_object(message: bytes) -> Any:
    """The type of a message; None if it is no JSON object."""
    with suppress(ValueError, RecursionError):
        value = json.loads(message)
        return _type_of(value) if isinstance(value, dict) else None


def _type_of(value: Any) -> Any:
    """A type: its name, a dict for an object, a list of one for an array; None for null."""
    if isinstance(value, dict):
        return {name: _type_of(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_all_of(map(_type_of, value))]
    if isinstance(value, int) and not isinstance(value, bool):
        return _NUMBERS[(abs(value) >= 2**63) + (abs(value) >= 10**38)]
    return {bool: "BOOLEAN", float: "DOUBLE", str: "STRING"}.get(type(value))


def _all_of(types: Iterable[Any]) -> Any:
    found = None
    for each in types:
        found = _merged(found, each, ("[]",))
    return found


def _merged(one: Any, other: Any, path: tuple[str, ...]) -> Any:
    if one is None or other is None or one == other:
        return other if one is None else one
    if isinstance(one, dict) and isinstance(other, dict):
        return one | {name: _merged(one.get(name), each, (*path, name)) for name, each in other.items()}
    if isinstance(one, list) and isinstance(other, list):
        return [_merged(one[0], other[0], path)]
    if one in _NUMBERS and other in _NUMBERS:
        return max(one, other, key=_NUMBERS.index)
    raise OptionError(
        f"option inferSchema: {'.'.join(path)} is {_ddl(one)} in one message and {_ddl(other)} in another; "
        "give the option schema"
    )


def _ddl(found: Any) -> str:
    if isinstance(found, list):
        return f"ARRAY<{_ddl(found[0])}>"
    if isinstance(found, dict):
        return f"STRUCT<{_fields(found, ': ')}>" if found else "MAP<STRING, STRING>"
    return str(found or "STRING")


def _fields(found: dict[str, Any], between: str) -> str:
    return ", ".join(f"`{name.replace('`', '``')}`{between}{_ddl(each)}" for name, each in found.items())
