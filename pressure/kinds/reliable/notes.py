"""The formats of ids, delayed messages and notes.

Rules:
    - In the lane of due messages, the public id of a message is ``<origin>@<id in the lane>``; in the other
      lane it is the id in the lane. The origin is the id that ``push`` returned, even after many retries.
    - A delayed message is a member of a sorted set:
      ``<32 digits>:<deliveries>,<length of the note>:<note><payload>``. The digits begin with the time, so
      that messages due at the same time stay in the order in which they were delayed.
    - A note is a JSON object. A member or note in another format counts as a message without a note.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable
from typing import Any, Final

from pressure.kinds.reliable.model import DeadLetter, Delivered, ReliableKeys

#: How many characters of an error's text a dead letter keeps, at most.
LONGEST_TEXT: Final = 1000

_DELAYED: Final = re.compile(rb"([0-9a-f]{32}):(\d{1,18})(?:,(\d{1,9}))?:(.*)", re.DOTALL)


def native_of(message: bytes) -> bytes:
    """The id of a message in its lane."""
    return message.rpartition(b"@")[2]


def origin_of(message: bytes) -> bytes:
    """The origin of a message: the part of its id that does not change."""
    return message.rpartition(b"@")[0] or message


def by_lane(keys: ReliableKeys, ids: Iterable[bytes]) -> list[tuple[ReliableKeys, dict[bytes, bytes]]]:
    """The lanes that have any of these messages; for each lane the public ids, by the ids in the lane."""
    known = list(ids)
    lanes = ((keys, False), (keys.due, True))
    split = [
        (lane, {native_of(each): each for each in known if (b"@" in each) == due}) for lane, due in lanes
    ]
    return [(lane, some) for lane, some in split if some]


def encoded(**note: Any) -> bytes:
    """A note with those fields that are neither None nor empty."""
    return json.dumps({name: value for name, value in note.items() if value not in (None, "")}).encode()


def noted(note: Any) -> dict[str, Any]:
    """The fields of a note; empty if there is none, or it is not a JSON object."""
    try:
        found = json.loads(note) if note else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def rest_of(data: bytes, deliveries: int, note: bytes) -> bytes:
    """The member for a delayed message, without the time at its beginning."""
    return b"%s:%d,%d:%s%s" % (secrets.token_hex(8).encode(), deliveries, len(note), note, data)


def beginning_of(time: Any, number: int = 0) -> bytes:
    """The time at the beginning of a member, from the reply to TIME; ``number`` keeps several in order."""
    seconds, microseconds = time
    return b"%016d" % (int(seconds) * 1_000_000 + int(microseconds) + number)


def pushed_later(data: bytes, due: int, beginning: bytes) -> tuple[bytes, bytes]:
    """The id and the member for a message that is pushed with a delay; ``due`` is in milliseconds."""
    unique = beginning + secrets.token_hex(8).encode()
    message = b"%d-%s" % (due, unique)
    note = encoded(id=message.decode())
    return message, b"%s:0,%d:%s%s" % (unique, len(note), note, data)


def place_of(message: bytes) -> tuple[int, bytes] | None:
    """When a delayed message is due, and how its member begins; None if the id has another format."""
    found = re.fullmatch(rb"(\d{1,18})-([0-9a-f]{32})", message)
    return (int(found[1]), found[2]) if found else None


def parts_of(member: bytes) -> tuple[bytes, int, bytes]:
    """The payload, the earlier deliveries and the note in the member of a delayed message."""
    found = _DELAYED.fullmatch(member)
    if not found:
        return member, 0, b""
    length = int(found[3] or 0)
    return found[4][length:], int(found[2]), found[4][:length]


def delivered(
    keys: ReliableKeys, native: bytes, data: bytes, deliveries: int, at: float | None, *notes: Any
) -> Delivered:
    """A delivered message of a lane; fields of later notes override those of earlier ones."""
    known: dict[str, Any] = {}
    for note in notes:
        known |= noted(note)
    origin = str(known.get("id", "")).encode()
    message = b"%s@%s" % (origin or native, native) if keys.is_due else native
    first = at if deliveries == 1 else _seconds(known.get("first"))
    return Delivered(message, data, deliveries, first, at)


def first_note(message: Delivered) -> bytes:
    """The note for a message that was delivered once."""
    return encoded(first=_milliseconds(message.first))


def retried(message: Delivered) -> bytes:
    """The note for a message that is retried."""
    return encoded(id=origin_of(message.id).decode("ascii", "replace"), first=_milliseconds(message.first))


def dead_letter_note(message: Delivered, error: BaseException | None) -> bytes:
    """The note for a dead letter."""
    return encoded(
        id=origin_of(message.id).decode("ascii", "replace"),
        error=type(error).__qualname__ if error else "",
        text=str(error)[:LONGEST_TEXT] if error else "",
        deliveries=message.deliveries,
        first=_milliseconds(message.first),
        last=_milliseconds(message.at),
    )


def dead_letter(message: Delivered, note: Any) -> DeadLetter:
    """The dead letter for a message of the dead-letter queue and its note."""
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
