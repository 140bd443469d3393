"""Redis's source code on this machine: where its test suite is, which files it has, and tclsh to run it."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["HELPER", "Sources", "UnusableSourcesError", "find_tclsh", "sources_in"]

HELPER: Final = "tests/test_helper.tcl"
"""The program that runs the suite, from the folder of the sources."""

LIST_LIMIT: Final = 60.0
"""Seconds in which the suite must have listed its files."""

TCLSH: Final = ("tclsh8.6", "tclsh", "tclsh8.7", "tclsh8.5")
"""Names of Tcl's shell: the suite asks for 8.5 or newer, and is written for Tcl 8."""

VERSION: Final = re.compile(r'^#define REDIS_VERSION "([^"]*)"', re.MULTILINE).search


class UnusableSourcesError(Exception):
    """The suite cannot be run; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Redis's source code.

    Attributes:
        folder: where it is.
        tclsh: the program that runs the suite.
        version: of Redis, such as ``7.0.15``.
        files: the files of the suite's unit tests, as the suite names them: ``unit/type/list``.
    """

    folder: Path
    tclsh: str
    version: str
    files: tuple[str, ...]


def sources_in(folder: Path) -> Sources:
    """What is in a folder of Redis's source code.

    Raises:
        UnusableSourcesError: it is none, tclsh is missing, or the suite does not list its files.
    """
    if not (folder / HELPER).is_file():
        raise UnusableSourcesError(
            f"{folder} is no source code of Redis: there is no {HELPER} in it; "
            "give the folder that Redis's release was unpacked into"
        )
    tclsh = find_tclsh()
    try:
        done = subprocess.run(
            [tclsh, HELPER, "--list-tests"],
            cwd=folder, capture_output=True, text=True, timeout=LIST_LIMIT, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise UnusableSourcesError(f"{folder / HELPER} --list-tests did not end") from None
    files = tuple(word for word in done.stdout.split() if word.startswith("unit/"))
    if not files:
        told = done.stderr.strip() or "nothing"
        raise UnusableSourcesError(f"{folder / HELPER} --list-tests lists no unit/ files; it said: {told}")
    return Sources(folder, tclsh, version_in(folder), files)


def find_tclsh() -> str:
    """Tcl's shell on PATH.

    Raises:
        UnusableSourcesError: there is none.
    """
    for name in TCLSH:
        if path := shutil.which(name):
            return path
    raise UnusableSourcesError(
        "no tclsh on PATH, which runs Redis's suite: install Tcl 8.5 or 8.6 (apt-get install tcl)"
    )


def version_in(folder: Path) -> str:
    try:
        found = VERSION((folder / "src/version.h").read_text())
    except OSError:
        found = None
    return found[1] if found else "of unknown version"
