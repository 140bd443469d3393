"""A role that is taken, by whomever its holder key names, and clients that do not wait long for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from unittest import mock

from pressure.protocol import liveness

from ...judging.environment import Environment
from . import HOLD

INTERVAL: Final = 0.02
"""Seconds between two looks of our client at a holder, in place of five."""

WAIT: Final = 0.01
"""Seconds that our client waits at a time, in place of one."""


@contextmanager
def impatient() -> Iterator[None]:
    """Our clients that are made in the block look often, and take their second look at a holder soon."""
    with mock.patch.object(liveness, "PROBE_INTERVAL", INTERVAL), mock.patch("pressure.queue.SLICE", WAIT):
        yield


ROLES: Final = ("producer", "consumer")

HOLDERS: Final = (None, b"other", HOLD, HOLD + b"/released")
"""Who the holder key of a role that is taken names."""


def take(env: Environment, role: str, holder: bytes | None) -> None:
    """The role is held, by whom the holder key names."""
    env.redis.delete(env.queue_key(f":{role}_free"), env.queue_key(f":{role}"))
    if holder is not None:
        env.redis.set(env.queue_key(f":{role}"), holder)


def shown(holder: bytes | None) -> str:
    unknown = holder is None or holder.endswith(b"/released")
    return "a client that has not written its id" if unknown or holder is None else holder.decode()
