"""What is wrong with the numbers that came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["judged"]


def judged(came: Sequence[int], messages: int, in_flight: int) -> Iterator[str]:
    """What is wrong, a sentence each.

    Args:
        came: the numbers, in the order in which they came.
        messages: how many there are, from 0 on.
        in_flight: how many may have been in flight at kills.
    """
    missing = messages - len(set(came) & set(range(messages)))
    if missing:
        yield f"{missing} of {messages} messages are missing"
    twice = len(came) - len(set(came))
    if twice > in_flight:
        yield f"{twice} messages came again, and no more than {in_flight} were in flight at kills"
    last = -1
    for place, number in enumerate(came):
        if number not in {last, last + 1}:  # what comes again comes right behind itself
            yield f"message {number} came behind {last}, as number {place}"
            return
        last = number
