"""A newcomer reads at most ten files to follow a ``put`` from the method to the socket, in each flavour."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
import trio

import pressure
from conformance.targets import Address
from pressure import Queue

MOST = 10
ROOT = Path(pressure.__file__).parent
GUIDE = ROOT / "INSIDE.md"


@contextmanager
def walked() -> Iterator[set[str]]:
    """The files of the package in which a function is called meanwhile, on this thread or a new one."""
    files: set[str] = set()

    def see(frame: FrameType, event: str, _argument: object) -> None:
        code: CodeType = frame.f_code
        path = Path(code.co_filename)
        if event == "call" and path.is_relative_to(ROOT):
            files.add(path.relative_to(ROOT).as_posix())

    before = sys.getprofile()
    threading.setprofile(see)
    sys.setprofile(see)
    try:
        yield files
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def with_threads(url: str) -> set[str]:
    with Queue("walk", url=url) as queue:
        queue.create(10)
        queue.put("connects")
        with walked() as files:
            queue.put("one")
        queue.delete()
    return files


async def with_coroutines(url: str, module: Any) -> set[str]:
    async with module.Queue("walk", url=url) as queue:
        await queue.create(10)
        await queue.put("connects")
        with walked() as files:
            await queue.put("one")
        await queue.delete()
    return files


WALKS: dict[str, Callable[[str], set[str]]] = {
    "sync": with_threads,
    "aio": lambda url: asyncio.run(with_coroutines(url, pressure.aio)),
    "trio": lambda url: trio.run(with_coroutines, url, pressure.trio),
}


def told(flavour: str) -> set[str]:
    """The files that the guide names, in its table of the way of a put."""
    table = GUIDE.read_text().split("## From the method to the socket")[1].split("\n## ")[0]
    files = set(re.findall(r"\]\(([a-z_/]+\.py)\)", table))
    others = tuple(f"{other}/" for other in WALKS if other != flavour)
    of_coroutines = {"execution/asynchronous.py"}
    return {file for file in files if not file.startswith(others)} - (
        of_coroutines if flavour == "sync" else set()
    )


@pytest.mark.parametrize("flavour", WALKS)
def test_a_put_passes_ten_files_at_most_and_the_guide_names_them(flavour: str, real_server: Address) -> None:
    files = WALKS[flavour](real_server.url)
    assert len(files) <= MOST, sorted(files)
    assert files == told(flavour)
