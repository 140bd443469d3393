"""The journal on a disk in memory, which fails, loses power or ends the process at every operation in turn."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from conformance.wire import encode
from miniredis import Config, DamagedFileError, Engine
from miniredis.engine import Instant
from miniredis.engine.keyspace.keyspace import Keyspace
from miniredis.engine.rdb.reader import FileReader
from miniredis.logs import ServerLog
from miniredis.persistence import journal, rewriting
from miniredis.persistence.child import Child, ChildProgress
from miniredis.persistence.disk import Disk
from miniredis.persistence.folder import Folder
from miniredis.persistence.frames import batches
from miniredis.persistence.journal import Journal
from miniredis.scripting import new_interpreter
from tests.cases import for_each

from .memory_disk import Killed, MemoryDisk, failing, failing_once, killing, works

NOW = Instant(1_700_000_000_000_000, 0)


class Server:
    """An engine with its journal; each command is a tick of its own.

    Attributes:
        acknowledged: the numbers that were pushed and answered.
    """

    def __init__(self, disk: Disk, now: Instant = NOW, version: str = "7.0", **directives: Any) -> None:
        given = {"appendonly": "yes", "appendfsync": "always"} | {
            name.replace("_", "-"): value for name, value in directives.items()
        }
        self.now = now
        self.engine = Engine(Config(given, version=version), now)
        self.engine.move_into(self.engine.environment._replace(new_interpreter=new_interpreter))
        self.later: list[Callable[[], object]] = []
        self.journal = Journal(
            self.engine, ServerLog(self.engine.config), self.later.append, disk, start_child=InThisProcess
        )
        for _ in self.journal.load():
            pass
        self.engine.environment = self.engine.environment._replace(journal=self.journal)
        self.session = self.engine.connect(now)

    def ask(self, *words: str | int) -> bytes:
        return self.ask_together(words)

    def ask_together(self, *requests: Sequence[str | int]) -> bytes:
        """All of them in one tick."""
        data = b"".join(encode(*map(str, words)) for words in requests)
        self.engine.receive(self.session, data, self.now)
        self.tick()
        return self.session.take_output()

    def tick(self) -> None:
        """The end of one."""
        self.engine.settle(self.now)
        self.journal.write(self.engine.recording.take())
        while self.later:
            self.later.pop(0)()


class InThisProcess(Child):
    """Does the work of a child at once."""

    def __init__(self, work: Callable[[], None], when_over: Callable[[str], None]) -> None:
        self.pid = os.getpid()
        self.progress = ChildProgress()
        failure = ""
        try:
            work()
        except OSError as error:
            failure = str(error)
        when_over(failure)

    def kill(self) -> None:
        """It is over."""


def elements(disk: Disk) -> list[int]:
    """What is in the list after a start."""
    server = Server(disk)
    deque = server.engine.keyspace.databases[0].values.get(b"l", ())
    return [int(each) for each in deque]  # type: ignore[arg-type,union-attr]


# Kills and power losses


def work(disk: Disk, acknowledged: list[int], **directives: Any) -> None:
    """Pushes, in transactions and scripts, too, and rewrites twice."""
    server = Server(disk, **directives)
    for number in range(0, 40, 4):
        server.ask("RPUSH", "l", number)
        acknowledged.append(number)
        server.ask("MULTI")
        server.ask("RPUSH", "l", number + 1)
        server.ask("RPUSH", "l", number + 2)
        server.ask("EXEC")
        acknowledged += [number + 1, number + 2]
        server.ask("EVAL", "redis.call('INCR', 'n') redis.call('RPUSH', 'l', ARGV[1])", 0, number + 3)
        acknowledged.append(number + 3)
        if number in {12, 24}:
            server.ask("BGREWRITEAOF")
    server.journal.close()


def operations(**directives: str) -> int:
    disk = MemoryDisk()
    work(disk, [], **directives)
    return len(disk.steps)


def test_what_was_acknowledged_is_there_after_the_process_ends_at_any_operation() -> None:
    for at in range(1, operations() + 1):
        disk = MemoryDisk()
        check(disk, interrupted(disk, at), f"operation {at}, {disk.steps[-1]}")


@pytest.mark.parametrize("losses", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_what_was_acknowledged_is_there_after_power_is_lost_at_any_operation(losses: int) -> None:
    """So many times at each operation: what the disk keeps of what was not made durable differs."""
    for at in range(1, operations() + 1):
        for loss in range(losses):
            disk = MemoryDisk()
            acknowledged = interrupted(disk, at)
            disk.lose_power(at + 1000 * loss)
            check(disk, acknowledged, f"operation {at}, {disk.steps[-1]}, loss {loss}")


def test_without_always_a_power_loss_leaves_the_beginning_of_what_was_acknowledged_and_the_server_starts() -> (
    None
):
    for at in range(1, operations(appendfsync="no") + 1):
        disk = MemoryDisk()
        interrupted(disk, at, appendfsync="no")
        disk.lose_power(at)
        disk.plan = works
        found = elements(disk)
        assert found == list(range(len(found))), f"operation {at}, {disk.steps[-1]}"
        assert len(found) % 4 != 2, f"operation {at}: half a transaction"


def test_what_was_acknowledged_is_there_after_the_next_start_ends_at_any_operation_too() -> None:
    middle = operations() // 2
    for at in range(1, 30):
        disk = MemoryDisk()
        acknowledged = interrupted(disk, middle)
        disk.lose_power(at)
        disk.plan = killing(len(disk.steps) + at)
        try:
            elements(disk)
        except Killed:
            disk.lose_power(at)
        check(disk, acknowledged, f"operation {at} of the start")


def interrupted(disk: MemoryDisk, at: int, **directives: str) -> list[int]:
    """What was acknowledged until the process ended at an operation."""
    disk.plan = killing(at)
    acknowledged: list[int] = []
    with pytest.raises(Killed):
        work(disk, acknowledged, **directives)
    return acknowledged


def check(disk: MemoryDisk, acknowledged: list[int], when: str) -> None:
    disk.plan = works
    found = elements(disk)
    assert found[: len(acknowledged)] == acknowledged, when
    rest = found[len(acknowledged) :]
    assert rest in ([], [len(acknowledged)], [len(acknowledged), len(acknowledged) + 1]), when
    if len(rest) == 2 or (rest and rest[0] % 4 in {1, 2}):
        assert (len(rest), rest[0] % 4) == (2, 1), f"{when}: half a transaction"
    assert found == elements(disk), f"{when}: the second start finds something else"


def test_a_script_that_lets_others_in_is_there_whole_or_not_at_all() -> None:
    """Ticks of others come in its middle, which write what was done before, and may not rewrite half of it."""
    disk = MemoryDisk()
    server = Server(disk, busy_reply_threshold="1")
    engine, seconds = server.engine, itertools.count()
    others: list[Any] = []

    def let_others_in() -> None:
        if engine.keyspace.databases[0].values:
            server.journal.rewrite()
        engine.settle(NOW)
        others.append(engine.recording.take())
        server.journal.write(others[-1])

    engine.move_into(
        engine.environment._replace(
            stopwatch=lambda: float(next(seconds)), clock=lambda: NOW, let_others_in=let_others_in
        )
    )
    server.ask("EVAL", "for n = 1, 300000 do if n % 100000 == 0 then redis.call('RPUSH', 'l', n) end end", 0)
    assert others
    assert not any(others)
    server.ask("PING")
    assert server.engine.saves.rewrites.count == 1
    server.journal.close()
    assert elements(disk) == [100_000, 200_000, 300_000]


# Disks that fail


@pytest.mark.parametrize("operation", ["write", "sync"])
def test_with_always_a_failing_disk_is_an_error_before_anything_is_answered(operation: str) -> None:
    disk = MemoryDisk()
    server = Server(disk)
    disk.plan = failing(operation)
    with pytest.raises(OSError, match="No space left"):
        server.ask("RPUSH", "l", 1)


@pytest.mark.parametrize("can_truncate", [True, False])
def test_without_always_writing_commands_are_refused_until_the_disk_works_again(can_truncate: bool) -> None:
    disk = MemoryDisk()
    server = Server(disk, appendfsync="no")
    disk.plan = failing("write") if can_truncate else failing("write", "truncate")
    assert server.ask("RPUSH", "l", 1) == b":1\r\n"  # as Redis: it learns of it afterwards
    refused = b"-MISCONF Errors writing to the AOF file: No space left on device\r\n"
    assert server.ask("RPUSH", "l", 2) == refused
    assert server.ask("PING") == refused
    assert server.ask("EVAL", "return redis.call('LPOP', 'l')", 0).startswith(b"-MISCONF Errors writing")
    assert server.ask("LLEN", "l") == b":1\r\n"
    disk.plan = works
    server.ask("LLEN", "l")  # the end of this tick writes the rest
    assert server.ask("RPUSH", "l", 3) == b":2\r\n"
    server.journal.close()
    assert elements(disk) == [1, 3]


@pytest.mark.parametrize("operation", ["create", "write", "sync", "rename", "sync folder", "open", "close"])
def test_a_rewriting_that_fails_anywhere_loses_nothing_and_can_be_repeated(operation: str) -> None:
    """Of operations that are done several times each one fails once."""
    for place in range(1, 4):
        disk = MemoryDisk()
        server = Server(disk, appendfsync="no")
        server.ask("RPUSH", "l", 1)
        disk.plan = failing_once(operation, place)
        server.ask("BGREWRITEAOF")
        server.ask("RPUSH", "l", 2)
        disk.plan = works
        server.ask("PING")
        server.ask("RPUSH", "l", 3)
        server.ask("BGREWRITEAOF")
        server.ask("RPUSH", "l", 4)
        server.journal.close()
        assert elements(disk) == [1, 2, 3, 4], f"{operation} {place}"


@pytest.mark.parametrize("place", range(1, 6))
def test_a_kill_after_a_rewriting_that_failed_halfway_doubles_nothing(place: int) -> None:
    """The folder could not be synced, so that nobody knows which manifest is on the disk."""
    for at in range(1, 25):
        disk = MemoryDisk()
        server = Server(disk)
        server.ask("RPUSH", "l", 1)
        disk.plan = failing_once("sync folder", place)
        server.ask("BGREWRITEAOF")
        disk.plan = works
        server.ask("RPUSH", "l", 2)
        disk.plan = killing(len(disk.steps) + at)
        with suppress(Killed):
            server.ask("BGREWRITEAOF")
        disk.plan = works
        assert elements(disk) == [1, 2], f"operation {at}, {disk.steps[-1]}"


def test_what_a_failed_sync_has_lost_is_written_anew_until_that_succeeds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The file that may lack something is not the last one any more when it is tried again."""
    monkeypatch.setattr(rewriting, "PAUSE", 0.0)
    disk = MemoryDisk()
    server = Server(disk, appendfsync="no")
    server.ask("RPUSH", "l", 1)
    for plan in (failing("sync"), failing_once("create", 3), works):  # increment, manifest, base
        disk.plan = plan
        server.ask("BGREWRITEAOF" if plan is not works else "PING")
    server.journal.close()
    disk.lose_power(1)
    assert elements(disk) == [1]


