"""Imports modules once, and forks a child for each command line that it is given.

A program of its own, that imports nothing of ours before it forks: ``fork_server.py MODULE ...``. Its
standard input is a Unix socket; ``forking`` is its client. For each child come five descriptors: its three
standard streams, a pipe with the order (JSON: what follows ``python`` on the command line, folder,
environment), and one for the answer: a line with the child's process number, and one with its exit status.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import runpy
import socket
import sys
from contextlib import suppress
from typing import Any

STATUS: list[int] = []
"""The exit status of a child, once it has run; none if Python has to find out, as for an interrupt."""


def main() -> None:
    """Forks until the other end of the socket is closed."""
    atexit.register(end_at_once)  # the first: it is called after all others
    for name in sys.argv[1:]:
        with suppress(ImportError):  # an extra
            importlib.import_module(name)
    gc.freeze()
    orders = socket.socket(fileno=0)
    while True:
        _, given, *_ = socket.recv_fds(orders, 1, 5)
        if not given:
            return
        if not os.fork():
            orders.detach()
            run_or_wait(*given)
            return
        for each in given:
            os.close(each)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # of those who wait, who has ended
                pass


def run_or_wait(stdin: int, stdout: int, stderr: int, order: int, answer: int) -> None:
    """Returns in the child, when it has run; its parent waits for it and ends."""
    with open(order) as file:
        words, folder, environment = json.load(file)
    child = os.fork()
    if not child:
        os.close(answer)
        take_streams(stdin, stdout, stderr)
        run_to_its_end(words, folder, environment)
        return
    os.closerange(0, answer)
    os.write(answer, b"%d\n" % child)
    os.write(answer, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)


def take_streams(*streams: int) -> None:
    """Makes them the standard streams of this process, as Python does when it starts."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), **like(sys.stdin))  # noqa: SIM115
    for number, name in ((1, "stdout"), (2, "stderr")):
        at_once = number == 2 or os.isatty(number)
        raw = open(number, "wb", closefd=False)  # noqa: SIM115
        setattr(sys, name, io.TextIOWrapper(raw, line_buffering=at_once, **like(getattr(sys, name))))


def like(stream: Any) -> dict[str, Any]:
    """What the environment says of the standard streams."""
    return {"encoding": stream.encoding, "errors": stream.errors}


def run_to_its_end(words: list[str], folder: str, environment: dict[str, str]) -> None:
    """Runs a command line, and notes the status with which its process is to end."""
    try:
        run(words, folder, environment)
        STATUS.append(0)
    except SystemExit as end:
        STATUS.append(end.code if isinstance(end.code, int) else int(end.code is not None))
        raise
    except Exception:
        STATUS.append(1)
        raise


def end_at_once() -> None:
    """Ends a child before Python takes every module apart, which is most of what a short child would cost.

    What Python does before that is done by now: errors are shown, threads joined, exit handlers called.
    """
    with suppress(OSError, ValueError):  # Python tells of a stream that cannot be written, or is closed
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        if STATUS:
            os._exit(STATUS[0])


def run(words: list[str], folder: str, environment: dict[str, str]) -> None:
    """Runs ``-m MODULE WORD ...`` or ``-c CODE WORD ...``."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    sys.path[:0] = [folder, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    option, what, *sys.argv[1:] = words
    if option == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.argv[0] = option
        exec(what, {"__name__": "__main__"})  # noqa: S102  (as python -c does)


if __name__ == "__main__":
    main()
