"""Completion in bash, fish and zsh, asked of each shell that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from conformance.targets import Address
from pressure import Queue
from pressure.cli.completion import outline
from pressure.cli.parser import parser
from pressure.cli.shells import SHELLS
from pressure.cli.table import COMMANDS
from tests.cases import exhaustive, exhaustive_but
from tests.pressure.conftest import ROOT

from .conftest import Run
from .terminal import terminal

Ask: TypeAlias = Callable[[str], set[str]]

#: A line up to the cursor -> what is offered, with three queues there.
OFFERED = {
    "pressure re": {"redrive", "repair"},
    "pressure ": set(COMMANDS),
    "pressure get ": {"jobs", "jobs:done", "other"},
    "pressure get jo": {"jobs", "jobs:done"},
    "pressure get jobs:": {"jobs:done"},
    "pressure put --bound 3 o": {"other"},
    "pressure put other ": set(),
    "pressure get other --bi": {"--binary"},
    "pressure --prefix mine length ": {"elsewhere"},
    "pressure repair --role ": {"producer", "consumer"},
    "pressure completion f": {"fish"},
    "pressure ls j": {"jobs", "jobs:done"},
    "pressure top jobs o": {"other"},
    "pressure pipe jobs -- cat -- ot": {"other"},
}


@pytest.fixture
def server_address(embedded_server: Address) -> Address:
    """One server is enough: shells ask for names only."""
    return embedded_server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the command."""
    command = tmp_path / "pressure"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m pressure "$@"\n')
    command.chmod(0o755)
    return tmp_path


@pytest.fixture
def environment(folder: Path, redis_url: str, make: Callable[..., Queue]) -> dict[str, str]:
    """Three queues, and one elsewhere."""
    for name in ("jobs", "jobs:done", "other"):
        make(name).create()
    make("elsewhere", prefix="mine").create()
    path = f"{folder}:{os.environ['PATH']}"
    return {**os.environ, "REDIS_URL": redis_url, "PATH": path, "HOME": str(folder), "TERM": "dumb"}


def script(run: Run, shell: str, folder: Path) -> Path:
    """The file with the script for a shell."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not on PATH")
    status, out, _ = run("completion", shell)
    assert status == 0
    path = folder / f"completion.{shell}"
    path.write_text(out)
    return path


def words(line: list[str], environment: dict[str, str]) -> list[str]:
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=True, timeout=600)
    return done.stdout.splitlines()


@pytest.mark.parametrize("line", exhaustive_but([*OFFERED][::3], OFFERED))
def test_bash_offers_the_expected_completions(
    run: Run, folder: Path, environment: dict[str, str], line: str
) -> None:
    path = script(run, "bash", folder)
    ask = (
        f'source {path}; compopt() {{ :; }}; COMP_LINE="$1" COMP_POINT=${{#1}}; _pressure; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    before = line.split(" ")[-1].rpartition(":")
    offered = words(["bash", "-uec", ask, "bash", line], environment)
    assert {before[0] + before[1] + word for word in offered if word} == OFFERED[line]


@pytest.mark.parametrize("line", exhaustive_but([*OFFERED][1::3], OFFERED))
def test_fish_offers_the_expected_completions(
    run: Run, folder: Path, environment: dict[str, str], line: str
) -> None:
    path = script(run, "fish", folder)
    ask = f"source {path}; complete --do-complete '{line}'"
    offered = {word.split("\t")[0] for word in words(["fish", "--no-config", "-c", ask], environment)}
    if " -- " in line:  # files, too
        offered = {word for word in offered if word in OFFERED[line]}
    assert offered == OFFERED[line]


@pytest.mark.parametrize(
    ("typed", "becomes"),
    [
        exhaustive(b"rep", b"repair"),
        (b"get ot", b"get other"),
        exhaustive(b"put --bound 3 ot", b"put --bound 3 other"),
        (b"--prefix mine length e", b"--prefix mine length elsewhere"),
        exhaustive(b"get other --bi", b"get other --binary"),
        (b"repair --role p", b"repair --role producer"),
    ],
)
def test_zsh_completes_the_line(
    run: Run, folder: Path, environment: dict[str, str], typed: bytes, becomes: bytes
) -> None:
    path = script(run, "zsh", folder)
    with terminal() as screen:
        shell = subprocess.Popen(
            ["zsh", "-f", "-i"], env=environment, stdin=screen.fd, stdout=screen.fd, stderr=screen.fd,
            start_new_session=True, cwd=folder,
        )  # fmt: skip
        try:
            screen.press(b"PS1='> ' PS2= ; unsetopt beep; autoload -Uz compinit && compinit -u -D\r")
            screen.press(f"source {path}; print rea''dy\r".encode())
            screen.wait_for(b"ready")
            screen.press(b"pressure " + typed + b"\t")
            screen.wait_for(b"pressure " + becomes)
        finally:
            shell.kill()
            shell.wait()


@pytest.mark.parametrize("shell", SHELLS)
def test_each_completion_script_has_each_command_and_option(shell: str, run: Run) -> None:
    _, text, _ = run("completion", shell)
    for command in outline(parser()).commands:
        assert command.name in text
        for option in command.options:
            for flag in option.flags:
                assert (flag if shell != "fish" else flag.lstrip("-")) in text


def test_completion_offers_no_queues_when_the_server_is_unreachable(
    run: Run, folder: Path, environment: dict[str, str]
) -> None:
    path = script(run, "bash", folder)
    ask = f'source {path}; COMP_LINE="pressure get " COMP_POINT=13; _pressure; echo "${{#COMPREPLY[@]}}"'
    nowhere = {**environment, "REDIS_URL": "redis://127.0.0.1:1"}
    done = subprocess.run(["bash", "-c", ask], env=nowhere, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"0\n", b"")
