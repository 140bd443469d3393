"""Processes that start in milliseconds: a server that has imported what they need forks them.

To start Python and to import redis-py takes half a second of a processor, which is most of what a short
process does.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self

__all__ = ["ForkServer", "Forked"]

SERVER: Final = Path(__file__).with_name("fork_server.py")


class ForkServer:
    """Has imported modules, and forks; its ``with`` block ends it and all that it has forked.

    Args:
        *modules: what it imports first; those that are not installed are left out.
    """

    def __init__(self, *modules: str) -> None:
        self.socket, theirs = socket.socketpair()
        with theirs:
            words = [sys.executable, "-P", str(SERVER), *modules]
            self._process = subprocess.Popen(words, stdin=theirs.fileno(), start_new_session=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class Forked(subprocess.Popen[Any]):
    """A process that a server forks, and that whoever started it uses like any other of ``subprocess``.

    It differs in its parent, which is not this process, and in its process group, which is the server's.

    Args:
        server: forks it.
        args: ``[sys.executable, "-m", module, ...]`` or ``[sys.executable, "-c", code, ...]``.
        **options: ``stdin``, ``stdout``, ``stderr``, ``cwd``, ``env`` and ``text``, as of ``Popen``.
    """

    def __init__(self, server: ForkServer, args: Sequence[str | bytes], **options: Any) -> None:
        assert args[0] == sys.executable
        self._server = server
        super().__init__(args, **options)

    # What follows takes the place of what subprocess does by fork, exec and waitpid.

    def _execute_child(self, args: Sequence[str | bytes], *given: Any) -> None:
        cwd, env = given[4:6]
        pipes = given[9:15]
        streams = [number if end == -1 else end for number, end in enumerate((pipes[0], pipes[3], pipes[5]))]
        order, to_order = os.pipe()
        self._answer, answer = os.pipe()
        socket.send_fds(self._server.socket, [b"!"], [*streams, order, answer])
        os.close(order)
        os.close(answer)
        with open(to_order, "w") as file:  # noqa: PTH123  (a descriptor)
            json.dump([[*map(os.fsdecode, args[1:])], str(cwd or Path.cwd()), dict(env or os.environ)], file)
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
        self.pid = self._number()
        self._child_created = True

    def _number(self) -> int:
        """The next line of the answer."""
        line = b""
        while not line.endswith(b"\n"):
            if not (byte := os.read(self._answer, 1)):
                raise ChildProcessError("the fork server has ended")
            line += byte
        return int(line)

    def _wait(self, timeout: float | None) -> int:
        if self.returncode is None:
            if not select.select([self._answer], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = self._number()
            os.close(self._answer)
        return self.returncode

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        try:
            return self._wait(0)
        except subprocess.TimeoutExpired:
            return None
