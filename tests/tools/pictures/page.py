"""The page of a report, as a browser shows it: miniredis and fakeredis, by the clauses on lists.

The picture is taken by Chromium, once in light and once in dark colours.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from miniredis.testing.real_servers import NotInstalledError

__all__ = ["make_dark", "make_light"]

RUN: Final = "--target embedded --target fakeredis --suite list-notes"

OPENED: Final = "failure-2-list.lpush-rpop"
"""The failing clause that is opened: the first one."""

WIDTH, HEIGHT = 720, 1180
"""Of the window, in pixels."""

FLAGS: Final = (
    "--headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
).split()


def make_light() -> bytes:
    """The picture in light colours."""
    return taken(dark=False)


def make_dark() -> bytes:
    """The picture in dark colours."""
    return taken(dark=True)


def taken(*, dark: bool) -> bytes:
    """A PNG of the upper part of the page.

    Raises:
        NotInstalledError: there is no Chromium.
    """
    browser = shutil.which("chromium")
    if browser is None:
        raise NotInstalledError("no chromium on PATH")
    with tempfile.TemporaryDirectory(prefix="conformance-") as name:
        page, picture = Path(name, "index.html"), Path(name, "page.png")
        page.write_text(report(), encoding="utf-8")
        options = (
            f"--user-data-dir={name}/profile", f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        )  # fmt: skip
        command = [browser, *FLAGS, *options, f"{page.as_uri()}#{OPENED}"]
        subprocess.run(command, check=True, timeout=120, capture_output=True)
        return picture.read_bytes()


@cache
def report() -> str:
    """The page; one run is enough for both pictures."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        command = [sys.executable, "-m", "conformance", *RUN.split(), "--report", folder]
        # Its status says that fakeredis fails some clauses.
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, timeout=600)
        return Path(folder, "index.html").read_text(encoding="utf-8")
