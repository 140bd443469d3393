"""The link to a master without a socket, in an engine whose time the test moves."""

from __future__ import annotations

import time

import pytest

from conformance.wire import encode
from miniredis.engine import Config, Engine, Environment, Instant
from miniredis.engine.clients.session import Session
from miniredis.engine.keyspace.keyspace import Keyspace
from miniredis.engine.replication.link import LinkState
from miniredis.engine.replication.upstream import Address

from .masters import MARK, NAME, snapshot_of

SECOND = 1_000_000
MASTER = Address("example.org", 6379)


class FakeLink:
    """Keeps what the engine asks for."""

    def __init__(self) -> None:
        self.target: tuple[str, int] | None = None
        self.opened = 0
        self.sent = b""
        self.logged: list[str] = []

    def open(self, host: str, port: int) -> None:
        self.target, self.opened = (host, port), self.opened + 1

    def close(self) -> None:
        self.target = None

    def send(self, data: bytes) -> None:
        self.sent += data

    def info(self, text: str) -> None:
        self.logged.append(text)

    def warn(self, text: str) -> None:
        self.logged.append(text)

    def take(self) -> bytes:
        """What was sent since the last time."""
        sent, self.sent = self.sent, b""
        return sent


class Replica:
    """An engine with a link that is no connection."""

    def __init__(self, **directives: str) -> None:
        self.now = Instant(1_700_000_000 * SECOND, 0)
        self.link = FakeLink()
        config = Config({name.replace("_", "-"): value for name, value in directives.items()})
        self.engine = Engine(config, self.now, environment=Environment(link=self.link))
        self.upstream = self.engine.replication.upstream
        self.client: Session = self.engine.connect(self.now)
        self.engine.replication.tell_upstream(self.now, self.upstream.resume)

    def ask(self, *words: str) -> bytes:
        self.engine.receive(self.client, encode(*words), self.now)
        self.engine.settle(self.now)
        return self.client.take_output()

    def say(self, data: bytes) -> None:
        """The master says something."""
        self.engine.replication.tell_upstream(self.now, self.upstream.link.receive, data)
        while self.upstream.link.is_loading:
            self.upstream.link.load()
        self.engine.settle(self.now)

    def wait(self, seconds: float) -> None:
        """Time passes, and what falls due on the way is done."""
        end = self.now.monotonic + int(seconds * SECOND)
        while (due := self.engine.next_deadline()) is not None and due <= end:
            self.move_to(max(due, self.now.monotonic))
        self.move_to(end)

    def move_to(self, monotonic: int) -> None:
        self.now = Instant(self.now.wall + monotonic - self.now.monotonic, monotonic)
        self.engine.settle(self.now)

    def shake_hands(self) -> None:
        self.engine.replication.tell_upstream(self.now, self.upstream.link.connected, "here:1", 5)
        self.say(b"+PONG\r\n+OK\r\n+OK\r\n")

    def come_up(self, offset: int = 0, content: bytes | None = None) -> None:
        """Goes through all states, with all data."""
        self.shake_hands()
        content = snapshot_of({}) if content is None else content
        self.say(b"+FULLRESYNC %b %d\r\n$%d\r\n%b" % (NAME, offset, len(content), content))
        assert self.upstream.link.state is LinkState.CONNECTED
        self.link.take()


@pytest.fixture
def replica() -> Replica:
    return Replica(replicaof="example.org 6379")


def ack(offset: int) -> bytes:
    return encode("REPLCONF", "ACK", str(offset))


def test_a_server_that_starts_as_a_replica_connects_at_once_and_has_nothing_to_go_on_from(
    replica: Replica,
) -> None:
    assert (replica.upstream.address, replica.link.target) == (MASTER, MASTER)
    replica.shake_hands()
    assert replica.link.take().endswith(encode("PSYNC", "?", "-1"))


def test_a_failed_connection_is_tried_again_a_second_later(replica: Replica) -> None:
    for attempt in range(1, 4):
        assert replica.link.opened == attempt
        replica.engine.replication.tell_upstream(
            replica.now, replica.upstream.link.lost, "Connection refused"
        )
        assert (replica.link.target, replica.upstream.link.state) == (None, LinkState.CONNECT)
        replica.wait(0.999)
        assert replica.link.opened == attempt
        replica.wait(0.001)
    assert replica.link.logged.count("Error condition on socket for SYNC: Connection refused") == 3


@pytest.mark.parametrize("state", list(LinkState)[1:])
def test_a_master_that_is_silent_for_too_long_is_given_up_in_each_state(state: LinkState) -> None:
    replica = Replica(replicaof="example.org 6379", repl_timeout="5")
    if state is not LinkState.CONNECTING:
        replica.shake_hands() if state is not LinkState.CONNECTED else replica.come_up()
    if state is LinkState.SYNC:
        replica.say(b"+FULLRESYNC %b 0\r\n$10\r\n" % NAME)
    assert replica.upstream.link.state is state
    replica.wait(5.9)
    assert (replica.upstream.link.state, replica.link.opened) == (state, 1)
    replica.wait(0.1)
    assert replica.link.opened == 2
    assert any("imeout" in line for line in replica.link.logged)


