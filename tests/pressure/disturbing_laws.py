"""What has to hold of a run of ``disturbing``, whatever disturbed it.

Each law is a generator that says what is wrong, a sentence each. To add one: a generator, and its name in ``LAWS``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from pressure.errors import PressureError, PressureWarning

from .disturbing import Keys, Run
from .disturbing_changes import CHANGES
from .disturbing_tables import ACKNOWLEDGES, CONFINED, PUTS, ROLES

__all__ = ["broken_by"]

QUEUE: Final = b"__pressure__:jobs"
ME: Final = b"me:"
RELEASED: Final = b"/released"


def ends(run: Run, disturbance: str) -> Iterator[str]:
    """It ends, with a result, an error of this package, or a warning that was made an error."""
    if run.error is None and not run.end.startswith("->"):
        yield run.end
    elif run.error and not isinstance(run.error, PressureError | PressureWarning):
        yield f"it raised a {type(run.error).__name__}"


def names_the_queue(run: Run, disturbance: str) -> Iterator[str]:
    """An error says which queue it is about."""
    if run.error and "jobs" not in str(run.error):
        yield f"the error does not name the queue: {run.error}"


def keeps_values(run: Run, disturbance: str) -> Iterator[str]:
    """Values are put or taken as the result says; none is lost, doubled or made up. A client that was lied to is excused."""
    if disturbance in CHANGES or run.operation == "delete" or not run.after.get(QUEUE + b":bound"):
        return
    changed = values_of(run.after)
    changed.subtract(values_of(run.before))
    for before, after in run.acted:
        changed.subtract(values_of(after))
        changed.update(values_of(before))
    changed.subtract(said_to_be_put(run))
    changed.update(said_to_be_taken(run))
    if run.operation in ACKNOWLEDGES and not run.error and not run.warned:
        if sum(changed.values()) != -1:
            yield f"acknowledging one message changed the values by {+changed} and {-changed}"
    elif any(changed.values()):
        yield f"beside what the result says, values came, {+changed}, or went, {-changed}"


def values_of(keys: Keys) -> Counter[bytes]:
    """The messages: unread, unacknowledged and rejected."""
    return Counter(
        value for suffix in (b"", b":unacked", b":rejected") for value in keys.get(QUEUE + suffix, ())
    )


def said_to_be_put(run: Run) -> Counter[bytes]:
    values = PUTS.get(run.operation.removesuffix(" strict"), ())
    if isinstance(run.error, PressureError):
        values = values[: run.error.done]
    return Counter(values)


def said_to_be_taken(run: Run) -> Counter[bytes]:
    if not run.operation.startswith("get"):
        return Counter()
    if run.error:
        return Counter(getattr(run.error, "taken", ()))
    return Counter(run.result if isinstance(run.result, list) else [run.result])


def keeps_order(run: Run, disturbance: str) -> Iterator[str]:
    """Messages that were there stay in their order, and new ones come in at the left."""
    before, after = run.before.get(QUEUE, []), run.after.get(QUEUE, [])
    known = (*before, *run.before.get(QUEUE + b":unacked", ()))
    stayed = [value for value in after if value in before]
    if stayed not in (before[len(before) - len(stayed) :], before[: len(stayed)]):
        yield f"the messages were {before}, and are {after}"
    elif any(value not in known for value in after[len(after) - sum(value in known for value in after) :]):
        yield f"a new message is not at the left: {after}"


def keeps_bound(run: Run, disturbance: str) -> Iterator[str]:
    """No put takes a queue over its bound, but for what others added and the tokens that they made up."""
    bound = run.after.get(QUEUE + b":bound", b"0")
    if disturbance in CHANGES or not bound.isdigit() or bound == b"0" or run.operation not in CONFINED:
        return
    added = sum(
        len(after.get(key, ())) > len(before.get(key, ()))
        for before, after in run.acted
        for key in (QUEUE, QUEUE + b":not_full")
    )
    stored = len(run.after.get(QUEUE, ()))
    if stored > max(int(bound), len(run.before.get(QUEUE, ()))) + added:
        yield f"{stored} messages are stored, and the bound is {bound.decode()}"


def gives_roles_back(run: Run, disturbance: str) -> Iterator[str]:
    """A client that is done keeps no role, unless it says so. A client that was lied to is excused."""
    if disturbance in CHANGES or (run.operation == "receive" and not run.error):
        return
    if run.warned or hasattr(run.error, "__notes__"):
        return
    for role in ROLES:
        if is_held(run.after, role) and not is_held(run.before, role):
            yield f"the {role}'s role is still held"


def is_held(keys: Keys, role: str) -> bool:
    """Whether the role is held by the client whose operation runs."""
    holder = keys.get(QUEUE + f":{role}".encode(), b"")
    taken = not keys.get(QUEUE + f":{role}_free".encode())
    return taken and holder.startswith(ME) and not holder.endswith(RELEASED)


def is_fenced(run: Run, disturbance: str) -> Iterator[str]:
    """A client whose role was given to another does not give that role back, and does not write its own id."""
    if disturbance in CHANGES:
        return
    for role in ROLES:
        name, free = QUEUE + f":{role}".encode(), QUEUE + f":{role}_free".encode()
        was_held = any(is_held(before, role) and before[name] != robbed[name] for before, robbed in run.acted)
        if was_held and any(run.after.get(key) != run.acted[-1][1].get(key) for key in (name, free)):
            yield f"the client that had lost the {role}'s role changed it"


LAWS: Final[tuple[Callable[[Run, str], Iterator[str]], ...]] = (
    ends, names_the_queue, keeps_values, keeps_order, keeps_bound, gives_roles_back, is_fenced,
)  # fmt: skip


def broken_by(run: Run, disturbance: str = "") -> list[str]:
    """What is wrong with a run; empty if nothing is."""
    return [problem for law in LAWS for problem in law(run, disturbance)]
