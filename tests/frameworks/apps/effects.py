"""What the jobs of all frameworks do: effects on the server that a test can see."""

from __future__ import annotations

import os
import time
from functools import cache

import redis


class OnPurposeError(Exception):
    """What a job raises that is to fail."""


@cache
def server() -> redis.Redis:
    """The server of this worker."""
    return redis.Redis.from_url(os.environ["REDIS_URL"])


def note(key: str, value: float | str) -> None:
    """Appends to the list that a test waits on."""
    server().rpush(key, value)


def note_time(key: str) -> None:
    """Appends when it is, in seconds since 1970."""
    note(key, repr(time.time()))


def third_time(key: str) -> int:
    """Fails when called for the first and the second time with a key.

    Raises:
        OnPurposeError: those times.
    """
    number = int(server().incr(key))
    if number < 3:
        raise OnPurposeError(f"try {number}")
    return number


def wait_for(key: str) -> None:
    """Waits until a test pushes something onto the list; for a minute at most."""
    server().blpop([key], timeout=60)


def write_down(path: str, number: int) -> None:
    """Appends to a file, for tests in which the server dies."""
    with open(path, "a") as file:  # noqa: PTH123
        file.write(f"{number}\n")