def test_signs_of_life_keep_a_link(replica: Replica) -> None:
    replica.shake_hands()
    for _ in range(5):
        replica.wait(50)
        replica.say(b"\n")
    replica.say(b"+FULLRESYNC %b 0\r\n" % NAME)
    for _ in range(5):
        replica.wait(50)
        replica.say(b"\n")
    assert replica.link.opened == 1


def test_the_offset_is_acknowledged_each_second(replica: Replica) -> None:
    replica.come_up(offset=7)
    assert replica.link.take() == b""
    replica.wait(3)
    assert replica.link.take() == ack(7) * 3
    ping = encode("PING")
    replica.say(ping)
    replica.wait(1)
    assert replica.link.take() == ack(7 + len(ping))


def test_a_snapshot_is_acknowledged_at_once(replica: Replica) -> None:
    replica.shake_hands()
    replica.link.take()
    content = snapshot_of({})
    replica.say(b"+FULLRESYNC %b 7\r\n$%d\r\n%b" % (NAME, len(content), content))
    assert replica.link.take() == ack(7)


def test_the_stream_may_begin_in_the_bytes_that_end_the_snapshot(replica: Replica) -> None:
    replica.shake_hands()
    content, stream = snapshot_of({b"k": b"v"}), encode("SET", "other", "w")
    replica.say(b"+FULLRESYNC %b 0\r\n$EOF:%b\r\n%b%b" % (NAME, MARK, content, MARK) + stream + stream[:5])
    assert replica.ask("MGET", "k", "other") == b"*2\r\n$1\r\nv\r\n$1\r\nw\r\n"
    assert replica.upstream.link.session is not None
    assert (replica.upstream.link.session.applied, replica.upstream.link.session.received) == (
        len(stream), len(stream) + 5,
    )  # fmt: skip


def test_bytes_are_counted_wherever_the_stream_is_cut() -> None:
    stream = b"".join(
        encode(*words)
        for words in [
            ("SELECT", "2"), ("MULTI",), ("SET", "a", "\r\n$1"), ("LPUSH", "l", *("x" * 40,) * 12), ("EXEC",),
            ("SET", "large", "y" * 40_000), ("PING",), ("DEL", "a"),
        ]
    )  # fmt: skip
    ends = [
        stream.index(word)
        for word in (b"*1\r\n$5\r\nMULTI", b"*3\r\n$3\r\nSET\r\n$5\r\nlarge", b"*1\r\n$4\r\nPING")
    ]
    ends += [ends[-1] + len(encode("PING")), len(stream)]
    for cut in [*range(1, 700, 3), *range(ends[1] + 30_000, ends[1] + 30_003), *range(ends[2], len(stream))]:
        replica = Replica(replicaof="example.org 6379")
        replica.come_up()
        replica.say(stream[:cut])
        applied = max((end for end in ends if end <= cut), default=0)
        assert replica.engine.replication.history.offset == applied, cut
        assert replica.engine.replication.history.since(1) == stream[:applied]
        replica.say(stream[cut:])
        assert replica.engine.replication.history.since(1) == stream


def test_a_link_that_ends_begins_again_behind_what_was_applied(replica: Replica) -> None:
    replica.come_up(offset=100)
    whole, half = encode("INCR", "n"), encode("INCR", "n")[:9]
    replica.say(whole + half)
    replica.engine.replication.tell_upstream(replica.now, replica.upstream.link.lost, "closed")
    assert replica.link.opened == 2
    replica.shake_hands()
    assert replica.link.take().endswith(encode("PSYNC", NAME.decode(), str(101 + len(whole))))
    replica.say(b"+CONTINUE\r\n" + whole)
    assert replica.ask("GET", "n") == b"$1\r\n2\r\n"


def test_a_stream_whose_offset_is_not_known_is_not_acknowledged_and_not_gone_on_with(
    replica: Replica,
) -> None:
    replica.shake_hands()
    content = snapshot_of({b"k": b"v"})
    replica.link.take()
    replica.say(b"+FULLRESYNC what\r\n$%d\r\n%b" % (len(content), content))
    replica.wait(2)
    assert replica.link.take() == b""
    replica.engine.replication.tell_upstream(replica.now, replica.upstream.link.lost, "closed")
    replica.shake_hands()
    assert replica.link.take().endswith(encode("PSYNC", "?", "-1"))


def test_a_reply_without_an_end_is_given_up(replica: Replica) -> None:
    replica.engine.replication.tell_upstream(replica.now, replica.upstream.link.connected, "here:1", 5)
    replica.say(b"x" * 2000)
    assert (replica.upstream.link.state, replica.link.target) == (LinkState.CONNECT, None)


