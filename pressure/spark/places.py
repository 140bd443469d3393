"""The keys of a queue, and the keys that Spark needs beside it.

The keys for Spark begin with ``__spark__:`` and their purpose, and end with the queue's main key. So they are
not mistaken for queues, and on a cluster a queue with a hash tag has all its keys in one slot.

    __spark__:owner:KEY           the id of the query that reads the queue; expires with its lease
    __spark__:source:KEY          the stream's id, and the numbers of its first and last claimed row
    __spark__:pending:KEY         the rows that are claimed and not acknowledged; see ``Keys.pending``
    __spark__:malformed:ID:KEY    the numbers of claimed rows of a stream that go to its queue ``dead``
    __spark__:sink:WRITER:KEY     what a writer has committed
    __spark__:stage:ID:KEY        the rows of one attempt of one task
    __spark__:stages:WRITER:KEY   the ids of the lists that were staged for a writer
    __spark__:snapshot:ID:KEY     the last copy of the queue for a table that is read
    __spark__:snapshot:ID:ID:KEY  such a copy
    __spark__:slices:ID:KEY       which slices of copies were read
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final

from pressure.keys import DEFAULT_PREFIX, Keys, as_bytes
from pressure.kinds.kind import KindKeys
from pressure.kinds.reliable.model import ReliableKeys
from pressure.spark.options import Options

ROOT: Final = b"__spark__:"

#: The default prefix of the keys, by kind.
_PREFIXES: Final = {"backup": b"queue", "reliable": b"queue"}


def new_id() -> str:
    """A new random identifier."""
    return secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class Places:
    """The keys of a queue, and those beside it.

    Attributes:
        kind: The queue's kind.
        name: Its name.
        main: Its main key.
        all: The keys of the queue that scripts take, the main key first.
    """

    kind: str
    name: bytes
    main: bytes
    all: tuple[bytes, ...]

    def beside(self, what: str, *which: str) -> bytes:
        """A key for Spark."""
        return ROOT + ":".join((what, *which, "")).encode() + self.main

    @property
    def pending(self) -> bytes:
        """The list of claimed rows: ``:unacked`` of a ``pressure.Queue``, else a list for Spark."""
        return self.main + b":unacked" if self.kind == "pressure" else self.beside("pending")

    @property
    def keys(self) -> KindKeys:
        """The name and the keys, to find the node of a cluster that serves them."""
        return KindKeys(self.name, self.all)


def places_of(options: Options) -> Places:
    """The keys of the queue that the options name."""
    name = as_bytes(options.queue)
    default = _PREFIXES.get(options.kind)
    if default is None:
        prefix = options.where.prefix or DEFAULT_PREFIX
    else:
        prefix = default if options.prefix is None else as_bytes(options.prefix)
    main = prefix + b":" + name
    return Places(options.kind, name, main, (main, *_others(options.kind, name, prefix, main)))


def _others(kind: str, name: bytes, prefix: bytes, main: bytes) -> tuple[bytes, ...]:
    if kind == "reliable":
        return ReliableKeys.of(main, b"workers").all[1:]
    if kind == "backup":
        return ()
    keys = Keys.of(name, prefix)
    return (
        keys.bound, keys.closed, keys.producer_free, keys.producer, keys.consumer_free, keys.consumer,
        keys.not_full, keys.produced_messages, keys.produced_bytes, keys.consumed_messages,
        keys.consumed_bytes,
    )  # fmt: skip
