"""Find queues of every kind, and examine their states.

Rules:
    - With ``--prefix``, the keys of every kind begin with that. Without it, the keys of ``pressure.Queue``
      begin with ``$PRESSURE_PREFIX``, and those of the other kinds with ``queue``.
    - A key of a ``pressure.Queue`` is not mistaken for a queue of another kind.
    - On a cluster, the node that has the queue's keys is asked. If no queue is named, the node that the
      options name is asked for its queues.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias, TypeVar

from pressure.cli.call import Call
from pressure.cli.options import KINDS, QUEUE
from pressure.errors import PressureError, QueueDoesNotExistError
from pressure.keys import SUFFIXES, Keys, QueueKeys, hash_tag
from pressure.kinds import overview
from pressure.kinds.overview import OLD, PREFIX, Overview
from pressure.protocol import Operation
from pressure.protocol.diagnosis import Diagnosis
from pressure.protocol.problems import no_such_queue
from pressure.survey import survey

QueueReport: TypeAlias = Diagnosis | Overview
L = TypeVar("L", bound=QueueKeys)
Found = TypeVar("Found", Diagnosis, Overview)


def root_of(call: Call) -> bytes:
    """The beginning of the keys of the other kinds."""
    given: bytes | None = call.where["prefix"]
    return PREFIX if given is None else given


def examine(call: Call, names: Sequence[str] = (), old: float = OLD) -> list[QueueReport]:
    """Examine the queues with these names, or all queues. Names of which there is no queue are left out.

    With ``--kind``, only queues of that kind. A list that may be of two kinds belongs to both.
    """
    kind = getattr(call.arguments, "kind", None)
    shared = call.settings.prefix == root_of(call)
    queues = _queues(call, names) if shared or kind in (None, QUEUE) else []
    taken = {each.queue + suffix for each in queues for suffix in SUFFIXES.values()} if shared else set()
    others = [] if kind == QUEUE else _others(call, [os.fsencode(name) for name in names], taken, old)
    wanted = (each for each in others if kind in (None, each.kind) or _may_be(each, kind))
    return [*(queues if kind in (None, QUEUE) else ()), *wanted]


def _may_be(seen: Overview, kind: str) -> bool:
    return seen.kind == "list" and kind in ("backup", "ring")


def one(call: Call, old: float = OLD) -> QueueReport:
    """The queue that the call names.

    Raises:
        QueueDoesNotExistError: There is no such queue.
    """
    found = examine(call, (call.arguments.name,), old)
    if not found:
        raise no_such_queue(call.queue(call.arguments.name).keys)
    return found[0]


def name_the_kind(call: Call, error: QueueDoesNotExistError) -> None:
    """Add a note to the error if there is a queue of another kind by this name: ``--kind`` may be missing."""
    name, kind = getattr(call.arguments, "name", None), getattr(call.arguments, "kind", QUEUE)
    if name is None or kind != QUEUE:
        return
    with suppress(PressureError):
        for seen in _others(call, [os.fsencode(name)], set(), OLD):
            kinds = [each for each in KINDS if each == seen.kind or _may_be(seen, each)]
            error.args = (str(error).partition("; ")[0],)
            there = f"there is a {seen.kind if seen.kind == 'list' else f'{seen.kind} queue'} of that name"
            if hasattr(call.arguments, "kind"):
                error.add_note(f"{there}: give --kind {' or --kind '.join(kinds)}")
            else:
                error.add_note(f"{there}, which this subcommand is not for")


def _queues(call: Call, names: Sequence[str]) -> list[Diagnosis]:
    prefix = call.settings.prefix
    if not names:
        return call.driver().run(survey(prefix))
    places = [Keys.of(os.fsencode(name), prefix) for name in names]
    return _by_node(call, places, lambda some: survey(prefix, [keys.name for keys in some]))


def _others(call: Call, names: Sequence[bytes], taken: set[bytes], old: float) -> list[Overview]:
    root = root_of(call)
    if names:
        places = [overview.place_of(name, root) for name in names if name not in taken]
        return _by_node(call, places, lambda some: overview.examine(some, old))
    locks = call.driver().run(overview.find(root))
    places = [overview.place_of(name, root) for name in sorted(locks) if name not in taken]
    return call.driver().run(overview.examine(places, old, locks))


def _by_node(
    call: Call, places: Sequence[L], ask: Callable[[Sequence[L]], Operation[list[Found]]]
) -> list[Found]:
    """Ask each node of a cluster for the queues that it has, by their hash tags."""
    found: dict[bytes, Found] = {}
    for tag in dict.fromkeys(hash_tag(place.all[-1]) for place in places):
        some = [place for place in places if hash_tag(place.all[-1]) == tag]
        found.update((each.queue, each) for each in call.driver(tag, some[0]).run(ask(some)))
    return [found[place.name] for place in places if place.name in found]
