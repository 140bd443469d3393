"""``pressure top`` as it is on a terminal: the program itself runs there, beside workers that put and get.

The workers are processes that call themselves by the names of four machines. One of them is killed while it
works, so that there is something to see.
"""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fcntl import ioctl
from struct import pack
from termios import TIOCSWINSZ
from typing import Final

import miniredis
from pressure import Queue

__all__ = ["make"]

COLUMNS, LINES = 104, 8

LIMIT: Final = 30.0
"""Seconds until all that is wanted is to be seen."""

QUEUES: Final = {"emails": 100, "images": 20, "orders": 1000, "reports": 0}
"""The queues and their bounds."""

WORKERS: Final = (
    ("web1", "orders", "while True: queue.put(b'order'); time.sleep(0.01)"),
    ("work1", "orders", "while True:\n  with queue.receive(): time.sleep(0.02)"),
    ("web2", "emails", "while True: queue.put(b'email')"),
    ("work1", "images", "queue.get()"),
    ("work2", "reports", "queue.put(b'report')\nwith queue.receive(): print(flush=True); time.sleep(1000)"),
)
"""Where each worker runs, on which queue, and what it does; the last one is killed once it prints."""

WORKER: Final = """
import socket, sys, time
socket.gethostname = lambda: sys.argv[1]
from pressure import Queue
queue = Queue(sys.argv[2], url=sys.argv[3])
"""

WANTED: Final = (
    r"gone [1-9]",
    r"100/100.*waiting [1-9]",
    r"images.*waiting [1-9]",
    r"orders.* [1-9]\d*\.\d .*working",
)
"""What is to be seen at once."""

FRAME: Final = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" \
aria-label="pressure top">
<style>.{unique_id}-matrix{{font:{char_height}px ui-monospace,Menlo,Consolas,monospace}}
.screen{{fill:#0d1117}}{styles}
@media (prefers-color-scheme:light){{.screen{{fill:#fff;stroke:#c2c8cf}}LIGHT}}</style>
<rect class="screen" x=".5" y=".5" width="{width}" height="{height}" rx="8"/>
<g transform="translate({terminal_x},24)" class="{unique_id}-matrix">{matrix}</g>
</svg>
"""
"""What ``rich`` fills in: without a window around it, and without fonts to be fetched."""


def make() -> bytes:
    """The picture.

    Raises:
        TimeoutError: the terminal never showed all that is wanted.
    """
    with miniredis.start() as server, ExitStack() as stack:
        for name, bound in QUEUES.items():
            stack.enter_context(Queue(name, url=server.url)).create(bound)
        *_, victim = [stack.enter_context(worker(*each, server.url)) for each in WORKERS]
        assert victim.stdout is not None
        victim.stdout.readline()
        victim.kill()
        return as_svg(screen(server.url)).encode()


@contextmanager
def worker(host: str, queue: str, work: str, url: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that works on a queue, as if on a machine of that name."""
    command = [sys.executable, "-c", WORKER + work, host, queue, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def screen(url: str) -> str:
    """What is on the terminal once all that is wanted is there."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, pack("HHHH", LINES, COLUMNS, 0, 0))
    command = [sys.executable, "-m", "pressure", "--url", url, "top", "--interval", "1"]
    size = {"COLUMNS": str(COLUMNS), "LINES": str(LINES)}  # which a test run may have set to its own
    environment = {**os.environ, **size, "TERM": "xterm-256color"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, env=environment) as process:
        try:
            return next(each for each in screens(ours) if all(re.search(one, each) for one in WANTED))
        except StopIteration:
            raise TimeoutError(f"in {LIMIT:g} s the terminal never showed all of {WANTED}") from None
        finally:
            process.kill()
            for end in (ours, theirs):
                os.close(end)


def screens(terminal: int) -> Iterator[str]:
    """What a terminal shows, one look after the other; each begins by going to its top."""
    seen, deadline = b"", time.monotonic() + LIMIT
    while (left := deadline - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            seen += os.read(terminal, 65536)
            *whole, seen = seen.split(b"\x1b[H")
            yield from (each.decode().replace("\r", "") for each in whole)


def as_svg(shown: str) -> str:
    """A terminal's text with its colours, light and dark."""
    from rich.console import Console  # an extra
    from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME
    from rich.text import Text

    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(f"$ pressure top\n{shown.strip()}"))
    light = console.export_svg(
        theme=DEFAULT_TERMINAL_THEME, clear=False, unique_id="top", code_format="{styles}"
    )
    light = light.replace("#808000", "#6b6b00")  # its yellow is hard to read on white
    frame = FRAME.replace("LIGHT", light.replace("{", "{{").replace("}", "}}"))
    made = console.export_svg(theme=SVG_EXPORT_THEME, unique_id="top", code_format=frame)
    return re.sub(r' clip-path="[^"]*"', "", made)  # the frame has nothing to clip by
