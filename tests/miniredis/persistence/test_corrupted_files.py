"""Files of each kind that were damaged by lot: a server refuses each, or has all that the file had."""

from __future__ import annotations

import copy
import random
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from miniredis import DamagedFileError, Engine
from miniredis.engine.rdb.loading import BadSnapshotError
from miniredis.engine.rdb.payload import dump

from ...cases import exhaustive
from .memory_disk import MemoryDisk
from .rdb_states import LIBRARY, loaded, new_engine, of_engine
from .test_journal import Server

FILES: Final = [60, exhaustive(200), pytest.param(20_000, marks=pytest.mark.slow)]

ELEMENTS: Final = 100

COMMENT: Final = re.compile(rb"^#.*\n", re.MULTILINE)
"""A line that means nothing in a manifest, nor in a file of commands: by lot one line in thousands becomes it."""

Luck = random.Random

DAMAGES: Final[tuple[Callable[[bytes, int, Luck], bytes], ...]] = (
    lambda data, at, luck: data[:at] + bytes([data[at] ^ 1 << luck.randrange(8)]) + data[at + 1 :],
    lambda data, at, luck: data[:at] + bytes([luck.randrange(256)]) + data[at + 1 :],
    lambda data, at, _: data[:at],
    lambda data, at, luck: data[:at] + bytes(len(zeros := data[at : at + luck.randrange(512)])) + data[at + len(zeros) :],
    lambda data, at, luck: data[:at] + luck.randbytes(luck.randrange(1, 20)) + data[at:],
)  # fmt: skip
"""A bit or a byte that is another one, the end that is missing, a block of zeros, and bytes that do not belong there."""


def damaged(data: bytes, count: int, may_be: Container[bytes] = ()) -> Iterator[bytes]:
    """Copies of a file that are damaged, and differ from it, and from others that a server may have written."""
    luck = random.Random(count)  # noqa: S311
    while count:
        copied = luck.choice(DAMAGES)(data, luck.randrange(len(data)), luck)
        if copied != data and COMMENT.sub(b"", copied) not in may_be:
            count -= 1
            yield copied


def others_for(path: Path, data: bytes) -> set[bytes]:
    """What a server may have written in the place of a file, so that nobody can know that it is damaged.

    A manifest may name the base alone, or say that it has replaced the rest. Commands may end behind each command.
    """
    if path.suffix == ".manifest":
        base, increment = data.splitlines(keepends=True)
        return {base, base + increment.replace(b"type i", b"type h")}
    return (
        {data[: mark.start() + 2] for mark in re.finditer(rb"\r\n\*", data)}
        if path.suffix == ".aof"
        else set()
    )


def filled(**directives: Any) -> tuple[MemoryDisk, Path]:
    """The files of a server with keys of all types in its base, and a list in its increment; and where they are."""
    disk = MemoryDisk()
    server = Server(disk, **directives)
    for number in range(10):
        for words in (
            ("SET", f"text{number}", "value" * number, "PXAT", 32_503_680_000_000),
            ("RPUSH", f"list{number}", *range(number + 1)),
            ("SADD", f"set{number}", "a", *range(number)),
            ("HSET", f"hash{number}", "field", number),
            ("ZADD", f"sorted{number}", number / 2, "member"),
            ("XADD", f"stream{number}", "1-1", "field", number),
        ):
            assert not server.ask(*map(str, words)).startswith(b"-")
        server.ask("SELECT", number)
    server.ask("FUNCTION", "LOAD", LIBRARY)
    server.ask("BGREWRITEAOF")
    for number in range(ELEMENTS):
        server.ask("RPUSH", "l", f"element {number}")
    server.journal.close()
    return disk, server.journal.folder


def values(engine: Engine) -> Counter[bytes]:
    """All values, wherever they are, but for the list of the increment."""
    found = [db.values for db in engine.keyspace.databases]
    return Counter(dump(value) for keys in found for key, value in keys.items() if key != b"l")


def outcomes(disk: MemoryDisk, path: Path, files: int) -> Iterator[Server | None]:
    """The servers that start with a damaged file; None for each that does not, and names the file."""
    data = disk.read(path)
    for content in damaged(data, files, others_for(path, data)):
        other = copy.deepcopy(disk)
        inode = other._entries[path]
        inode.data = inode.durable = content
        try:
            yield Server(other)
        except DamagedFileError as error:
            assert error.path.parent == path.parent  # noqa: PT017
            yield None


@pytest.mark.parametrize("files", FILES)
@pytest.mark.parametrize(("name", "preamble"), [("base.rdb", "yes"), ("base.aof", "no"), ("manifest", "yes")])
def test_a_base_and_a_manifest_are_refused_or_loaded_whole(name: str, preamble: str, files: int) -> None:
    disk, folder = filled(aof_use_rdb_preamble=preamble)
    (path,) = (each for each in disk.list(folder) if each.name.endswith(name))
    whole, refused = values(Server(copy.deepcopy(disk)).engine), 0
    for server in outcomes(disk, path, files):
        if server is None:
            refused += 1
        else:
            assert values(server.engine) == whole
            assert len(server.engine.libraries.libraries) == 1
            assert elements(server.engine) == [b"element %d" % number for number in range(ELEMENTS)]
    assert refused > files / 2


def elements(engine: Engine) -> list[bytes]:
    found: Any = engine.keyspace.databases[9].values.get(b"l", ())
    return [bytes(each) for each in found]


@pytest.mark.parametrize("files", FILES)
def test_an_increment_is_refused_or_read_up_to_its_torn_end(
    files: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the server starts, all is there but for the one element in which a byte is another one."""
    disk, folder = filled()
    (path,) = (each for each in disk.list(folder) if each.name.endswith("incr.aof"))
    whole = [b"element %d" % number for number in range(ELEMENTS)]
    found: Counter[str] = Counter()
    for server in outcomes(disk, path, files):
        is_cut = "is cut to its first" in caplog.text
        caplog.clear()
        if server is None:
            found["refused"] += 1
            continue
        kept = elements(server.engine)
        found["cut" if is_cut else "loaded"] += 1
        ends = range(len(kept) - 1, len(kept) + 2) if is_cut else [ELEMENTS]
        assert any(are_same_but_for_one(kept, whole[:end]) for end in ends), kept
    assert {*found} == {"refused", "cut", "loaded"}, found


def are_same_but_for_one(one: list[bytes], other: list[bytes]) -> bool:
    """Whether one element at most is another one, or is only in one of the two."""
    first = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if first is None:
        return abs(len(one) - len(other)) <= 1
    return any(one[first + here :] == other[first + there :] for here, there in ((1, 1), (0, 1), (1, 0)))


@pytest.mark.parametrize("files", FILES)
def test_a_snapshot_is_refused(files: int) -> None:
    disk, _ = filled()
    data = of_engine(Server(disk).engine)
    for content in damaged(data, files):
        engine = new_engine()
        with pytest.raises(BadSnapshotError):
            loaded(content, engine, is_whole=True)
        assert not values(engine)
        assert not engine.libraries.libraries
