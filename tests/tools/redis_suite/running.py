"""Runs one file of Redis's suite on one server, for a limited time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from conformance.targets import Address, real_redis
from miniredis.testing.real_servers import at_free_port, free_port

from .output import Results, read
from .sources import HELPER, Sources

__all__ = ["Run", "in_a_process", "real", "run_file"]

SWITCHES: Final = ("--enable-debug-command", "yes", "--enable-protected-configs", "yes")
"""Directives that the suite needs: it uses DEBUG, and sets directives that are protected."""

SCRIPT: Final = f"fconfigure stdout -buffering line\nsource {HELPER}\n"
"""Runs the suite so that what it printed is there when it is killed."""

LAST: Final = 20
"""Lines of the suite's output that are shown where it ended too soon."""


@dataclass(frozen=True, slots=True)
class Run:
    """How files are run.

    Attributes:
        limit: seconds a file may take.
        denied: tags of tests that are not run.
        skipped: names of tests that are not run.
        only: names of the tests to run; all, if it is empty.
    """

    limit: float
    denied: Sequence[str] = ()
    skipped: Sequence[str] = ()
    only: Sequence[str] = ()


def run_file(sources: Sources, file: str, address: Address, run: Run) -> Results:
    """What became of the tests of a file."""
    with tempfile.TemporaryDirectory(prefix="redis-suite-") as folder:
        script, printed = Path(folder, "run.tcl"), Path(folder, "printed")
        script.write_text(SCRIPT)
        command = [sources.tclsh, str(script), *words(file, address, run)]
        with printed.open("wb") as output:
            ended = wait(command, sources.folder, output, run.limit)
        text = printed.read_text(errors="replace")
    results = read(text)
    if not results.complete:
        last = "\n".join(text.splitlines()[-LAST:])
        results.ending = f"{ended or 'the suite ended too soon'}; its last lines:\n{last}"
    return results


def words(file: str, address: Address, run: Run) -> Iterator[str]:
    """The suite's arguments.

    With no result for almost as long as a file may take, the suite ends itself and says which test it was in.
    """
    yield from ("--host", address.host, "--port", str(address.port), "--single", file)
    yield from ("--durable", "--timeout", f"{run.limit * 0.9:.0f}", "--baseport", str(base_port()))
    yield from ("--tags", " ".join(f"-{tag}" for tag in run.denied))
    for option, names in (("--skiptest", run.skipped), ("--only", run.only)):
        for name in names:
            yield from (option, name)


def base_port() -> int:
    """A port of the suite's own, so that runs do not disturb each other.

    The suite listens on one of the 32 ports below it, whose neighbour 10,000 above must be free, too.
    """
    return 32 + next(port for port in iter(free_port, 0) if port < 55_000)


def wait(command: Sequence[str], folder: Path, output: IO[bytes], limit: float) -> str:
    """Waits for the suite, and ends it with all that it started; returns why it did not end by itself."""
    process = subprocess.Popen(
        command, cwd=folder, env={**os.environ, "TERM": "dumb"}, stdin=subprocess.DEVNULL,
        stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        return f"the file was not done after {limit:g} s"
    finally:
        with_all(process)
    return ""


def with_all(process: subprocess.Popen[bytes]) -> None:
    """Ends the suite's processes: its server, its client, and what a test left running."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def in_a_process() -> Iterator[Address]:
    """A miniredis in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="redis-suite-") as folder:
        words = [sys.executable, "-m", "miniredis", *SWITCHES, "--dir", folder, "--dbfilename", "dump.rdb"]
        with at_free_port("miniredis", lambda port: [*words, "--port", str(port)]) as (_, port):
            yield Address(f"redis://127.0.0.1:{port}/0", "miniredis in a process of its own")


def real() -> AbstractContextManager[Address]:
    """The redis-server that is found on this machine."""
    return real_redis(*SWITCHES)
