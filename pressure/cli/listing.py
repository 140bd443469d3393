"""``ls``, ``inspect`` and ``doctor``: what queues there are, and how they are."""

from __future__ import annotations

from fnmatch import fnmatchcase

from pressure.cli import shown
from pressure.cli.call import Call, answer, answer_json, write
from pressure.cli.status import DONE, NO
from pressure.errors import QueueDoesNotExistError
from pressure.protocol import Diagnosis, RoleState

_HEAD = ("QUEUE", "LENGTH", "BOUND", "STATE", "PRODUCER", "CONSUMER")


def ls(call: Call) -> int:
    """List the queues whose names match one of the patterns, or all."""
    patterns = call.arguments.patterns
    found = [each for each in call.look() if not patterns or _matches(each.queue, patterns)]
    if call.arguments.names:
        write("".join(each.queue.decode("utf-8", "surrogateescape") + "\n" for each in found))
    elif call.arguments.json:
        answer_json([shown.record(each) for each in found])
    elif found:
        write(shown.table([_HEAD, *map(_row, found)]))
    return DONE


def _matches(queue: bytes, patterns: list[str]) -> bool:
    return any(fnmatchcase(queue.decode("utf-8", "surrogateescape"), pattern) for pattern in patterns)


def _row(found: Diagnosis) -> tuple[str, ...]:
    roles = map(shown.role, (found.producer, found.consumer))
    return (shown.plain(found.queue), str(found.length), _bound(found), found.state, *roles)


def _bound(found: Diagnosis) -> str:
    return "?" if found.bound is None else str(found.bound or "none")


def inspect(call: Call) -> int:
    """Print all that can be known of a queue."""
    found = _one(call)
    if call.arguments.json:
        answer_json(shown.record(found))
    else:
        write(shown.table(_facts(found)))
    return DONE


def _one(call: Call) -> Diagnosis:
    found = call.look((call.arguments.name,))
    if not found:
        raise QueueDoesNotExistError(f"queue {call.queue(call.arguments.name).keys} does not exist")
    return found[0]


def _facts(found: Diagnosis) -> list[tuple[str, str]]:
    blocked = "not known" if found.blocked is None else str(found.blocked)
    return [
        ("queue", shown.plain(found.queue)),
        ("state", found.state),
        ("length", str(found.length)),
        ("bound", _bound(found)),
        ("unacknowledged", str(found.unacknowledged)),
        ("produced", f"{found.produced_messages} messages, {shown.size(found.produced_bytes)}"),
        ("consumed", f"{found.consumed_messages} messages, {shown.size(found.consumed_bytes)}"),
        ("producer", _role(found.producer)),
        ("consumer", _role(found.consumer)),
        ("room", "yes" if found.tokens else "no"),
        ("clients waiting on the server", blocked),
        *(("problem", shown.plain(problem.encode())) for problem in found.problems),
    ]


def _role(state: RoleState) -> str:
    if state.taken:
        since = "" if state.seconds is None else f", for about {state.seconds} s"
        return f"{shown.role(state)}{since}"
    return f"free, last {shown.plain(state.holder)}" if state.holder else "free"


def doctor(call: Call) -> int:
    """Print what is wrong with a queue, or with any of them."""
    found = [_one(call)] if call.arguments.name is not None else call.look()
    if call.arguments.json:
        answer_json([shown.record(each) for each in found])
    else:
        for each in found:
            answer("\n".join(map(_safe, str(each).splitlines())))
        answer(_verdict(found))
    return NO if any(each.problems for each in found) else DONE


def _safe(line: str) -> str:
    return shown.plain(line.encode())


def _verdict(found: list[Diagnosis]) -> str:
    problems = sum(len(each.problems) for each in found)
    count = {0: "no problems", 1: "1 problem"}.get(problems, f"{problems} problems")
    return f"{count} in {len(found)} queue{'' if len(found) == 1 else 's'}"
