"""Format names, values and numbers for terminals and as JSON.

Rules:
    - In JSON, bytes that are UTF-8 are text, and others are ``{"base64": ...}``.
    - Text for terminals has no control characters; see ``pressure.text``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pressure
from pressure.text import printable

if TYPE_CHECKING:
    from pressure import DeadLetter, Diagnosis, RoleState
    from pressure.kinds.overview import Overview


def value(data: bytes) -> dict[str, str]:
    """A value for JSON: ``{"text": ...}``, or ``{"base64": ...}`` if it is not UTF-8."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def reasons(letter: DeadLetter) -> dict[str, Any]:
    """Why a message became a dead letter, for JSON."""
    return {
        "id": name(letter.origin or letter.message.id),
        "error": letter.error,
        "reason": letter.text,
        "deliveries": letter.deliveries,
        "first": letter.first,
        "last": letter.last,
    }


def as_json(data: bytes) -> bytes:
    """A value as JSON on one line; see ``value``."""
    return json_line(value(data)).encode()


def json_line(found: object) -> str:
    """JSON on one line, with control characters escaped."""
    text = json.dumps(found, ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def name(data: bytes) -> str | dict[str, str]:
    """A name for JSON: text, or ``{"base64": ...}`` if it is not UTF-8."""
    found = value(data)
    return found.get("text", found)


def size(count: float) -> str:
    """A number of bytes with its unit, such as ``1.5 kB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def bar(length: int, bound: int | None, width: int = 10) -> str:
    """How full a queue is: a bar if it has a bound, and the numbers."""
    if not bound:
        return f"{' ' * width} {length}"
    filled = min(width, -(-length * width // bound))
    return f"{'#' * filled}{'.' * (width - filled)} {length}/{bound}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join("  ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in rows)


def role(state: RoleState) -> str:
    """The holder of a role, as text."""
    if not state.taken:
        return "free"
    holder = printable(state.holder) if state.holder else "unknown client"
    return f"{holder} (not connected)" if state.connected is False else holder


def _role_record(state: RoleState) -> dict[str, Any]:
    holder = None if state.holder is None else name(state.holder)
    return {
        "taken": state.taken,
        "holder": holder if state.taken else None,
        "last": holder,
        "seconds": state.seconds if state.taken else None,
        "connected": state.connected,
    }


def record(found: Diagnosis | Overview) -> dict[str, Any]:
    """A queue for JSON."""
    return _record_of_queue(found) if isinstance(found, pressure.Diagnosis) else _record_of_other(found)


def _record_of_other(found: Overview) -> dict[str, Any]:
    return {
        **asdict(found),
        "queue": name(found.queue),
        "state": found.state,
        "problems": list(found.problems),
    }


def _record_of_queue(found: Diagnosis) -> dict[str, Any]:
    numbers = (
        "length", "bound", "unacknowledged", "produced_messages", "produced_bytes", "consumed_messages",
        "consumed_bytes", "rejected", "tokens", "marks", "blocked",
    )  # fmt: skip
    return {
        "queue": name(found.queue),
        "kind": found.kind,
        "state": found.state,
        **{field: getattr(found, field) for field in numbers},
        "producer": _role_record(found.producer),
        "consumer": _role_record(found.consumer),
        "problems": list(found.problems),
    }
