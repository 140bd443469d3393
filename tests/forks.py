"""Processes that start in milliseconds: a server that has imported both packages forks them."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.tools.forking import Forked, ForkServer

__all__ = ["forks", "open_in", "popen"]

ROOT = Path(__file__).parents[1]

ALREADY = ("conformance.clients.flavours", "asyncio", "email.parser", "encodings.idna", "trio")
"""What else is imported already: what most processes of the tests use."""


@cache
def forks() -> ForkServer:
    """The server of this process, which ends with it."""
    server = ForkServer(*modules("miniredis"), *modules("pressure"), *ALREADY)
    atexit.register(server.__exit__)
    return server


def modules(package: str) -> Iterator[str]:
    """All modules of a package, but for programs, and for those that need an extra which a process may do without."""
    for file in sorted((ROOT / package).rglob("*.py")):
        *above, name = file.relative_to(ROOT).with_suffix("").parts
        if (
            name not in {"__main__", "pytest_plugin", "spawned"}
            and not name.startswith("rich_")
            and "spark" not in above
        ):
            yield ".".join(above if name == "__init__" else [*above, name])


Popen = subprocess.Popen


def popen(args: Sequence[str | bytes], **options: Any) -> subprocess.Popen[Any]:
    """``subprocess.Popen``, but ``python -c CODE ...`` and ``python -m MODULE ...`` are forks."""
    python, option, *_ = *args, ""
    if python == sys.executable and option in {"-c", "-m"}:
        return Forked(forks(), args, **options)
    return Popen(args, **options)


def open_in(folder: Path) -> list[int]:
    """The descriptors of what this process has open in a folder."""
    found = {each.name: os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()}
    return [int(each) for each, path in found.items() if path.startswith(str(folder))]