def test_data_that_replaced_all_others_are_kept_although_the_disk_was_full_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rewriting, "PAUSE", 0.0)
    disk = MemoryDisk()
    server = Server(disk)
    server.ask("RPUSH", "l", 1)
    server.engine.keyspace.take_over(Keyspace(16))  # as the snapshot of a master does
    disk.plan = failing("create")
    server.journal.begin_again()
    disk.plan = works
    server.ask("RPUSH", "l", 2)
    server.journal.close()
    assert elements(disk) == [2]


# Rewriting


PIPELINE = (("RPUSH", "l", 0), ("BGREWRITEAOF",), ("RPUSH", "l", 1))


def test_a_rewriting_begins_between_two_commands_that_came_together() -> None:
    disk = MemoryDisk()
    server = Server(disk)
    reply = b":1\r\n+Background append only file rewriting started\r\n:2\r\n"
    assert server.ask_together(*PIPELINE) == reply
    assert server.engine.saves.rewrites.count == 1
    assert elements(disk) == [0, 1]


@pytest.mark.parametrize("operation", ["write", "sync"])
def test_what_came_before_a_rewriting_and_could_not_be_kept_is_not_answered(operation: str) -> None:
    disk = MemoryDisk()
    server = Server(disk)
    disk.plan = failing_once(operation, 1)
    with pytest.raises(OSError, match="No space left"):
        server.ask_together(*PIPELINE)


