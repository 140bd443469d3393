"""The real server with which replication is compared: a Redis 7.0, because older ones send other bytes."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from conformance.targets.processes import NoRealRedisError
from conformance.targets.programs import find_real_redis

__all__ = ["find_redis_7_0"]


@cache
def find_redis_7_0() -> Path:
    """The program of a Redis 7.0.

    Raises:
        NoRealRedisError: there is no Redis, or only another version.
    """
    program = find_real_redis()
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if "v=7.0." not in told:
        raise NoRealRedisError(
            f"replication is compared with Redis 7.0, and the only real Redis here is {told.strip()}"
        )
    return program
