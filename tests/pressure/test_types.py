"""What type checkers and editors know of a queue: mypy and, where it is installed, pyright."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.targets import Address

from .programs import aio, on_trio, sync

PROGRAMS = (sync, aio, on_trio)

#: Lines that a checker accepts, and after "# wrong" those in which it finds an error.
LINES = """
from typing import Any, assert_type
import pressure

class Hex:
    def encode(self, item: int) -> bytes:
        return b"%x" % item
    def decode(self, data: bytes) -> int:
        return int(data, 16)

plain = pressure.Queue("jobs")
assert_type(plain, pressure.Queue[bytes])
assert_type(plain.get(), bytes)
assert_type(plain.get_many(3, timeout=1.0), list[bytes])
assert_type(plain.join(), bool)
plain.put("text")
plain.put(bytearray(b"bytes"), False)
plain.put_many(["text", b"bytes"])
plain.put(5)  # wrong
plain.put("text", tiemout=3)  # wrong
plain.put_nowait("text", 3)  # wrong
plain.get_many("3")  # wrong
plain.nonsense()  # wrong
plain.holder(5)  # wrong
pressure.Quue("jobs")  # wrong
pressure.Queue("jobs", 1)  # wrong
pressure.Queue("jobs", codec="yaml")  # wrong
pressure.Queue("jobs", ulr="redis://h")  # wrong

numbers = pressure.Queue("numbers", codec=Hex(), lease=30, heal=False)
assert_type(numbers, pressure.Queue[int])
numbers.put(5)
numbers.put("5")  # wrong
for number in numbers:
    assert_type(number, int)
for message in numbers.messages():
    assert_type(message, pressure.Message[int])
with numbers.receive() as message:
    assert_type(message.value, int)

lists = pressure.Queue[list[int]]("lists", codec="json")
assert_type(lists.peek(), list[int])
lists.put([1])
lists.put(["1"])  # wrong
assert_type(pressure.Queue("any", codec="json"), pressure.Queue[Any])

def bare(queue: pressure.Queue) -> None:
    assert_type(queue.get(), Any)

bare(lists)
pressure.aio.Queue(1, 2, 3).nonsense()  # wrong
pressure.trio.Queue("jobs").interrupt  # wrong

backup = pressure.BackupQueue("numbers", codec=Hex())
assert_type(backup, pressure.BackupQueue[int])
assert_type(backup.claim(timeout=1), pressure.Item[int] | None)
backup.push(1, 2)
backup.push("1")  # wrong
backup.claim(1, 2, 3)  # wrong
with pressure.RingQueue[list[int]]("lists", codec="json").take(lock_ttl=5) as item:
    assert_type(item.value, list[int])
for one in pressure.ReliableQueue[list[int]]("lists", codec="json").pop(3):
    assert_type(one.value, list[int])

shared = pressure.ReliableQueue[list[int]]("lists", codec="json")
for source, another in shared.pop_any(shared, count=3):
    assert_type(source, pressure.ReliableQueue[list[int]])
    assert_type(another.value, list[int])
shared.pop_any(5)  # wrong

async def with_coroutines(jobs: pressure.aio.Queue[bytes], items: pressure.trio.Queue[str]) -> None:
    assert_type(await jobs.get(), bytes)
    assert_type(await items.get_nowait(), str)
    await items.put("text", timeout=1)
    assert_type(await pressure.aio.ReliableQueue[str]("jobs", codec="json").push("text"), list[bytes])
    fast = pressure.aio.ReliableQueue[str]("jobs", codec="json")
    for at, found in await fast.pop_any(fast):
        assert_type(at, pressure.aio.ReliableQueue[str])
        assert_type(found.value, str)
    await pressure.trio.BackupQueue[str]("jobs", codec="json").push(5)  # wrong
    await items.put(5)  # wrong
    assert_type(await pressure.aio.Queue("jobs").peek(), bytes)
    assert_type(await pressure.trio.Queue("jobs").stats(), pressure.Stats)
    async for item in items:
        assert_type(item, str)
    async for each in jobs.messages():
        assert_type(each.data, bytes)
    async with items.receive() as one:
        assert_type(one.value, str)
    with items.receive():  # wrong
        pass
    jobs.get() + b""  # wrong
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs and the lines, apart from our settings."""
    made = tmp_path_factory.mktemp("types")
    (made / "lines.py").write_text(LINES)
    for program in PROGRAMS:
        assert program.__file__ is not None
        shutil.copy(program.__file__, made)
    return made


def expected() -> dict[str, set[int]]:
    wrong = {number for number, line in enumerate(LINES.split("\n"), 1) if "# wrong" in line}
    return {"lines.py": wrong}


def test_mypy_accepts_programs_and_finds_the_wrong_lines(
    folder: Path, request: pytest.FixtureRequest
) -> None:
    """What mypy knows of other packages is kept from run to run, as pytest keeps what failed last."""
    cache = getattr(request.config, "cache", None)  # there is none with -p no:cacheprovider
    kept = folder / "cache" if cache is None else cache.mkdir("mypy")
    options = ["--strict", "--config-file=", "--output=json", f"--cache-dir={kept}"]
    command = [sys.executable, "-m", "mypy", *options, "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.stderr == ""
    found: dict[str, set[int]] = {}
    for each in map(json.loads, done.stdout.splitlines()):
        if each["severity"] == "error":
            found.setdefault(each["file"], set()).add(each["line"])
    assert found == expected(), done.stdout


@pytest.mark.exhaustive  # it finds the same in the same lines, and each time takes seconds; mypy does the first time alone
def test_pyright_accepts_programs_and_finds_the_wrong_lines(folder: Path) -> None:
    beside = str(Path(sys.executable).parent)
    checker = shutil.which("basedpyright", path=beside) or shutil.which("pyright")
    if checker is None:
        pytest.skip("pyright is not installed: pip install pressure-queues[types]")
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    command = [checker, "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    found: dict[str, set[int]] = {}
    for each in json.loads(done.stdout)["generalDiagnostics"]:
        if each["severity"] == "error":
            found.setdefault(Path(each["file"]).name, set()).add(each["range"]["start"]["line"] + 1)
    assert found == expected(), done.stdout


@pytest.mark.parametrize("server", ["embedded_server", "real_server"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: str(program.__name__))
def test_the_programs_run(program: object, server: str, request: pytest.FixtureRequest) -> None:
    address: Address = request.getfixturevalue(server)
    assert program.main(address.url) == 12  # type: ignore[attr-defined]
