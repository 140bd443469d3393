"""Histories of one queue with one operation changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from conformance.histories.model import Facts, Operation

from .queues import simulated


class Done:
    """What was done to a queue, and what is left in it; to be changed."""

    def __init__(self, random: Random, operations: list[Operation], final: list[bytes]) -> None:
        self.random, self.operations, self.final = random, operations, final

    def a_get(self) -> int | None:
        """The place of one."""
        found = [place for place, each in enumerate(self.operations) if each.name == "get" and each.result]
        return self.random.choice(found) if found else None

    def later(self, operation: Operation, since: Operation) -> Operation:
        """The operation, done by somebody else behind one that began no sooner than another."""
        behind = self.random.choice([each for each in self.operations if each.invoked >= since.invoked])
        return replace(operation, client="x", invoked=behind.end + 1, returned=behind.end + 3)


def nothing(done: Done) -> None:
    pass


def lose(done: Done) -> None:
    if (place := done.a_get()) is not None:
        del done.operations[place]


def twice(done: Done) -> None:
    if (place := done.a_get()) is not None:
        get = done.operations[place]
        done.operations.append(done.later(get, get))


def swap(done: Done) -> None:
    one, other = done.a_get(), done.a_get()
    if one is not None and other is not None:
        first, second = done.operations[one], done.operations[other]
        done.operations[one] = replace(first, result=second.result)
        done.operations[other] = replace(second, result=first.result)


def delay(done: Done) -> None:
    if (place := done.a_get()) is not None:
        done.operations[place] = done.later(done.operations[place], done.operations[place])


def invent(done: Done) -> None:
    if (place := done.a_get()) is not None:
        done.operations[place] = replace(done.operations[place], result=(b"nobody's",))


def drop(done: Done) -> None:
    del done.operations[done.random.randrange(len(done.operations))]


def put_later(done: Done) -> None:
    if puts := [place for place, each in enumerate(done.operations) if each.name == "put"]:
        place = done.random.choice(puts)
        done.operations[place] = done.later(done.operations[place], done.operations[place])


def look_again(done: Done) -> None:
    if (place := done.a_get()) is not None:
        get = done.operations[place]
        came = done.later(replace(get, name="receive"), get)
        back = replace(came, name="put_back", argument=get.result or (), result=None)
        done.operations += [came, replace(back, invoked=came.end + 1, returned=came.end + 2)]


def forget(done: Done) -> None:
    if done.final:
        del done.final[done.random.randrange(len(done.final))]


def leave(done: Done) -> None:
    if (place := done.a_get()) is not None:
        done.final[:0] = done.operations[place].result or ()


def shuffle(done: Done) -> None:
    done.random.shuffle(done.final)


def close(done: Done) -> None:
    first = done.operations[0]
    closed = replace(first, name="close", argument=(), result=None, outcome="ok", error="")
    done.operations.append(done.later(closed, first))


CHANGES: dict[str, Callable[[Done], None]] = {
    each.__name__: each
    for each in (
        nothing,
        lose,
        twice,
        swap,
        delay,
        invent,
        drop,
        put_later,
        look_again,
        forget,
        leave,
        shuffle,
        close,
    )
}


def changed(seed: int, steps: int) -> tuple[str, list[Operation], Facts]:
    """A queue's history with one thing changed; its name says what."""
    random = Random(seed)  # noqa: S311  (the same each time)
    change = list(CHANGES)[seed % len(CHANGES)]
    queue = f"{change}-{seed}"
    legal = simulated(random, queue, steps)
    done = Done(random, legal.operations, list(legal.contents))
    CHANGES[change](done)
    bounds = {queue: max(legal.most - (random.random() < 0.1), 1)} if random.random() < 0.3 else {}
    final = {queue: tuple(done.final)} if random.random() < 0.7 else {}
    return queue, done.operations, Facts(bounds=bounds, final=final)
