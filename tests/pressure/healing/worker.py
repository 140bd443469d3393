"""A client that is a process of its own, for tests that do something to it.

``python -m tests.pressure.healing.worker FLAVOUR URL WORK [PID]``: it does one thing, says ``begun`` when it is
about to and ``done`` when it has; then it waits until its standard input ends, and leaves the block of the
message if it is in one. ``PID`` is the process number that it believes to have, as in a container.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

from conformance.clients.flavours import MAKERS
from pressure.protocol import liveness


def say(line: str) -> None:
    """Prints a line."""
    print(line, flush=True)  # noqa: T201


def receive(queue: Any) -> Any:
    """Receives a message; the block, which is left at the end."""
    block = queue.receive()
    block.__enter__()
    return block


def receive_and_disconnect(queue: Any) -> Any:
    """The same, and another thread closes the connections that are idle."""
    block = receive(queue)
    thread = threading.Thread(target=queue.disconnect)
    thread.start()
    thread.join()
    return block


WORK: Final[dict[str, Callable[[Any], Any]]] = {
    "receive": receive,
    "receive, and disconnect": receive_and_disconnect,
    "get": lambda queue: queue.get(),
    "put": lambda queue: queue.put(b"of the dead"),
    "get_nowait": lambda queue: queue.get_nowait(),
    "get, patiently": lambda queue: say(queue.get(timeout=20).decode()),
}


def main(flavour: str, url: str, work: str, pid: str = "") -> None:
    """Does it."""
    if pid:
        os.getpid = lambda: int(pid)
    queue = MAKERS[flavour]("Queue", "jobs", url=url)
    liveness.PROBE_INTERVAL = 0.05  # type: ignore[misc]
    queue.exists()
    say("begun")
    kept = WORK[work](queue)
    say("done")
    sys.stdin.read()
    if "receive" in work:
        kept.__exit__(None, None, None)
        say("left")


if __name__ == "__main__":
    main(*sys.argv[1:])