def test_an_unexpected_error_in_the_stream_ends_the_link_and_all_data_come_again(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica.come_up()

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(replica.engine.keyspace.databases[0], "store", fail)
    replica.say(encode("SET", "k", "v"))
    (fault,) = replica.engine.take_faults()
    assert isinstance(fault[1], ZeroDivisionError)
    assert replica.link.opened == 2
    replica.shake_hands()
    assert replica.link.take().endswith(encode("PSYNC", "?", "-1"))


def test_a_link_that_is_given_up_while_it_loads_changes_nothing(replica: Replica) -> None:
    replica.shake_hands()
    content = snapshot_of({b"%d" % number: b"v" for number in range(100)})
    head = b"+FULLRESYNC %b 0\r\n$%d\r\n" % (NAME, len(content))
    replica.engine.replication.tell_upstream(replica.now, replica.upstream.link.receive, head + content)
    assert replica.upstream.link.load()
    assert b"master_sync_in_progress:1" in replica.ask("INFO", "replication")
    assert replica.ask("REPLICAOF", "NO", "ONE") == b"+OK\r\n"
    assert not replica.upstream.link.load()
    assert replica.ask("DBSIZE") == b":0\r\n"


def test_a_master_hears_a_sign_of_life_each_second_while_its_snapshot_is_loaded(replica: Replica) -> None:
    replica.shake_hands()
    content = snapshot_of({b"%d" % number: b"v" for number in range(100)})
    head = b"+FULLRESYNC %b 0\r\n$%d\r\n" % (NAME, len(content))
    replica.engine.replication.tell_upstream(replica.now, replica.upstream.link.receive, head + content)
    replica.link.take()
    for _ in range(3):
        replica.move_to(replica.now.monotonic + SECOND)
        replica.upstream.link.load()
    assert replica.link.take() == b"\n\n\n"


def test_a_busy_script_holds_the_stream_up(replica: Replica) -> None:
    replica.come_up()
    replica.engine.conditions.set_busy(True)
    replica.say(encode("SET", "k", "v"))
    assert replica.engine.replication.history.offset == 0
    replica.engine.conditions.set_busy(False)
    replica.engine.settle(replica.now)
    assert replica.engine.replication.history.offset == len(encode("SET", "k", "v"))
    assert replica.ask("GET", "k") == b"$1\r\nv\r\n"


def test_a_master_may_write_where_nobody_else_may(replica: Replica) -> None:
    replica.come_up()
    replica.engine.conditions.set_disk_error(OSError(28, "No space left on device"))
    replica.say(encode("SET", "k", "v"))
    assert replica.ask("GET", "k") == b"$1\r\nv\r\n"


def test_what_a_replica_was_used_for_is_known_after_the_stream(replica: Replica) -> None:
    replica.come_up()
    replica.say(encode("SET", "k", "v"))
    assert replica.ask("OBJECT", "IDLETIME", "k") == b":0\r\n"


def test_a_key_that_has_expired_stays_on_a_read_only_replica_also_for_who_would_change_it() -> None:
    """Clients that wait are served by such a lookup, also where a snapshot brought the key."""
    for is_read_only in (True, False):
        keyspace = Keyspace(1)
        keyspace.milliseconds = keyspace.wall = 1000
        keyspace.is_read_only = is_read_only
        (db,) = keyspace.databases
        db.values[b"k"], db.deadlines[b"k"] = b"v", 999
        assert db.lookup_write(b"k") is None
        assert (b"k" in db.values) == is_read_only


SIGNS = 1 << 14
"""How many signs of life a master sends."""


@pytest.mark.parametrize("before", [b"", b"+FULLRESYNC %b 0\r\n" % NAME], ids=["psync", "snapshot"])
def test_signs_of_life_cost_as_much_as_there_are(before: bytes) -> None:
    def seconds(count: int) -> float:
        replica = Replica(replicaof=str(MASTER).replace(":", " "))
        replica.shake_hands()
        replica.say(before)
        start = time.thread_time()
        replica.say(b"\n" * count)
        return time.thread_time() - start

    few = sorted(seconds(SIGNS) for _ in range(3))[1]
    assert any(seconds(16 * SIGNS) < 64 * few for _ in range(3))  # quadratic time would be 256 times


def test_a_command_that_comes_in_many_parts_costs_as_much_as_there_are() -> None:
    def seconds(count: int) -> float:
        replica = Replica(replicaof=str(MASTER).replace(":", " "))
        replica.come_up()
        data = encode("RPUSH", "l", *["x"] * count)
        start = time.thread_time()
        for at in range(0, len(data), 512):
            replica.say(data[at : at + 512])
        taken = time.thread_time() - start
        assert replica.ask("LLEN", "l") == b":%d\r\n" % count
        return taken

    few = sorted(seconds(4000) for _ in range(3))[1]
    assert any(seconds(64_000) < 64 * few for _ in range(3))  # quadratic time would be 256 times