def test_rewriting_begins_by_itself_where_the_file_has_grown_enough() -> None:
    disk = MemoryDisk()
    server = Server(disk, auto_aof_rewrite_min_size="2kb", auto_aof_rewrite_percentage="50")
    sizes = []
    for _ in range(200):
        server.ask("SET", "k", "v" * 50)
        sizes.append(server.journal.size)
    assert max(sizes) < 2500
    assert sizes[-1] < max(sizes)
    assert server.engine.saves.rewrites.count > 1


@pytest.mark.parametrize("preamble", ["yes", "no"])
def test_a_base_in_either_form_has_all_data(preamble: str) -> None:
    disk = MemoryDisk()
    server = Server(disk, aof_use_rdb_preamble=preamble)
    for words in (
        ("SET", "s", "v", "PXAT", 1_800_000_000_000), ("HSET", "h", "f", "v"), ("SADD", "t", "a", "b"),
        ("ZADD", "z", 1.5, "m"), ("XADD", "x", "1-1", "f", "v"), ("SELECT", 3), ("RPUSH", "l", "a"),
        ("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 1 end)"),
    ):  # fmt: skip
        assert not server.ask(*words).startswith(b"-")
    server.ask("BGREWRITEAOF")
    server.journal.close()
    before = state(server.engine)
    again = Server(disk)
    assert state(again.engine) == before
    assert again.ask("FCALL", "f", 0) == b":1\r\n"
    assert [path.suffix for path in disk.list(server.journal.folder) if ".base" in path.name] == [
        ".rdb" if preamble == "yes" else ".aof"
    ]


