"""What errors say about a missing package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from miniredis.engine.scripts import script_errors
from pressure.extras import how_to_install

ROOT = Path(__file__).parents[1]


def test_an_error_names_only_extras_that_there_are() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    code = "".join(
        file.read_text() for package in ("conformance", "pressure") for file in (ROOT / package).rglob("*.py")
    )
    named = set(re.findall(r"how_to_install\(['\"](\w+)", code))
    assert named
    assert named <= set(extras)


def test_the_server_and_the_suite_say_alike_how_to_install_an_extra() -> None:
    assert script_errors.NO_LUA.decode().endswith(how_to_install("lua"))
