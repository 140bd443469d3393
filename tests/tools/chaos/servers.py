"""A master and its replica, both with an append-only file, which are killed, started again and swapped.

What was acknowledged is kept: the file is synced before a write is answered (``appendfsync always``), and
before a failover writes are paused (``CLIENT PAUSE WRITE``) until the replica has everything; then the master
is killed. Without that pause Redis may lose what was acknowledged last, and no client can change that.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import redis

from conformance.targets import Address
from conformance.targets.programs import find_real_redis
from miniredis.testing.real_servers import accepts, end, free_port, launch

__all__ = ["Servers"]

LIMIT: Final = 30.0
"""Seconds in which a server has to start, or to follow."""

PAUSE: Final = 20_000
"""Milliseconds for which writes are paused at most."""


class One:
    """A server on a port of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._files = folder / "appendonlydir"
        self.port = free_port()
        self._words = [
            str(find_real_redis()), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder),
            "--save", "", "--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0",
        ]  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, follows: int | None = None) -> None:
        """Starts it, as a replica of the server at a port or as a master."""
        more = [] if follows is None else ["--replicaof", f"127.0.0.1 {follows}"]
        self.process = launch([*self._words, *more])
        if not accepts(self.port, self.process):
            raise TimeoutError(f"redis-server does not start again at port {self.port}")
        eventually(lambda: self.ask("PING"), "is it loaded")

    def ask(self, *words: str | int) -> Any:
        """A command's reply; nothing if the server cannot answer now."""
        with redis.Redis(port=self.port, socket_timeout=5) as client, suppress(redis.RedisError):
            return client.execute_command(*words)
        return None

    def noted(self) -> dict[Path, int]:
        """The files that have what it knows now, and their sizes. A file gets longer only at its end."""
        return {each: each.stat().st_size for each in self._files.iterdir()}

    def go_back(self, noted: Mapping[Path, int]) -> bool:
        """Has the server, which was killed, forget what came after this; False if it has other files now."""
        if {*self._files.iterdir()} != noted.keys():
            return False
        for each, size in noted.items():
            os.truncate(each, size)
        return True

    def kill(self) -> None:
        """Kills it."""
        if self.process is not None:
            end(self.process)


class Servers:
    """The two of them.

    Attributes:
        master: the one that takes writes.
        replica: the other one.
    """

    def __init__(self, folder: Path) -> None:
        self.master, self.replica = One(folder / "one"), One(folder / "two")
        self.master.start()
        self._follow()

    def _follow(self) -> None:
        self.replica.start(self.master.port)
        eventually(
            lambda: (self.replica.ask("INFO", "replication") or {}).get("master_link_status") == "up",
            "does the replica follow",
        )

    @property
    def address(self) -> Address:
        """Where the master is."""
        return Address(f"redis://127.0.0.1:{self.master.port}/0", "a server of this run")

    def restart(self, noted: Mapping[Path, int] | None = None) -> bool:
        """Kills the master, and starts it again with what its file has.

        Args:
            noted: what it is to have (``One.noted``); None for all that it knows.

        Returns:
            Whether it has gone back.
        """
        self.master.kill()
        back = noted is not None and self.master.go_back(noted)
        self.master.start()
        eventually(
            lambda: (self.replica.ask("INFO", "replication") or {}).get("master_link_status") == "up",
            "does the replica follow again",
        )
        return back

    def fail_over(self, moved: Callable[[Address], None]) -> None:
        """Kills the master, and has the replica take its place; the old one follows it.

        Args:
            moved: is told where the master is now.
        """
        self.master.ask("CLIENT", "PAUSE", PAUSE, "WRITE")
        begun = time.monotonic()
        eventually(lambda: self._offset(self.master) == self._offset(self.replica), "has it everything")
        self.master.kill()
        if time.monotonic() - begun > PAUSE / 1000:
            raise TimeoutError("the replica did not catch up before writes went on")
        self.master, self.replica = self.replica, self.master
        self.master.ask("REPLICAOF", "NO", "ONE")
        moved(self.address)
        self._follow()

    @staticmethod
    def _offset(server: One) -> object:
        told = server.ask("INFO", "replication") or {}
        return told.get("master_repl_offset", id(server))

    def stop(self) -> None:
        """Ends both."""
        self.master.kill()
        self.replica.kill()


def eventually(condition: Callable[[], Any], what: str) -> None:
    """Waits until something is the case."""
    deadline = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not in {LIMIT:.0f} s: {what}")
        time.sleep(0.01)
