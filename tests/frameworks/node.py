"""Programs on Node: where their packages come from, and how a test runs one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from .programs import PATIENCE

APPS: Final = Path(__file__).parent / "apps"
PACKAGES: Final = ["ioredis@^6", "bullmq@^6"]


def installed(folder: Path) -> dict[str, str]:
    """The environment in which Node finds the packages: in ``FRAMEWORKS_NODE_MODULES``, else npm fetches them.

    Skips the test where they cannot be had.
    """
    if named := os.environ.get("FRAMEWORKS_NODE_MODULES"):
        return {"NODE_PATH": named}
    if not (shutil.which("node") and (npm := shutil.which("npm"))):
        pytest.skip("node and npm are not both on PATH")
    flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=0"]
    try:
        subprocess.run(
            [npm, "install", *flags, *PACKAGES],
            cwd=folder,
            check=True,
            capture_output=True,
            timeout=2 * PATIENCE,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"npm does not install {' and '.join(PACKAGES)}: {(error.stderr or b'')[-500:]!r}")
    return {"NODE_PATH": str(folder / "node_modules")}


def checks_of(program: str) -> list[str]:
    """The names of the checks in a program: its methods."""
    return re.findall(r"^  async (\w+)\(", (APPS / program).read_text(), re.MULTILINE)


def check(program: str, *words: str, environment: dict[str, str]) -> None:
    """Makes one check; it fails with what the program printed."""
    done = subprocess.run(
        ["node", str(APPS / program), *words], env={**os.environ, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=2 * PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
