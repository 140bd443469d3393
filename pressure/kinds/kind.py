"""What backup, ring and reliable queues share: keys, the context of an operation, items and their codec.

Rules:
    - Values are bytes and are stored unchanged, so that other clients of the same pattern can take part.
    - With ``envelope=True`` each value is stored with an id of its own, as ``<32 hex digits> <value>``. So
      two equal values are two items. A value that another client pushed without an id is an item, too.
    - All times are the server's, so that the clients' clocks need not agree.
    - A name that could be a key of another queue is refused before anything is sent.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic

from pressure.codecs import Codec, V, codec_of, decoded, sendable
from pressure.connections.settings import SLICE
from pressure.keys import as_bytes, hash_tag, queue_name
from pressure.methods.methods import Methods
from pressure.protocol.operation import Deadline, ServerFacts
from pressure.text import printable

_RESERVED: Final = re.compile(
    rb":(?:processing|claims|delayed|due|deliveries|beats|notes|kind)\Z|:(?:lock|delayed|due):"
)


def check_name(name: bytes) -> None:
    """Raises ValueError for a name whose main key could be a key of another queue."""
    if found := _RESERVED.search(name):
        raise ValueError(
            f"the name {printable(name)} has {printable(found[0])} in it, as the keys beside another queue's "
            "main key; choose another name"
        )


@dataclass(frozen=True, slots=True)
class KindKeys:
    """The name and the keys of a queue.

    Attributes:
        name: The queue's name.
        all: Its keys, the main one first. The locks of a ring count as one: their common prefix.
    """

    name: bytes
    all: tuple[bytes, ...]

    @property
    def main(self) -> bytes:
        """The main key."""
        return self.all[0]

    @property
    def has_hash_tag(self) -> bool:
        """Whether Redis Cluster keeps all keys in one slot."""
        return bool(hash_tag(self.main))

    def __str__(self) -> str:
        """The queue's name for people."""
        return repr(self.name.decode("utf-8", "backslashreplace"))


@dataclass(slots=True)
class KindCheck:
    """What one queue object knows about its keys.

    Attributes:
        kind: The kind of the object.
        is_known: Whether the keys are known to be of this kind.
    """

    kind: str
    is_known: bool = False


@dataclass(frozen=True, slots=True)
class KindContext:
    """What an operation knows of its queue and server.

    Attributes:
        keys: The queue's name and keys.
        server: What is known about the server.
        clock: Returns monotonic time in seconds.
        slice: Longest single wait in seconds.
        kind_check: Whether the keys are known to be of this kind; None to skip the check.
    """

    keys: KindKeys
    server: ServerFacts = field(default_factory=ServerFacts)
    clock: Callable[[], float] = time.monotonic
    slice: float = SLICE
    kind_check: KindCheck | None = None


_ENVELOPE: Final = re.compile(rb"([0-9a-f]{32}) ", re.DOTALL)


#: How many bytes at most are stored in one string with a value, such as its id or a count of deliveries.
_BESIDE: Final = 256


@dataclass(frozen=True, slots=True)
class Item(Generic[V]):
    """An item of a queue: its bytes, its value and its id.

    Attributes:
        data: The item's bytes as they are on the server, with the id in front if it has one.
        id: The item's id if the queue was made with ``envelope=True``; else None.
        token: The token in the item's lock if a ring queue claimed it; else None.
    """

    data: bytes
    id: bytes | None = None
    token: bytes | None = None
    _codec: Codec[V] = field(default_factory=lambda: codec_of(None), repr=False, compare=False)

    @property
    def payload(self) -> bytes:
        """The bytes that were pushed."""
        return self.data if self.id is None else self.data[len(self.id) + 1 :]

    @property
    def value(self) -> V:
        """The value that was pushed, decoded by the queue's codec; bytes if the queue has none.

        Raises:
            CodecError: The codec cannot decode the bytes.
        """
        return decoded(self._codec, self.payload, [self.data])


@dataclass(frozen=True, slots=True)
class ItemCodec(Generic[V]):
    """Converts values to items and back.

    Attributes:
        codec: Converts objects to bytes and back.
        envelope: Whether each item is stored with an id.
    """

    codec: Codec[V]
    envelope: bool

    def data(self, value: Any) -> bytes:
        """The bytes to store for a value; raises TypeError or ValueTooLongError if it cannot be sent."""
        payload = sendable(self.codec.encode(value), beside=_BESIDE)
        return b"%s %s" % (uuid.uuid4().hex.encode(), payload) if self.envelope else payload

    def item(self, data: bytes, token: bytes | None = None) -> Item[V]:
        """The item with these stored bytes."""
        found = _ENVELOPE.match(data) if self.envelope else None
        return Item(data, found[1] if found else None, token, self.codec)


def bytes_of(item: Item | bytes) -> bytes:
    """The stored bytes of an item; raises TypeError if ``item`` is neither an item nor bytes."""
    if isinstance(item, Item | bytes):
        return item.data if isinstance(item, Item) else item
    raise TypeError(f"an item is what claim returned, or its bytes, not {type(item).__name__}")


class Kind(Methods, Generic[V]):
    """The base class of backup, ring and reliable queues."""

    _context: KindContext
    _item_codec: ItemCodec[V]
    #: The name of the kind.
    _kind: str

    def _init_context(
        self, name: bytes | str, key: bytes | str | None, codec: Codec[V] | str | None, *, scripts: bool,
        envelope: bool = False,
    ) -> None:  # fmt: skip
        name = queue_name(name)
        check_name(name)
        main = b"queue:" + name if key is None else as_bytes(key, "key")
        self._context = KindContext(
            KindKeys(name, (main,)), ServerFacts(scripts=scripts), kind_check=KindCheck(self._kind)
        )
        self._item_codec = ItemCodec(codec_of(codec), envelope)

    def _deadline(self, block: bool, timeout: float | None) -> Deadline:
        return Deadline.of(self._context, block, timeout)

    def _connect_to(self, *keys: bytes, **where: Any) -> None:
        """Set the keys beside the main one, and prepare connections."""
        place = self._context.keys
        self._context = replace(self._context, keys=replace(place, all=(place.main, *keys)))
        self._connect(self._settings(**where), self._context.keys)
