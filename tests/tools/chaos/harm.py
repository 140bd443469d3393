"""What is done to workers and servers.

To add a kind of harm: a method, and a row in ``KINDS``.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Mapping
from random import Random
from typing import Any, Final

from .front import Front
from .judge import Blow
from .servers import Servers
from .staff import QUEUE, Place, Staff

__all__ = ["KINDS", "Harm"]

KINDS: Final[Mapping[str, int]] = {"killed": 8, "frozen": 4, "disconnected": 6, "cut off": 2}
"""What may be done to a worker, and how often compared with the others.

``killed`` is SIGKILL. ``frozen`` is SIGSTOP, and later SIGCONT or SIGKILL. ``disconnected`` is CLIENT KILL of
one connection. ``cut off`` has all of its connections hang, as a network does that drops packets.
"""

ROLES: Final = ("producer", "consumer")

DIRECTED: Final = 0.3
"""How much of it is done to whoever holds a role."""

KEY: Final = f"__pressure__:{QUEUE}"


class Harm:
    """Does harm now and then, some of it to whoever holds a role.

    Args:
        staff: the workers.
        servers: the servers.
        front: the way to them.
        luck: decides what is done, and to whom.
        pause: seconds from one blow to the next, on average.
        lasts: seconds for which a worker is frozen or cut off, at most.
        swaps: when, in seconds from now, the server is started again, and another takes over, in turn.
    """

    def __init__(
        self, staff: Staff, servers: Servers, front: Front, luck: Random,
        *, pause: float, lasts: float, swaps: list[float],
    ) -> None:  # fmt: skip
        self._staff, self._servers, self._front, self._luck = staff, servers, front, luck
        self._pause, self._lasts = pause, lasts
        now = time.monotonic()
        self._next = now + pause
        self._swaps = [now + each for each in swaps]
        self._dry = 0.0  # when connections that hang are closed
        self.blows: list[Blow] = []

    def look(self) -> None:
        """Does what is due."""
        now = time.monotonic()
        if self._dry and now > self._dry:
            self._dry = 0.0
            self._front.hang_up()
        if self._swaps and now > self._swaps[0]:
            self._swaps.pop(0)
            self._swap()
        elif now > self._next:
            self._next = now + self._luck.uniform(0.5, 1.5) * self._pause
            self._strike()

    def _swap(self) -> None:
        if len(self._swaps) % 2:  # of an even number the last is a failover
            self._note("server restarted", "consumer")
            self._servers.restart()
        else:
            self._note("server failed over", "consumer")
            self._servers.fail_over(self._point)

    def _point(self, address: Any) -> None:
        self._front.address = address

    def _strike(self) -> None:
        working = self._staff.working()
        if len(working) < len(self._staff.places) / 2:
            return
        role = self._luck.choice(ROLES)
        holder = self._holder(role) if self._luck.random() < DIRECTED else None
        place, held = (holder, role) if holder is not None else (self._luck.choice(working), "")
        kind = self._luck.choices(list(KINDS), list(KINDS.values()))[0]
        if kind in ("killed", "frozen"):
            place.signal(signal.SIGSTOP)  # it can change nothing while we look what it holds
            held = next((each for each in (role, *ROLES) if self._holder(each) is place), "")
            self._note(kind, held)
            self._stop(place, kind)
        elif kind == "disconnected":
            self._disconnect(place, held)
        else:
            self._note(kind, held)
            self._front.block([int(each["addr"].rpartition(":")[2]) for each in self._connections(place)])
            self._dry = self._dry or time.monotonic() + self._luck.uniform(0.3, 1) * self._lasts

    def _stop(self, place: Place, kind: str) -> None:
        if kind == "killed" or self._luck.random() < 0.3:
            place.signal(signal.SIGKILL)
        else:
            place.frozen = time.monotonic() + self._luck.uniform(0.1, 1) * self._lasts

    def _disconnect(self, place: Place, role: str) -> None:
        """Cuts the connection on which the worker holds its role, or any."""
        connections = self._connections(place)
        held = [each for each in connections if role and self._id(role).startswith(f"{each['name']}/")]
        for each in (held or connections)[:1]:
            if self._servers.master.ask("CLIENT", "KILL", "ID", each["id"]):
                self._note("disconnected", role if held else "")

    def _connections(self, place: Place) -> list[dict[str, str]]:
        told: Any = self._servers.master.ask("CLIENT LIST") or []
        return [each for each in told if _pid(each["name"]) == place.pid]

    def _id(self, role: str) -> str:
        if self._servers.master.ask("LLEN", f"{KEY}:{role}_free") == 0:
            return (self._servers.master.ask("GET", f"{KEY}:{role}") or b"").decode()
        return ""

    def _holder(self, role: str) -> Place | None:
        pid = _pid(self._id(role).partition("/released")[0])
        return next((place for place in self._staff.working() if place.pid == pid), None)

    def _note(self, kind: str, role: str) -> None:
        self.blows.append(Blow(time.monotonic(), kind, role))


def _pid(name: str) -> int:
    """The number of the process of a connection or a hold: ``<host>:<pid>:<nonce>/...``."""
    match = re.match(r"[^:]*:(\d+)[:/]", name)
    return int(match[1]) if match else 0
