"""``ls``, ``inspect`` and ``doctor``: list queues, print their states, and find problems."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase

from pressure.cli import formatting
from pressure.cli.call import Call, answer, answer_json, write
from pressure.cli.lookup import QueueReport, examine, one
from pressure.cli.status import DONE, NO
from pressure.kinds.overview import OLD, Overview
from pressure.protocol.diagnosis import Diagnosis, RoleState
from pressure.text import printable

_HEAD = ("QUEUE", "KIND", "LENGTH", "BOUND", "STATE", "PRODUCER", "CONSUMER")

#: Notes about kinds that the keys do not determine.
_KIND = {"list": "list (a backup queue or a ring: its keys do not show which while nothing is in progress)"}
_TAKEN = {"ring": "locked", "list": "locked or in progress", "reliable": "delivered"}
#: Kinds that record since when an item is in progress.
_TIMED = {"backup", "reliable"}


def ls(call: Call) -> int:
    """List the queues whose names match one of the patterns, or all."""
    patterns = call.arguments.patterns
    found = [each for each in examine(call) if not patterns or _matches(each.queue, patterns)]
    if call.arguments.names:
        names = dict.fromkeys(each.queue for each in found)  # two kinds may share one
        as_text = printable if sys.stdout.isatty() else os.fsdecode
        write("".join(as_text(each) + "\n" for each in names))
    elif call.arguments.json:
        answer_json([formatting.record(each) for each in found])
    elif found:
        write(formatting.table([_HEAD, *map(_row, found)]))
    return DONE


def _matches(queue: bytes, patterns: list[str]) -> bool:
    return any(fnmatchcase(queue.decode("utf-8", "surrogateescape"), pattern) for pattern in patterns)


def _row(found: QueueReport) -> tuple[str, ...]:
    roles: Iterable[str] = ("-", "-")
    if isinstance(found, Diagnosis):
        roles = map(formatting.role, (found.producer, found.consumer))
    return (printable(found.queue), found.kind, str(found.length), _bound(found), found.state, *roles)


def _bound(found: QueueReport) -> str:
    if not isinstance(found, Diagnosis):
        return "-"
    return "?" if found.bound is None else str(found.bound or "none")


def inspect(call: Call) -> int:
    """Print everything that is known about a queue."""
    found = one(call)
    if call.arguments.json:
        answer_json(formatting.record(found))
    else:
        write(formatting.table(_facts(found) if isinstance(found, Diagnosis) else _facts_of_other(found)))
    return DONE


def _facts_of_other(found: Overview) -> list[tuple[str, str]]:
    oldest = "not known" if found.oldest is None else f"taken {found.oldest:.0f} s ago"
    more = {"delayed": found.delayed, "dead": found.dead} if found.kind == "reliable" else {}
    return [
        ("queue", printable(found.queue)),
        ("kind", _KIND.get(found.kind, found.kind)),
        ("length", str(found.length)),
        (_TAKEN.get(found.kind, "in progress"), str(found.in_progress)),
        *((("oldest in progress", oldest),) if found.in_progress and found.kind in _TIMED else ()),
        *((name, str(count)) for name, count in more.items()),
        *(("problem", printable(problem)) for problem in found.problems),
    ]


def _facts(found: Diagnosis) -> list[tuple[str, str]]:
    blocked = "not known" if found.blocked is None else str(found.blocked)
    return [
        ("queue", printable(found.queue)),
        ("kind", found.kind),
        ("state", found.state),
        ("length", str(found.length)),
        ("bound", _bound(found)),
        ("unacknowledged", str(found.unacknowledged)),
        *((("rejected", str(found.rejected)),) if found.rejected else ()),
        ("produced", f"{found.produced_messages} messages, {formatting.size(found.produced_bytes)}"),
        ("consumed", f"{found.consumed_messages} messages, {formatting.size(found.consumed_bytes)}"),
        ("producer", _role(found.producer)),
        ("consumer", _role(found.consumer)),
        ("room", "yes" if found.tokens else "no"),
        ("blocked clients of the server", blocked),
        *(("problem", printable(problem)) for problem in found.problems),
    ]


def _role(state: RoleState) -> str:
    if state.taken:
        since = "" if state.seconds is None else f", for about {state.seconds} s"
        return f"{formatting.role(state)}{since}"
    return f"free, last {printable(state.holder)}" if state.holder else "free"


def doctor(call: Call) -> int:
    """Print what is wrong with one queue, or with all queues."""
    old = OLD if call.arguments.old is None else call.arguments.old
    found = [one(call, old)] if call.arguments.name is not None else examine(call, old=old)
    if call.arguments.json:
        answer_json([formatting.record(each) for each in found])
    else:
        for each in found:
            answer("\n".join(map(printable, str(each).splitlines())))
        answer(_verdict(found))
    return NO if any(each.problems for each in found) else DONE


def _verdict(found: list[QueueReport]) -> str:
    problems = sum(len(each.problems) for each in found)
    count = {0: "no problems", 1: "1 problem"}.get(problems, f"{problems} problems")
    return f"{count} in {len(found)} queue{'' if len(found) == 1 else 's'}"
