"""Codecs: encode objects as the bytes of a value, and decode them again.

Without a codec values are bytes. ``"json"`` and ``"msgpack"`` (needs the package of that name) are safe.
``"pickle"`` lets every client that can put into the queue run code in the process that decodes, so use it
only where all these clients are trusted. A queue with ``"pickle"`` warns with ``UnsafeCodecWarning``;
``warnings.simplefilter("ignore", pressure.UnsafeCodecWarning)`` turns that off.

To add a codec: pass an object with ``encode`` and ``decode`` as ``codec=``, or add a row to ``CODECS``.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, cast

from pressure.errors import CodecError, UnsafeCodecWarning, ValueTooLongError
from pressure.extras import how_to_install
from pressure.protocol.sizes import LONGEST
from pressure.text import printable

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    #: The type of a queue's values; ``Any`` if it is not known.
    V = TypeVar("V", default=Any)
else:
    from typing import TypeVar

    V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)

#: The names that ``codec=`` takes.
CodecName: TypeAlias = Literal["json", "msgpack", "pickle"]


class Codec(Protocol[V]):
    """An object for ``codec=``: it encodes objects as values of a queue, and decodes them."""

    def encode(self, item: V, /) -> bytes:
        """Encode an object as bytes."""

    def decode(self, data: bytes, /) -> V:
        """Decode bytes that ``encode`` made."""


class Text(Protocol[V_co]):
    """Text that can be encoded as a value: ``str`` is ``Text[bytes]``, so a queue of bytes takes it, too."""

    def encode(self, encoding: str = ..., errors: str = ...) -> V_co:
        """Encode the text as a value."""


#: What can be put into a queue of ``V``. (Types cannot say that bytes-like objects need ``V`` to be bytes.)
Sendable: TypeAlias = V | Text[V] | bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class _Pair:
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


def _payload(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    what = type(value).__name__
    raise TypeError(f"a value must be bytes-like or str, not {what}; codec='json' and others take more types")


#: The codec of values that are bytes.
PLAIN: Final = _Pair(_payload, bytes)


def _json() -> _Pair:
    """Refuses infinity and NaN: JSON has none, and clients in other languages could not read the message."""
    return _Pair(lambda item: json.dumps(item, separators=(",", ":"), allow_nan=False).encode(), json.loads)


def _pickle() -> _Pair:
    warnings.warn(
        'codec="pickle" runs code that is in the values: every client that can put into the queue can run '
        "code in this process. Use it only if you trust them, and ignore pressure.UnsafeCodecWarning then",
        UnsafeCodecWarning,
        stacklevel=_outside(),
    )
    import pickle

    return _Pair(pickle.dumps, pickle.loads)


def _outside() -> int:
    """The ``stacklevel``, for our caller, of the nearest caller outside this package."""
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
    None: lambda: PLAIN,
    "json": _json,
    "pickle": _pickle,
    "msgpack": _msgpack,
}
"""A function that makes each codec, by the name that ``codec=`` takes; for None, values are bytes."""


def codec_of(given: Codec[V] | str | None) -> Codec[V]:
    """The codec that the argument ``codec`` selects.

    Raises:
        ValueError: There is no codec of that name.
        ImportError: The codec needs a package that is not installed.
        TypeError: The argument is neither a name nor a codec.
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
    """The value, if it is short enough to send.

    Args:
        data: The value.
        beside: How many bytes are added to it in the same argument.

    Raises:
        ValueTooLongError: It is longer than Redis accepts.
    """
    if len(data) > LONGEST - beside:
        most = f"{LONGEST - beside} bytes, the longest that Redis accepts"
        raise ValueTooLongError(f"a value of {len(data)} bytes is longer than {most}; nothing was sent")
    return data


def all_decoded(codec: Codec[V], taken: list[bytes], queue: object = None) -> list[V]:
    """``decoded`` for all values that a call took."""
    if codec is PLAIN:
        return cast("list[V]", taken)
    try:
        return [*map(codec.decode, taken)]
    except Exception:  # decoded one by one, the value that is wrong is named
        return [decoded(codec, data, taken, queue) for data in taken]


def decoded(codec: Codec[V], data: bytes, taken: list[bytes], queue: object = None) -> V:
    """The object that was encoded as this value.

    Raises:
        CodecError: The codec cannot decode it. Its ``taken`` has all values that the call took.
    """
    try:
        return codec.decode(data)
    except Exception as error:
        where = "" if queue is None else f"queue {queue}: "
        why = printable(str(error))
        raise CodecError(f"{where}the codec cannot decode a value: {why}", data, taken) from error
