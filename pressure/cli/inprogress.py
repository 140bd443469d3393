"""``inprogress``: list the items of a backup queue that are in progress; put them back or remove them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from pressure.cli import formatting, kinds
from pressure.cli.call import Call, answer, answer_json, print_error, write
from pressure.cli.status import DONE, NO
from pressure.kinds import BackupQueue, InProgress
from pressure.text import printable

_HEAD = ("SECONDS", "ITEM")


def inprogress(call: Call) -> int:
    """Print the items in progress; or put items back, or remove them, and print which."""
    options = call.arguments
    if options.requeue and options.discard:
        raise ValueError("give either --requeue or --discard, not both")
    if options.discard and not options.items:
        raise ValueError(
            "--discard needs the items to remove, as in: pressure inprogress QUEUE ITEM --discard"
        )
    queue: BackupQueue = kinds.opened(call, "backup")
    wanted = [os.fsencode(text) for text in options.items]
    found = [each for each in queue.in_progress() if _is_meant(each, wanted, options.older)]
    if not (options.requeue or options.discard):
        _show(found, as_json=options.json)
        return _missing(found, wanted)
    # in reverse order: the item that is put back last is taken next, and that should be the oldest
    act = queue.requeue if options.requeue else queue.discard
    done = [each for each in reversed(found) if act(each.item)][::-1]
    _tell(queue, "requeued" if options.requeue else "discarded", done, as_json=options.json)
    return max(_missing(done, wanted), NO if len(done) < len(found) else DONE)


def _is_meant(each: InProgress, wanted: Sequence[bytes], older: float | None) -> bool:
    """Whether an item is among those wanted and old enough. An item of unknown age is not old enough."""
    return (not wanted or each.item.data in wanted) and (
        older is None or (each.age is not None and each.age >= older)
    )


def _missing(found: Sequence[InProgress], wanted: Sequence[bytes]) -> int:
    """Print which of the wanted items were not found; returns the exit status."""
    there = {each.item.data for each in found}
    gone = [item for item in wanted if item not in there]
    for item in gone:
        print_error(f"this item is not in progress: {printable(item)}")
    return NO if gone else DONE


def _show(found: Sequence[InProgress], *, as_json: bool) -> None:
    if as_json:
        answer_json([_record(each) for each in found])
    elif found:
        rows = [("?" if each.age is None else f"{each.age:.0f}", printable(each.item.data)) for each in found]
        write(formatting.table([_HEAD, *rows]))


def _tell(queue: BackupQueue, what: str, done: Sequence[InProgress], *, as_json: bool) -> None:
    if as_json:
        items = [formatting.value(each.item.data) for each in done]
        answer_json({"queue": formatting.name(queue.name), what: items})
    else:
        answer(f"{what} {len(done)}")


def _record(each: InProgress) -> dict[str, Any]:
    return {**formatting.value(each.item.data), "since": each.since, "age": each.age}
