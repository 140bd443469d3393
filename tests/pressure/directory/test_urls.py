"""``miniredis:`` URLs: what they may say, and who may use the server behind one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis

import miniredis
import pressure
from miniredis.processes.shared import SOCKET
from pressure import Queue
from tests.pressure.runs import RUNS, in_and_out

from .conftest import Other, owner

LONG = "x" * 100
"""Of a path that no socket may have."""


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_queue_needs_nothing_but_a_directory(run: Callable[..., Any], url: str, folder: Path) -> None:
    in_and_out(run, url=url)
    assert owner(folder) == os.getpid()


@pytest.mark.parametrize("kind", ["BackupQueue", "RingQueue", "ReliableQueue"])
def test_all_kinds_of_queues_take_such_a_url(kind: str, url: str) -> None:
    with getattr(pressure, kind)("jobs", url=url) as jobs:
        jobs.push("v")
    with getattr(pressure, kind)("jobs", url=url) as jobs:
        assert len(jobs.inspect() if kind == "ReliableQueue" else jobs.peek()) == 1


def test_a_path_may_be_relative_when_the_queue_is_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    with Queue("jobs", url=f"miniredis:{folder.name}") as jobs:
        monkeypatch.chdir("/")
        jobs.create()
    assert (folder / SOCKET).is_socket()


@pytest.mark.parametrize("url", ["miniredis:~/queues", "miniredis:~/a/../queues", "miniredis:~?db=1"])
def test_a_path_may_begin_at_the_home_directory(
    url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder if "queues" in url else folder / "queues"))
    with Queue("jobs", url=url) as jobs:
        jobs.create()
    assert (folder / "queues" / SOCKET).is_socket()


def test_a_file_in_place_of_the_directory_is_told(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "notes").write_text("mine")
    with pytest.raises(pressure.ConnectionFailedError, match=r"notes: Not a directory$"):
        Queue("jobs", url=f"miniredis:{folder}/notes").create()


def test_the_environment_may_give_the_url(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", url)
    with Queue("jobs") as jobs:
        jobs.create()
    assert len(pressure.queues(url=url)) == 1


def test_a_path_may_have_any_characters_and_any_length(folder: Path) -> None:
    place = folder / LONG / "a b%#é"
    url = f"miniredis://{folder}/{LONG}/a%20b%25#é"
    with Queue("jobs", url=url) as jobs:
        jobs.create()
        assert not jobs.closed()
    assert (place / SOCKET).is_socket()


def test_different_spellings_are_the_same_directory(folder: Path, url: str) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    with Queue("jobs", url=url) as one, Queue("jobs", url=f"miniredis://{link}/../link/.") as two:
        one.create()
        one.put("v")
        assert two.get() == b"v"


WRONG = {
    "miniredis:": "write miniredis:///absolute/path, or miniredis:path",
    "miniredis://here/there": "write miniredis:///absolute/path, or miniredis:path",
    "miniredis:x?appendfsync=often": "appendfsync must be one of always, everysec, no",
    "miniredis:x?colour=blue": "option that is not known",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_url_is_refused_when_the_queue_is_made(wrong: str) -> None:
    with pytest.raises(ValueError, match=WRONG[wrong]):
        Queue("jobs", url=wrong)


def test_pressure_imports_miniredis_only_for_such_a_url(folder: Path) -> None:
    program = f"""
import sys
import pressure, pressure.aio, pressure.trio, pressure.cli
pressure.Queue("jobs", url="redis://127.0.0.1:1")
assert not any(name.partition(".")[0] == "miniredis" for name in sys.modules)
sys.modules["miniredis"] = None
try:
    pressure.Queue("jobs", url="miniredis:{folder}")
except ImportError as error:
    assert "pip install" in str(error)
else:
    raise AssertionError("it was imported")
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# Who may use it


def test_nobody_else_can_connect(url: str, folder: Path) -> None:
    Queue("jobs", url=url).create()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / SOCKET).stat().st_mode & 0o777 == 0o600
    with redis.Redis(unix_socket_path=str(folder / SOCKET)) as client:
        assert client.info("server")["tcp_port"] == 0
        assert client.config_get("bind") == {"bind": ""}


def test_a_directory_that_another_server_uses_is_refused(url: str, folder: Path) -> None:
    with (
        miniredis.start(dir=folder),
        pytest.raises(pressure.ConnectionFailedError, match=f"keeps its data in {folder}"),
    ):
        Queue("jobs", url=url).create()
    Queue("jobs", url=url).create()


def test_a_process_that_has_the_directory_and_does_not_answer_is_named(
    other: Callable[..., Other], url: str
) -> None:
    first = other("jobs.create()")
    first.process.send_signal(signal.SIGSTOP)
    with Queue("jobs", url=f"{url}?socket_connect_timeout=0.2") as jobs:
        named = f"process {first.process.pid} serves this directory"
        with pytest.raises(pressure.ConnectionFailedError, match=named):
            jobs.put("v")
    first.process.send_signal(signal.SIGCONT)
    with Queue("jobs", url=url) as jobs:
        jobs.put("v")