def state(engine: Engine) -> list[tuple[int, bytes, Any, Any]]:
    from miniredis.engine.rdb.payload import dump

    return [
        (db.index, key, dump(value), db.deadlines.get(key))
        for db in engine.keyspace.databases
        for key, value in db.values.items()
    ]


def test_debug_loadaof_and_reload_read_back_all_data() -> None:
    disk = MemoryDisk()
    server = Server(disk, enable_debug_command="yes")
    for words in (
        ("RPUSH", "l", 1),
        ("SELECT", 2),
        ("XADD", "x", "*", "f", "v"),
        ("SET", "k", "v", "PX", 100),
    ):
        server.ask(*words)
    before, size = state(server.engine), server.journal.size
    for command in ("LOADAOF", "RELOAD"):
        assert server.ask("DEBUG", command) == b"+OK\r\n"
        assert state(server.engine) == before
    assert server.journal.size == size, "nothing was propagated"
    server.ask("SET", "k", "w")
    server.journal.close()
    assert Server(disk).engine.keyspace.databases[2].values[b"k"] == b"w"
    damaged(disk := MemoryDisk(), lambda data: data)
    server = Server(disk, enable_debug_command="yes")
    disk.plan = failing("read")
    assert server.ask("DEBUG", "LOADAOF").startswith(b"-ERR Error trying to load the AOF files")


# Time


def test_keys_that_expired_while_the_server_was_away_are_gone_and_say_so() -> None:
    disk = MemoryDisk()
    server = Server(disk)
    server.ask("SET", "k", "v", "PX", 1000)
    server.ask("GETEX", "k", "PX", 2000)
    server.journal.close()
    again = Server(disk)
    later = Instant(NOW.wall + 3_000_000, NOW.monotonic)
    again.engine.receive(again.session, encode("GET", "k"), later)
    again.engine.settle(later)
    assert again.session.take_output() == b"$-1\r\n"
    assert again.engine.recording.take().endswith(encode("DEL", "k"))


