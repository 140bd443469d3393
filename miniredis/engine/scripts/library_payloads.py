"""Libraries as one payload: what FUNCTION DUMP makes, and FUNCTION RESTORE reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..protocol import errors
from ..protocol.errors import CommandError
from ..rdb.kinds import LIBRARY
from ..rdb.payload import BadDataError, BadPayloadError, decode_payload, encode_payload
from ..rdb.reader import Reader, string
from . import script_errors

__all__ = ["codes_in", "payload_of"]


def payload_of(codes: Iterable[bytes]) -> bytes:
    """The payload of libraries with these codes."""
    return encode_payload(b"".join(bytes([LIBRARY]) + string(code) for code in codes))


def codes_in(payload: bytes) -> Iterator[bytes]:
    """The code of each library in a payload; raises ``CommandError`` if it contains anything else."""
    try:
        reader = decode_payload(payload)
    except BadPayloadError:
        raise CommandError(errors.BAD_PAYLOAD) from None
    while not reader.is_over:
        yield read_code(reader)


def read_code(reader: Reader) -> bytes:
    if reader.byte() != LIBRARY:
        raise CommandError(script_errors.NOT_A_LIBRARY)
    try:
        return reader.string()
    except BadDataError:
        raise CommandError(script_errors.NO_LIBRARY_CODE) from None
