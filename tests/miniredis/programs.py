"""Runs both servers as programs, with the same command lines. Ours are forks, which start quickly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import redis

from conformance.targets import find_real_redis
from tests.tools.forking import Forked

from ..forks import forks
from ..waiting import PATIENCE, until

__all__ = ["PROGRAMS", "at_work_in", "in_background", "is_up", "run", "running"]

PROGRAMS = ["miniredis", "redis-server"]

SOCKET = "s"


def start(program: str, *words: str, **options: Any) -> subprocess.Popen[bytes]:
    """Starts one of ``PROGRAMS``; the options are those of ``Popen``."""
    if program == "miniredis":
        return Forked(forks(), [sys.executable, "-m", "miniredis", *words], **options)
    return subprocess.Popen([str(find_real_redis()), *words], **options)


def run(program: str, folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Runs one of them in a folder until it ends; no server stays behind in the background."""
    with none_left(folder):
        return ended(program, folder, *words)


def ended(program: str, folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Runs one of them in a folder until its first process ends."""
    with start(program, *words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            output, errors = process.communicate(timeout=PATIENCE)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


@contextmanager
def none_left(folder: Path) -> Iterator[None]:
    """Kills the servers that still run in a folder at the end, also those that do not answer or are no children."""
    try:
        yield
    finally:
        for pid in at_work_in(folder):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def at_work_in(folder: Path) -> Iterator[int]:
    """Other processes whose current directory is in a folder; none where the system does not tell."""
    for each in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if each.readlink().is_relative_to(folder.resolve()) and int(each.parent.name) != os.getpid():
                yield int(each.parent.name)


@contextmanager
def running(
    program: str,
    folder: Path,
    *words: str,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
) -> Iterator[tuple[subprocess.Popen[bytes], redis.Redis]]:
    """A server that was started in a folder, and a client of the Unix socket ``s`` that it has to have there."""
    with (
        none_left(folder),
        start(
            program,
            *words,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process,
    ):
        try:
            assert process.stdin is not None
            process.stdin.write(stdin.encode())
            process.stdin.close()
            with client_of(folder) as client:
                yield process, client
        finally:
            process.kill()


def client_of(folder: Path) -> redis.Redis:
    """A client of the server whose Unix socket is ``s`` in a folder."""
    return redis.Redis(unix_socket_path=str(folder / SOCKET), decode_responses=True)


def is_up(client: redis.Redis) -> bool:
    """Whether its server answers."""
    with suppress(redis.ConnectionError):
        return bool(client.ping())
    return False


@contextmanager
def in_background(program: str, folder: Path, *words: str) -> Iterator[tuple[redis.Redis, int]]:
    """A server that goes to the background in a folder: its client and its process id."""
    with none_left(folder):
        done = ended(program, folder, *words, "--daemonize", "yes")
        assert (done.returncode, done.stderr) == (0, b"")
        with client_of(folder) as client:
            until(lambda: is_up(client), "the server in the background answers")
            yield client, int(client.info("server")["process_id"])
