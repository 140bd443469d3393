"""What travels with a message besides its bytes: ids, delayed messages as they are stored, and notes.

Rules:
    - A message of the lane that is due is known by ``<origin>@<id in the lane>``. Its origin is the id that
      its ``push`` returned, however often it is retried.
    - A delayed message is a member of a sorted set:
      ``<32 digits>:<deliveries>,<length of the note>:<note><payload>``. The digits begin with the time, so
      that messages due at the same time stay in the order in which they were delayed.
    - A note is JSON. What others wrote is a message without a note.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable
from typing import Any, Final

from pressure.kinds.reliable.model import DeadLetter, Delivered, ReliableKeys

#: Most characters of an error's text that a dead letter keeps.
LONGEST_TEXT: Final = 1000

_DELAYED: Final = re.compile(rb"([0-9a-f]{32}):(\d{1,18})(?:,(\d{1,9}))?:(.*)", re.DOTALL)


def native_of(message: bytes) -> bytes:
    """The id that a message has in its lane."""
    return message.rpartition(b"@")[2]


def origin_of(message: bytes) -> bytes:
    """The id that a message keeps."""
    return message.rpartition(b"@")[0] or message


def by_lane(keys: ReliableKeys, ids: Iterable[bytes]) -> list[tuple[ReliableKeys, dict[bytes, bytes]]]:
    """The lanes that some of these messages are in; their ids there, with their public ids."""
    known = list(ids)
    lanes = ((keys, False), (keys.due, True))
    split = [
        (lane, {native_of(each): each for each in known if (b"@" in each) == due}) for lane, due in lanes
    ]
    return [(lane, some) for lane, some in split if some]


def encoded(**note: Any) -> bytes:
    """A note of what is known."""
    return json.dumps({name: value for name, value in note.items() if value not in (None, "")}).encode()


def noted(note: Any) -> dict[str, Any]:
    """What a note says; nothing if there is none."""
    try:
        found = json.loads(note) if note else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def rest_of(data: bytes, deliveries: int, note: bytes) -> bytes:
    """A delayed message as it is stored, without the time in front of it."""
    return b"%s:%d,%d:%s%s" % (secrets.token_hex(8).encode(), deliveries, len(note), note, data)


def beginning_of(time: Any, number: int = 0) -> bytes:
    """The time in front of a delayed message, from the reply to TIME; the number keeps several in order."""
    seconds, microseconds = time
    return b"%016d" % (int(seconds) * 1_000_000 + int(microseconds) + number)


def pushed_later(data: bytes, due: int, beginning: bytes) -> tuple[bytes, bytes]:
    """The id of a message that is pushed with a delay, due at this time in milliseconds; and its member."""
    unique = beginning + secrets.token_hex(8).encode()
    message = b"%d-%s" % (due, unique)
    note = encoded(id=message.decode())
    return message, b"%s:0,%d:%s%s" % (unique, len(note), note, data)


def place_of(message: bytes) -> tuple[int, bytes] | None:
    """When a delayed message is due, and how its member begins; None for the id of another message."""
    found = re.fullmatch(rb"(\d{1,18})-([0-9a-f]{32})", message)
    return (int(found[1]), found[2]) if found else None


def parts_of(member: bytes) -> tuple[bytes, int, bytes]:
    """Payload, earlier deliveries and note of a delayed message."""
    found = _DELAYED.fullmatch(member)
    if not found:
        return member, 0, b""
    length = int(found[3] or 0)
    return found[4][length:], int(found[2]), found[4][:length]


def delivered(
    keys: ReliableKeys, native: bytes, data: bytes, deliveries: int, at: float | None, *notes: Any
) -> Delivered:
    """A message of a lane; of several notes the last one counts."""
    known: dict[str, Any] = {}
    for note in notes:
        known |= noted(note)
    origin = str(known.get("id", "")).encode()
    message = b"%s@%s" % (origin or native, native) if keys.is_due else native
    first = at if deliveries == 1 else _seconds(known.get("first"))
    return Delivered(message, data, deliveries, first, at)


def retried(message: Delivered) -> bytes:
    """The note of a message that is retried."""
    return encoded(id=origin_of(message.id).decode("ascii", "replace"), first=_milliseconds(message.first))


def dead_letter_note(message: Delivered, error: BaseException | None) -> bytes:
    """The note of a message that is dead."""
    return encoded(
        id=origin_of(message.id).decode("ascii", "replace"),
        error=type(error).__qualname__ if error else "",
        text=str(error)[:LONGEST_TEXT] if error else "",
        deliveries=message.deliveries,
        first=_milliseconds(message.first),
        last=_milliseconds(message.at),
    )


def dead_letter(message: Delivered, note: Any) -> DeadLetter:
    """A dead message with its note."""
    known = noted(note)
    deliveries = known.get("deliveries")
    return DeadLetter(
        message,
        str(known.get("id", "")).encode(),
        str(known.get("error", "")),
        str(known.get("text", "")),
        deliveries if isinstance(deliveries, int) else 0,
        _seconds(known.get("first")),
        _seconds(known.get("last")),
    )


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def _seconds(milliseconds: Any) -> float | None:
    return milliseconds / 1000 if isinstance(milliseconds, int | float) else None
