"""The master without sockets: shared snapshots, the stream kept meanwhile, timeouts, WAIT and min-replicas."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterable

import pytest

from conformance.wire import encode
from miniredis.engine import Config, Engine, Environment, Instant, Session
from miniredis.logs import ServerLog
from miniredis.replication import snapshots as snapshots_of_process
from tests.miniredis.engine.effects import commands_in
from tests.waiting import until

SECOND = 1_000_000
PING = b"*1\r\n$4\r\nping\r\n"


class Snapshots:
    """Stands for the process around the engine: snapshots are written when a test says so."""

    def __init__(self) -> None:
        self.begun: list[bytes] = []
        self.cancelled = 0
        self.has_failed = False
        self._ends: list[Callable[[bytes | None], None]] = []

    def begin(
        self, blocks: Callable[[], Iterable[bytes]], when_over: Callable[[bytes | None], None]
    ) -> Callable[[], None]:
        if self.has_failed:
            raise BlockingIOError
        self.begun.append(b"".join(blocks()))
        self._ends.append(when_over)
        return self._cancel

    def _cancel(self) -> None:
        self.cancelled += 1
        self._ends.pop()

    def end(self, *, succeeds: bool = True) -> None:
        self._ends.pop()(self.begun[-1] if succeeds else None)


class Master:
    """An engine, and what its clients say and hear."""

    def __init__(self, snapshots: Snapshots | None = None, version: str = "7.0", **directives: str) -> None:
        self.time = 0
        given = {name.replace("_", "-"): value for name, value in directives.items()}
        config = Config(given, version=version)
        begin = None if snapshots is None else snapshots.begin
        self.engine = Engine(config, self.now, environment=Environment(begin_snapshot=begin))
        self.writer = self.connect()

    @property
    def now(self) -> Instant:
        return Instant(self.time, self.time)

    def connect(self) -> Session:
        return self.engine.connect(self.now)

    def say(self, session: Session, *commands: str) -> bytes:
        """Runs commands, a tick for each; returns what the client hears then."""
        return b"".join(self.say_at_once(session, command) for command in commands)

    def say_at_once(self, session: Session, *commands: str) -> bytes:
        """The same in one tick."""
        for command in commands:
            self.engine.receive(session, encode(*(word.encode() for word in command.split())), self.now)
        return self.hear(session)

    def hear(self, session: Session) -> bytes:
        self.engine.settle(self.now)
        return session.take_output()

    def sent(self, session: Session) -> None:
        """The client has taken all that was to be sent to it."""
        assert session.replica is not None
        self.engine.replication.replicas.snapshot_was_sent(session.replica)

    def wait(self, seconds: int) -> None:
        """Time passes, as it does in a server: from one deadline to the next."""
        end = self.time + seconds * SECOND
        self.engine.settle(self.now)
        while (due := self.engine.next_deadline()) is not None and due <= end:
            self.time = max(due, self.time)
            self.engine.settle(self.now)
        self.time = end
        self.engine.settle(self.now)

    def online(self, *options: str) -> Session:
        """A replica that has its snapshot."""
        session = self.connect()
        self.say(session, *options, "PSYNC ? -1")
        self.sent(session)
        return session

    def info(self) -> str:
        return self.say(self.connect(), "INFO replication").decode()


@pytest.fixture
def snapshots() -> Snapshots:
    return Snapshots()


@pytest.fixture
def master(snapshots: Snapshots) -> Master:
    return Master(snapshots)


def test_reads_go_on_while_a_failover_outlasts_a_pause_of_all_commands(master: Master) -> None:
    master.online()
    reader, writer = master.connect(), master.connect()
    assert master.say(master.writer, "SET k 1", "CLIENT PAUSE 1000 ALL") == b"+OK\r\n+OK\r\n"
    master.engine.replication.failover.start(None, 5000, is_forced=False)
    assert master.say(reader, "GET k") + master.say(writer, "SET k 2") == b""
    master.wait(2)
    assert (reader.take_output(), writer.take_output()) == (b"$1\r\n1\r\n", b"")
    master.wait(4)
    assert writer.take_output() == b"+OK\r\n"


def test_a_snapshot_that_one_replica_cannot_be_given_reaches_the_others(
    master: Master, snapshots: Snapshots
) -> None:
    unlucky, lucky = master.connect(), master.connect()
    for each in (unlucky, lucky):
        master.say(each, "PSYNC ? -1")
    assert unlucky.replica is not None
    unlucky.replica.kept = None  # type: ignore[assignment]  # a bug
    snapshots.end()
    assert master.hear(lucky).endswith(snapshots.begun[-1])
    assert (unlucky.connected, lucky.connected) == (False, True)
    assert [session for session, _ in master.engine.take_faults()] == [unlucky]


def test_a_snapshot_that_cannot_be_written_beside_other_work_is_written_at_once(snapshots: Snapshots) -> None:
    snapshots.has_failed = True
    for master in (Master(), Master(snapshots)):
        heard = master.say(master.connect(), "PSYNC ? -1")
        head, content = heard.split(b"\r\n", 1)
        assert (head[:11], content[:1]) == (b"+FULLRESYNC", b"$")


def test_what_is_done_while_the_snapshot_is_written_comes_behind_it(
    master: Master, snapshots: Snapshots
) -> None:
    replica = master.connect()
    assert master.say(replica, "PSYNC ? -1").startswith(b"+FULLRESYNC")
    master.say(master.writer, "SET k 1")
    assert master.hear(replica) == b""
    assert "state=wait_bgsave" in master.info()
    snapshots.end()
    master.say(master.writer, "SET k 2")
    assert b"k" not in snapshots.begun[0]
    stream = encode(b"SELECT", b"0") + encode(b"SET", b"k", b"1") + encode(b"SET", b"k", b"2")
    assert master.hear(replica) == b"$%d\r\n%b" % (len(snapshots.begun[0]), snapshots.begun[0]) + stream
    assert "state=send_bulk" in master.info()
    master.sent(replica)
    assert "state=online" in master.info()


def test_replicas_that_come_meanwhile_get_the_same_snapshot_and_the_same_stream(
    master: Master, snapshots: Snapshots
) -> None:
    first, second = master.connect(), master.connect()
    agreed = master.say(first, "PSYNC ? -1")
    master.say(master.writer, "SET k 1")
    assert master.say(second, "PSYNC ? -1") == agreed
    master.say(master.writer, "SET k 2")
    snapshots.end()
    assert len(snapshots.begun) == 1
    heard = master.hear(first)
    assert heard == master.hear(second)
    assert heard.endswith(encode(b"SET", b"k", b"2"))


def test_a_replica_that_wants_other_data_waits_for_the_next_snapshot(
    master: Master, snapshots: Snapshots
) -> None:
    master.say(master.writer, "SET key value")
    first, second = master.connect(), master.connect()
    master.say(first, "PSYNC ? -1")
    assert master.say(second, "REPLCONF rdb-filter-only functions", "PSYNC ? -1") == b"+OK\r\n"
    snapshots.end()
    assert master.hear(second).startswith(b"+FULLRESYNC")
    assert [b"key" in each for each in snapshots.begun] == [True, False]


def test_who_wants_the_snapshot_only_gets_no_stream_and_is_disconnected(
    master: Master, snapshots: Snapshots
) -> None:
    tool = master.connect()
    master.say(tool, "REPLCONF rdb-only 1", "SYNC")
    master.say(master.writer, "SET k 1")
    snapshots.end()
    assert master.hear(tool).endswith(snapshots.begun[0])
    master.sent(tool)
    assert not tool.connected


def test_replicas_are_disconnected_if_their_snapshot_could_not_be_written(
    master: Master, snapshots: Snapshots
) -> None:
    replica = master.connect()
    master.say(replica, "PSYNC ? -1")
    snapshots.end(succeeds=False)
    assert not replica.connected
    assert "connected_slaves:0" in master.info()


def test_replicas_hear_that_their_snapshot_cannot_be_read(
    forked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_file: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(snapshots_of_process, "mapped", fail)
    told: list[bytes | None] = []

    def call(act: Callable[[], object]) -> None:
        act()

    snapshots_of_process.begin_snapshot(lambda: [b"data"], told.append, call, ServerLog(Config()))
    until(lambda: told)
    assert told == [None]


def test_a_snapshot_that_nobody_waits_for_is_not_written_to_its_end(
    master: Master, snapshots: Snapshots
) -> None:
    first, second = master.connect(), master.connect()
    for replica in (first, second):
        master.say(replica, "PSYNC ? -1")
    master.engine.disconnect(first, master.now)
    assert snapshots.cancelled < 1
    master.engine.disconnect(second, master.now)
    assert snapshots.cancelled == 1
    master.say(master.connect(), "PSYNC ? -1")
    assert len(snapshots.begun) == 2


def test_who_waits_for_the_next_snapshot_gets_it_when_nobody_waits_for_this_one(
    master: Master, snapshots: Snapshots
) -> None:
    first, second = master.connect(), master.connect()
    master.say(first, "PSYNC ? -1")
    master.say(second, "REPLCONF rdb-filter-only functions", "PSYNC ? -1")
    master.engine.disconnect(first, master.now)
    assert master.hear(second).startswith(b"+FULLRESYNC")


def test_no_snapshot_begins_in_the_middle_of_a_transaction(master: Master, snapshots: Snapshots) -> None:
    first, second = master.connect(), master.connect()
    master.say(first, "REPLCONF rdb-only 1", "PSYNC ? -1")
    master.say(second, "PSYNC ? -1")
    assert master.hear(second) == b""  # no stream is kept for the first one
    master.say(master.writer, "MULTI", "SET before 1", f"CLIENT KILL ID {first.id}", "SET behind 1", "EXEC")
    offset = master.engine.replication.history.offset
    assert master.hear(second).endswith(b" %d\r\n" % offset)
    assert b"before" in snapshots.begun[1]
    assert b"behind" in snapshots.begun[1]
    master.say(master.writer, "SET k 1")
    snapshots.end()
    assert master.hear(second).endswith(encode(b"SELECT", b"0") + encode(b"SET", b"k", b"1"))


def test_a_replica_that_waits_for_too_long_while_much_is_written_is_disconnected(
    snapshots: Snapshots,
) -> None:
    master = Master(snapshots, client_output_buffer_limit="replica 50000 0 0", repl_backlog_size="16384")
    replica = master.connect()
    master.say(replica, "PSYNC ? -1")
    for _ in range(4):
        assert replica.connected
        master.say(master.writer, "SET k " + "x" * 20_000)
    assert not replica.connected


def test_a_replica_may_always_leave_as_much_unread_as_the_history_keeps(snapshots: Snapshots) -> None:
    master = Master(snapshots, client_output_buffer_limit="replica 50000 0 0")
    replica = master.connect()
    master.say(replica, "PSYNC ? -1")
    for _ in range(10):
        master.say(master.writer, "SET k " + "x" * 20_000)
    assert replica.connected


def test_the_append_only_file_has_no_messages() -> None:
    master = Master()
    master.online()
    master.engine.recording.start()
    master.say(master.writer, "PUBLISH a b")
    assert master.engine.recording.take() == b""
    master.say(master.writer, "MULTI", "PUBLISH a b", "PUBLISH a b", "EXEC")
    as_redis_has_it = [[b"SELECT", b"0"], [b"MULTI"], [b"EXEC"]]
    assert commands_in(master.engine.recording.take()) == as_redis_has_it


def in_one_tick(master: Master, replica: Session, *commands: str) -> bytes:
    """A write, and then a replica that asks for synchronization; returns what the replica hears."""
    master.engine.receive(master.writer, encode(b"SET", b"k", b"new"), master.now)
    return master.say_at_once(replica, *commands)


def test_a_replica_that_goes_on_hears_once_what_was_done_in_the_same_tick() -> None:
    master = Master()
    master.online()
    history = master.engine.replication.history
    heard = in_one_tick(master, master.connect(), f"PSYNC {history.name.decode()} {history.offset + 1}")
    assert heard.count(encode(b"SET", b"k", b"new")) == 1


def test_a_replica_with_a_new_snapshot_does_not_hear_what_is_in_it() -> None:
    master = Master()
    master.online()
    heard = in_one_tick(master, master.connect(), "PSYNC ? -1")
    assert b"SET" not in heard
    assert heard.startswith(
        b"+FULLRESYNC %b %d\r\n"
        % (master.engine.replication.history.name, master.engine.replication.history.offset)
    )


def test_replicas_are_not_counted_among_clients() -> None:
    master = Master()
    master.online()
    assert b"connected_clients:2\r\n" in master.say(master.connect(), "INFO clients")


# Time


def test_a_replica_that_waits_for_its_snapshot_has_a_sign_of_life_each_second(
    master: Master, snapshots: Snapshots
) -> None:
    replica = master.connect()
    master.say(replica, "PSYNC ? -1")
    master.wait(3)
    assert master.hear(replica) == b"\n\n\n"
    assert snapshots.begun


def test_the_stream_has_a_ping_each_period() -> None:
    master = Master(repl_ping_replica_period="7")
    replica = master.online()
    master.hear(replica)
    master.wait(20)
    assert master.hear(replica) == PING * 2


def test_a_silent_replica_is_disconnected() -> None:
    master = Master(repl_timeout="5")
    silent, talking, old = master.online(), master.online(), master.connect()
    master.say(old, "SYNC")
    master.sent(old)
    for _ in range(6):
        master.say(talking, "REPLCONF ACK 0")
        master.wait(1)
    assert [each.connected for each in (silent, talking, old)] == [False, True, True]


def test_a_replica_that_takes_its_snapshot_slowly_is_not_silent() -> None:
    master = Master(repl_timeout="5")
    replica = master.connect()
    master.say(replica, "PSYNC ? -1")
    master.wait(20)
    assert "state=send_bulk" in master.info()
    master.sent(replica)
    master.wait(5)
    assert replica.connected


def test_a_history_is_forgotten_some_time_after_the_last_replica() -> None:
    master = Master(repl_backlog_ttl="10")
    replica = master.online()
    master.wait(5)
    master.engine.disconnect(replica, master.now)
    name = master.engine.replication.history.name
    master.wait(10)
    assert master.engine.replication.history.name == name
    assert master.engine.effects is not None
    master.wait(1)
    assert master.engine.replication.history.name != name
    assert "repl_backlog_active:0" in master.info()
    assert master.engine.effects is None
    assert master.engine.next_deadline() is None


def test_a_history_is_kept_for_ever_if_it_has_no_end() -> None:
    master = Master(repl_backlog_ttl="0")
    master.engine.disconnect(master.online(), master.now)
    master.wait(100_000)
    assert "repl_backlog_active:1" in master.info()


def test_nothing_is_recorded_before_the_first_replica() -> None:
    master = Master()
    master.say(master.writer, "SET k 1")
    assert master.engine.effects is None
    assert master.engine.next_deadline() is None
    assert "master_repl_offset:0" in master.info()


# Waiting for replicas


def test_wait_ends_when_enough_have_acknowledged_or_with_how_many_have() -> None:
    master = Master()
    replicas = [master.online() for _ in range(3)]
    master.say(master.writer, "SET k 1")
    offset = master.engine.replication.history.offset
    assert master.say(master.writer, "WAIT 2 5000") == b""
    master.say(replicas[0], f"REPLCONF ACK {offset}")
    assert master.hear(master.writer) == b""
    master.say(replicas[1], f"REPLCONF ACK {offset - 1}")
    assert master.hear(master.writer) == b""
    master.say(replicas[2], f"REPLCONF ACK {offset}")
    assert master.hear(master.writer) == b":2\r\n"
    master.say(master.writer, "SET k 2")
    assert master.say(master.writer, "WAIT 3 5000") == b""
    master.say(replicas[1], f"REPLCONF ACK {master.engine.replication.history.offset}")
    master.wait(5)
    assert master.hear(master.writer) == b":1\r\n"


@pytest.mark.parametrize("by_client", [False, True])
def test_wait_counts_those_who_are_still_there_when_it_ends(by_client: bool) -> None:
    master = Master()
    gone, remains = master.online(), master.online()
    master.say(master.writer, "SET k 1", "WAIT 3 5000")
    for replica in (gone, remains):
        master.say(replica, f"REPLCONF ACK {master.engine.replication.history.offset}")
    master.engine.disconnect(gone, master.now)
    assert master.hear(master.writer) == b""
    if by_client:
        assert master.say(master.connect(), f"CLIENT UNBLOCK {master.writer.id}") == b":1\r\n"
    else:
        master.wait(5)
    assert master.hear(master.writer) == b":1\r\n"


def test_nothing_is_kept_of_a_client_whose_wait_is_over() -> None:
    master, references = Master(), set[int]()
    for _ in range(3):
        assert master.say(master.writer, "WAIT 1 1000") == b""
        master.wait(1)
        assert master.hear(master.writer) == b":0\r\n"
        references.add(sys.getrefcount(master.writer))
    assert len(references) == 1


def test_wait_does_not_count_a_replica_without_its_snapshot(master: Master, snapshots: Snapshots) -> None:
    master.say(master.connect(), "PSYNC ? -1")
    assert master.say(master.writer, "WAIT 0 0") == b":0\r\n"
    assert snapshots.begun


def test_wait_depends_on_what_its_own_client_wrote() -> None:
    master = Master()
    replica = master.online()
    master.say(master.writer, "SET k 1")
    offset = master.engine.replication.history.offset
    master.say(replica, f"REPLCONF ACK {offset}")
    master.say(master.connect(), "SET k 2")
    assert master.say(master.writer, "WAIT 1 0") == b":1\r\n"


def test_wait_knows_the_offset_of_what_is_written_in_the_same_tick() -> None:
    master = Master()
    replica = master.online()
    master.say(replica, f"REPLCONF ACK {master.engine.replication.history.offset}")
    assert master.say_at_once(master.writer, "SET k 1", "WAIT 1 0") == b"+OK\r\n"
    assert master.say_at_once(master.connect(), "SET k 1", "WAIT 0 0") == b"+OK\r\n:0\r\n"


def test_writes_need_replicas_that_have_acknowledged_something_lately() -> None:
    master = Master(min_replicas_to_write="1", min_replicas_max_lag="3")
    refused = b"-NOREPLICAS Not enough good replicas to write.\r\n"
    assert master.say(master.writer, "SET k 1") == refused
    replica = master.online()
    assert master.say(master.writer, "SET k 1") == b"+OK\r\n"
    master.wait(3)
    assert master.say(master.writer, "SET k 1") == b"+OK\r\n"
    master.wait(1)
    assert master.say(master.writer, "SET k 1") == refused
    assert master.say(master.writer, "PING", "GET k", "PUBLISH a b") == b"+PONG\r\n$1\r\n1\r\n:0\r\n"
    assert "min_slaves_good_slaves:0" in master.info()
    master.say(replica, "REPLCONF ACK 0")
    master.wait(1)
    assert master.say(master.writer, "MULTI", "SET k 1", "EXEC").endswith(b"*1\r\n+OK\r\n")
    master.say(master.writer, "CONFIG SET min-replicas-to-write 2")
    assert master.say(master.writer, "SET k 1") == refused
    master.say(master.writer, "CONFIG SET min-replicas-max-lag 0")
    assert master.say(master.writer, "SET k 1") == b"+OK\r\n"
