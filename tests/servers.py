"""Real servers of a test's own, which it may kill and start again; the shared ones are fixtures of ``conftest.py``."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from conformance.targets.programs import find_real_redis
from miniredis.testing.real_servers import NoRealRedisError, end, launch, real_at_free_port

__all__ = ["RealServer", "answers", "find_redis_7_0", "flags_of", "found", "is_loading", "start_redis"]


class RealServer:
    """A redis-server that a test may kill and start again.

    Attributes:
        process: the one that runs now.
        port: stays the same.
    """

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.port = port
        self._command: Any = process.args

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def setting(self, name: str) -> Any:
        """The value of a directive."""
        with redis.Redis(port=self.port, decode_responses=True) as client:
            return client.config_get(name)[name]

    def stop(self) -> None:
        """Kills it."""
        end(self.process)

    def start(self, *more: str) -> None:
        """Starts it again, with more flags; it need not answer yet."""
        self.process = launch([*self._command, *more])


@contextmanager
def start_redis(
    folder: Path, *flags: str, program: Callable[[], Path] = find_real_redis
) -> Iterator[RealServer]:
    """A redis-server with its files in a folder; skips the test where there is none, or none with these flags."""
    with ExitStack() as stack:
        try:
            process, port = stack.enter_context(real_at_free_port(program(), folder, *flags))
        except NoRealRedisError as error:
            pytest.skip(str(error))
        server = RealServer(process, port)
        stack.callback(lambda: server.stop())
        yield server


def found(find: Callable[[], Path]) -> Path:
    """The program that a function finds; skips the test where there is none."""
    try:
        return find()
    except NoRealRedisError as error:
        pytest.skip(str(error))


@cache
def find_redis_7_0() -> Path:
    """The program of a Redis 7.0, for comparisons of what older ones do otherwise, such as replication.

    Raises:
        NoRealRedisError: there is no Redis, or only another version.
    """
    program = find_real_redis()
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if "v=7.0." not in told:
        raise NoRealRedisError(f"this needs Redis 7.0, and the only real Redis here is {told.strip()}")
    return program


def flags_of(directives: Mapping[str, object]) -> list[str]:
    """Directives as words of a command line."""
    return [word for name, value in directives.items() for word in (f"--{name}", str(value))]


def answers(port: int, **options: Any) -> bool:
    """Whether a server answers PING."""
    with redis.Redis(port=port, **options) as client:
        try:
            return bool(client.ping())
        except redis.ConnectionError:
            return False


def is_loading(port: int) -> bool:
    """Whether a server answers that it loads its data; asked once: a retry might come when it has loaded them."""
    with redis.Redis(port=port, retry=Retry(NoBackoff(), 0)) as client:
        try:
            client.ping()
        except redis.BusyLoadingError:
            return True
        except redis.ConnectionError:
            pass
    return False