def test_a_key_that_an_effect_makes_permanent_is_there_though_its_time_had_come() -> None:
    disk = MemoryDisk()
    server = Server(disk)
    server.ask("SET", "k", "v", "PXAT", NOW.wall // 1000 + 10)
    server.ask("PERSIST", "k")
    server.journal.close()
    again = Server(disk, now=Instant(NOW.wall + 3_000_000, 0))
    assert again.ask("TTL", "k") == b":-1\r\n"
    assert again.ask("OBJECT", "IDLETIME", "k") == b":0\r\n"


def test_a_clock_that_is_set_back_loses_nothing_and_the_ids_of_a_stream_go_on() -> None:
    disk = MemoryDisk()
    server = Server(disk)
    server.ask("SET", "k", "v", "PX", 1000)
    first = server.ask("XADD", "s", "*", "f", "v")
    server.now = Instant(NOW.wall - 3_600_000_000, NOW.monotonic + 1)
    assert server.ask("XADD", "s", "*", "f", "v") == first.replace(b"-0", b"-1")
    server.ask("RPUSH", "l", 1)
    server.journal.close()
    again = Server(disk, now=server.now)
    assert again.ask("MGET", "k") == b"*1\r\n$1\r\nv\r\n"
    assert again.ask("XLEN", "s") == b":2\r\n"
    assert again.ask("LRANGE", "l", 0, -1) == b"*1\r\n$1\r\n1\r\n"


def test_a_journal_that_is_not_made_for_lack_of_memory_gives_its_folder_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def has_no_memory(*_: object) -> None:
        raise MemoryError

    def open_journal() -> Journal:
        return Journal(engine, ServerLog(engine.config), lambda _: None)

    engine = Engine(Config({"appendonly": "yes", "dir": str(tmp_path)}), NOW)
    with monkeypatch.context() as patch:
        patch.setattr(journal, "Increments", has_no_memory)
        with pytest.raises(MemoryError):
            open_journal()
    open_journal().close()


# Files that are wrong


def test_an_engine_with_data_cannot_begin_a_journal(caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine(Config({"appendonly": "yes"}), NOW)
    session = engine.connect(NOW)
    engine.receive(session, encode("SET", "k", "v"), NOW)
    with pytest.raises(ValueError, match="the engine has data already"):
        next(Journal(engine, ServerLog(engine.config), lambda _: None, MemoryDisk()).load())


def damaged(disk: MemoryDisk, change: Callable[[bytes], bytes], ending: str = ".1.incr.aof") -> None:
    server = Server(disk)
    server.ask("SET", "a", "1")
    server.ask("SET", "b", "2")
    server.journal.close()
    path = next(path for path in disk.list(server.journal.folder) if path.name.endswith(ending))
    inode = disk._entries[path]
    inode.data = inode.durable = change(inode.data)


def test_a_torn_end_is_cut_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    disk = MemoryDisk()
    damaged(disk, lambda data: data[:-3])
    with caplog.at_level(logging.WARNING, "miniredis"):
        server = Server(disk)
    assert "is cut to its first" in caplog.text
    assert server.ask("MGET", "a", "b") == b"*2\r\n$1\r\n1\r\n$-1\r\n"
    server.ask("SET", "c", "3")
    server.journal.close()
    assert Server(disk).ask("MGET", "a", "b", "c") == b"*3\r\n$1\r\n1\r\n$-1\r\n$1\r\n3\r\n"


@for_each("before", [0, 1, 100, 300])
@for_each("inside", [0, 1, 100, 300])
@for_each("torn", [b"", b"*2\r\n$4\r\nINCR\r\n$1\r"])
@for_each("multi", [encode("MULTI"), b"*01\r\n$05\r\nMULTI\r\n"])
def test_a_torn_transaction_is_cut_from_its_beginning(
    before: int, inside: int, torn: bytes, multi: bytes
) -> None:
    """Wherever it begins and ends in what is read at a time, and in whichever form it is written."""
    disk = MemoryDisk()
    whole = encode("SELECT", "0") + encode("RPUSH", "l", "1") * before
    damaged(disk, lambda _: whole + multi + encode("RPUSH", "l", "2") * inside + torn)
    server = Server(disk)
    assert server.ask("LRANGE", "l", 0, -1) == b"*%d\r\n" % before + b"$1\r\n1\r\n" * before
    server.ask("RPUSH", "l", 3)
    server.journal.close()
    path = next(path for path in disk.list(server.journal.folder) if path.name.endswith(".incr.aof"))
    appended = encode("SELECT", "0") + encode("RPUSH", "l", "3")
    assert disk.read(path) == whole + appended


@for_each("note", [b"#TS:1700000000\r\n", b"#\n", b"#" + b"x" * 5000 + b"\r\n"])
@for_each("inside", [0, 1, 300])
def test_a_torn_transaction_behind_an_annotation_is_cut_from_its_beginning(note: bytes, inside: int) -> None:
    disk = MemoryDisk()
    push = encode("RPUSH", "l", "1")
    whole = encode("SELECT", "0") + push + note + push + note + note + push
    damaged(disk, lambda _: whole + encode("MULTI") + push * inside + note + push)
    server = Server(disk)
    server.journal.close()
    path = next(path for path in disk.list(server.journal.folder) if path.name.endswith(".incr.aof"))
    assert disk.read(path) == whole
    assert Server(disk).ask("LLEN", "l") == b":3\r\n"


def test_many_annotations_are_read_in_time_that_goes_with_their_bytes() -> None:
    """Redis looks at no more than the line; here each needs some more, and not a whole window."""
    data, seen = b"#TS:1\r\n" * 20_000, 0

    class CountingReader(FileReader):
        def peek(self, most: int) -> bytes:
            nonlocal seen
            found = super().peek(most)
            seen += len(found)
            return found

    assert not any(batches(CountingReader(BytesIO(data).read, len(data))))
    assert seen < 30 * len(data)


@pytest.mark.parametrize("before", [0, 300])
def test_an_unknown_command_is_named_with_the_byte_behind_it(before: int) -> None:
    disk = MemoryDisk()
    good = encode("SET", "a", "1") * before
    damaged(disk, lambda _: good + encode("SAT", "b", "2") + good)
    at = len(good + encode("SAT", "b", "2"))
    with pytest.raises(DamagedFileError, match=f"Unknown command 'SAT' before byte {at}$"):
        Server(disk)


@for_each(
    ("change", "told"),
    [
        (lambda data: data.replace(b"*3\r\n$3\r\nSET\r\n$1\r\nb", b"?3\r\n$3\r\nSET\r\n$1\r\nb"), "at byte 50"),
        (lambda data: data.replace(b"$1\r\nb", b"!1\r\nb"), "at byte 63"),
        (lambda data: data.replace(b"$1\r\nb", b"$x\r\nb"), "at byte 63"),
        (lambda data: data + b"SET c 3\r\n", "at byte 77"),
        (lambda data: data.replace(b"SET\r\n$1\r\nb", b"SAT\r\n$1\r\nb"), "Unknown command 'SAT'"),
        (lambda data: b"*0\r\n" + data, "at byte 4"),
        (lambda data: data + encode("SET", "c"), "set cannot have 1 arguments before byte 97"),
        (lambda data: data + encode("FUNCTION", "LOAD"), "function|load cannot have 1 arguments before byte"),
        (lambda data: data + encode("RESTORE", "c", "0", "x"), "restore: ERR DUMP payload version or checksum"),
    ],
)  # fmt: skip
def test_what_is_no_command_stops_the_start_and_is_named(change: Callable[[bytes], bytes], told: str) -> None:
    disk = MemoryDisk()
    damaged(disk, change)
    with pytest.raises(DamagedFileError, match=told):
        Server(disk)


def test_a_torn_file_is_not_cut_where_it_may_not_be_or_is_not_the_last() -> None:
    disk = MemoryDisk()
    damaged(disk, lambda data: data[:-3])
    with pytest.raises(DamagedFileError, match=r"ends in the middle of a command .* at byte 50"):
        Server(disk, aof_load_truncated="no")
    disk = MemoryDisk()
    damaged(disk, lambda data: data[:-3], ".base.rdb")
    with pytest.raises(DamagedFileError):
        Server(disk)


def test_a_snapshot_of_no_bytes_stops_the_start() -> None:
    disk = MemoryDisk()
    damaged(disk, lambda _: b"", ".base.rdb")
    with pytest.raises(DamagedFileError, match="does not begin"):
        Server(disk)


def test_a_file_that_the_manifest_names_and_that_is_gone_stops_the_start() -> None:
    disk = MemoryDisk()
    server = Server(disk)
    server.journal.close()
    disk.remove(next(path for path in disk.list(server.journal.folder) if path.name.endswith(".incr.aof")))
    with pytest.raises(DamagedFileError, match="is not there"):
        Server(disk)


def test_the_one_file_of_redis_6_becomes_the_base() -> None:
    for at in range(1, 12):
        disk = MemoryDisk()
        old = Folder.top_of(Config({})) / "appendonly.aof"
        file = disk.create(old)
        file.write(encode("SELECT", "0") + encode("RPUSH", "l", "1", "2"))
        file.sync()
        disk.sync_folder(old.parent)
        disk.plan = killing(len(disk.steps) + at)
        try:
            elements(disk)
        except Killed:
            disk.lose_power(at)
        disk.plan = works
        assert elements(disk) == [1, 2], at
