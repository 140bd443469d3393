"""Codecs: how objects are encoded as the bytes of a value, and decoded again.

Without a codec values are bytes. ``"json"`` and ``"msgpack"`` (needs the package of that name) are safe.
``"pickle"`` lets every client that can put into the queue run code in the process that decodes, so it is only
for queues that no other client can put into. A queue with ``"pickle"`` warns with ``UnsafeCodecWarning``;
``warnings.simplefilter("ignore", pressure.UnsafeCodecWarning)`` turns that off.

To add one: an object with ``encode`` and ``decode``, passed as ``codec=``, or a row in ``CODECS``.
"""

from __future__ import annotations

import json
import pickle
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from pressure.errors import CodecError, UnsafeCodecWarning, ValueTooLongError
from pressure.extras import how_to_install
from pressure.protocol.sizes import LONGEST
from pressure.text import printable

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    #: The values of a queue. A queue whose values are not known takes and gives anything.
    V = TypeVar("V", default=Any)
else:
    from typing import TypeVar

    V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)

#: The names that ``codec=`` takes.
CodecName: TypeAlias = Literal["json", "msgpack", "pickle"]


class Codec(Protocol[V]):
    """What ``codec=`` takes: an object that encodes objects as values of a queue, and decodes them."""

    def encode(self, item: V, /) -> bytes:
        """An object as bytes."""

    def decode(self, data: bytes, /) -> V:
        """The object that was encoded as these bytes."""


class Text(Protocol[V_co]):
    """Text that can be encoded as a value: ``str`` is ``Text[bytes]``, so a queue of bytes takes it, too."""

    def encode(self, encoding: str = ..., errors: str = ...) -> V_co:
        """The text as a value."""


#: What can be put into a queue of ``V``. (Types cannot say that bytes-like objects need ``V`` to be bytes.)
Sendable: TypeAlias = V | Text[V] | bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class _Pair:
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


def _plain() -> _Pair:
    return _Pair(_payload, lambda data: data)


def _payload(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    what = type(value).__name__
    raise TypeError(f"a value must be bytes-like or str, not {what}; codec='json' and others take more types")


def _json() -> _Pair:
    return _Pair(lambda item: json.dumps(item, separators=(",", ":")).encode(), json.loads)


def _pickle() -> _Pair:
    warnings.warn(
        'codec="pickle" runs code that is in the values: everybody who can put into the queue can make this '
        "process run theirs. Use it only where that is safe, and ignore pressure.UnsafeCodecWarning there",
        UnsafeCodecWarning,
        stacklevel=_outside(),
    )
    return _Pair(pickle.dumps, pickle.loads)


def _outside() -> int:
    """The stack level, as our caller counts it, of whoever opens a queue."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("pressure."):
        frame, level = frame.f_back, level + 1
    return level


def _msgpack() -> _Pair:
    try:
        import msgpack
    except ImportError as error:
        raise ImportError(f'codec="msgpack" needs msgpack: {how_to_install("msgpack")}') from error

    return _Pair(msgpack.packb, msgpack.unpackb)


CODECS: Final[Mapping[str | None, Callable[[], Codec[Any]]]] = {
    None: _plain,
    "json": _json,
    "pickle": _pickle,
    "msgpack": _msgpack,
}
"""What makes each codec, by the name that ``codec=`` takes; without a name, values are bytes."""


def codec_of(given: Codec[V] | str | None) -> Codec[V]:
    """The codec that an argument stands for.

    Raises:
        ValueError: There is none of that name.
        ImportError: It needs a package that is not there.
        TypeError: It is neither a name nor a codec.
    """
    if given is None or isinstance(given, str):
        if given not in CODECS:
            known = ", ".join(map(repr, filter(None, CODECS)))
            raise ValueError(
                f"codec must be one of {known}, or an object with encode and decode, not {given!r}"
            )
        return CODECS[given]()
    if not (callable(getattr(given, "encode", None)) and callable(getattr(given, "decode", None))):
        raise TypeError(f"codec must be a name or have the methods encode and decode, not {given!r}")
    return given


def sendable(data: bytes, beside: int = 0) -> bytes:
    """A value that is about to be sent, with so many bytes beside it.

    Raises:
        ValueTooLongError: It is longer than any Redis takes.
    """
    if len(data) > LONGEST - beside:
        most = f"{LONGEST - beside} bytes, the longest that Redis takes"
        raise ValueTooLongError(f"a value of {len(data)} bytes is longer than {most}; nothing was sent")
    return data


def decoded(codec: Codec[V], data: bytes, taken: list[bytes], queue: object = None) -> V:
    """The object that a value stands for.

    Raises:
        CodecError: It stands for none; ``taken`` is what was taken from the queue with it.
    """
    try:
        return codec.decode(data)
    except Exception as error:
        where = "" if queue is None else f"queue {queue}: "
        why = printable(str(error))
        raise CodecError(f"{where}the codec cannot decode a value: {why}", data, taken) from error
