"""The rows of ``top``, from successive looks at the queues: rates, and how long roles have been held.

Rules:
    - A rate is the difference of two looks, so the first look has none.
    - Only the first look can ask the server how long a role has been held (OBJECT IDLETIME): reading the
      holder key resets that time. Later looks measure how long the holder has been the same and has moved no
      message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pressure.cli import formatting
from pressure.cli.lookup import QueueReport
from pressure.connections.identity import process_in
from pressure.protocol.diagnosis import Diagnosis, RoleState
from pressure.text import printable

HEAD: Final = ("QUEUE", "STATE", "LENGTH", "PUT/s", "GET/s", "PRODUCER", "CONSUMER")


@dataclass(frozen=True, slots=True)
class Activity:
    """What the holder of a role is doing.

    Attributes:
        doing: ``"free"`` (nobody holds the role), ``"working"``, ``"waiting"`` (for room or for values) or
            ``"gone"`` (not connected).
        holder: The id of the holder; None if nobody holds the role or the id is not known.
        seconds: For how long, as far as it is known.
    """

    doing: str
    holder: bytes | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of ``top``: a queue, and its rates in messages per second.

    A rate is None at the first look, and for kinds that do not count messages.
    """

    report: QueueReport
    put_rate: float | None
    get_rate: float | None
    producer: Activity
    consumer: Activity


Show: TypeAlias = Callable[[Sequence[Row]], None]


def _at_rest(report: QueueReport) -> Row:
    """The row of a kind that has no roles and does not count messages."""
    return Row(report, None, None, Activity("free"), Activity("free"))


@dataclass(frozen=True, slots=True)
class _Held:
    holder: bytes | None
    moved: int
    since: float


class History:
    """Makes rows from each look and those before it."""

    def __init__(self) -> None:
        self._last: dict[bytes, tuple[float, Diagnosis]] = {}
        self._held: dict[tuple[bytes, str], _Held] = {}

    def add(self, now: float, reports: Sequence[QueueReport]) -> list[Row]:
        """The rows for a look that was taken at the time ``now``, in seconds."""
        rows = [
            self._row(now, report) if isinstance(report, Diagnosis) else _at_rest(report)
            for report in reports
        ]
        self._last = {report.queue: (now, report) for report in reports if isinstance(report, Diagnosis)}
        return rows

    def _row(self, now: float, report: Diagnosis) -> Row:
        full = bool(report.bound) and report.length >= (report.bound or 0)
        empty = not report.length and not report.unacknowledged
        return Row(
            report,
            self._rate(now, report, "produced_messages"),
            self._rate(now, report, "consumed_messages"),
            self._activity(now, report, report.producer, report.produced_messages, full),
            self._activity(now, report, report.consumer, report.consumed_messages, empty),
        )

    def _rate(self, now: float, report: Diagnosis, counter: str) -> float | None:
        if report.queue not in self._last:
            return None
        before, last = self._last[report.queue]
        moved: int = getattr(report, counter) - getattr(last, counter)
        return (
            max(moved, 0) / (now - before) if now > before else None
        )  # negative if the queue was created again

    def _activity(self, now: float, report: Diagnosis, role: RoleState, moved: int, stuck: bool) -> Activity:
        key = (report.queue, role.role)
        if not role.taken:
            self._held.pop(key, None)
            return Activity("free")
        held = self._held.get(key)
        if held is None and report.queue not in self._last:
            held = _Held(role.holder, moved, now - (role.seconds or 0))
        elif held is None or (held.holder, held.moved) != (role.holder, moved):
            held = _Held(role.holder, moved, now)
        self._held[key] = held
        doing = "gone" if role.connected is False else "waiting" if stuck else "working"
        return Activity(doing, role.holder, now - held.since)


def cells(row: Row) -> tuple[str, ...]:
    """The cells of a row, as text."""
    rates = ("-" if rate is None else f"{rate:,.1f}" for rate in (row.put_rate, row.get_rate))
    report = row.report
    return (
        printable(report.queue), _state(report), formatting.bar(report.length, report.bound), *rates,
        _activity(row.producer), _activity(row.consumer),
    )  # fmt: skip


def _state(report: QueueReport) -> str:
    """The state; for other kinds also the kind, since one more column would not fit on many terminals."""
    return report.state if isinstance(report, Diagnosis) else f"{report.kind}: {report.state}"


def _activity(activity: Activity) -> str:
    if activity.doing == "free":
        return "-"
    holder = activity.holder or b"?"
    return f"{activity.doing} {activity.seconds:.0f} s, {printable(process_in(holder) or holder)}"
