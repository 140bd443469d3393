"""The engine without a server: the test decides the time and where requests are cut."""

import gc
import random
import tracemalloc

import pytest

from conformance.wire import encode
from miniredis.engine import Config, ConfigurationError, Engine, Instant, Session

SECOND = 1_000_000
BEGINNING = Instant(wall=1_700_000_000 * SECOND, monotonic=50 * SECOND)


class World:
    """An engine, its clients and a held clock."""

    def __init__(self, **directives: str) -> None:
        self.now = BEGINNING
        directives.setdefault("protected_mode", "no")  # the clients come from elsewhere
        self.engine = Engine(
            Config({name.replace("_", "-"): value for name, value in directives.items()}), self.now
        )

    def client(self) -> Session:
        return self.engine.connect(self.now, address="1.2.3.4:5")

    def send(self, session: Session, *lines: str) -> None:
        """Inline commands, handed over without ending the tick."""
        self.engine.receive(session, "".join(f"{line}\r\n" for line in lines).encode(), self.now)

    def settle(self) -> dict[int, bytes]:
        return {session.id: session.take_output() for session in self.engine.settle(self.now)}

    def ask(self, session: Session, *lines: str) -> bytes:
        self.send(session, *lines)
        return self.settle().get(session.id, b"")

    def wait(self, seconds: float, *, wall: float | None = None) -> dict[int, bytes]:
        microseconds = round(seconds * SECOND)
        on_the_wall = microseconds if wall is None else round(wall * SECOND)
        self.now = Instant(self.now.wall + on_the_wall, self.now.monotonic + microseconds)
        return self.settle()


@pytest.fixture
def world() -> World:
    return World(enable_debug_command="yes")


# Time


def test_a_key_lives_until_its_last_millisecond(world: World) -> None:
    a = world.client()
    world.ask(a, "SET k v PX 1000")
    world.wait(1)
    assert world.ask(a, "GET k") == b"$1\r\nv\r\n"
    world.wait(0.001)
    assert world.ask(a, "GET k", "DBSIZE") == b"$-1\r\n:0\r\n"


def test_expired_keys_are_removed_without_access(world: World) -> None:
    a = world.client()
    world.ask(a, "SET k v EX 10", "SET j v EX 20", "RPUSH l 1")
    assert world.engine.next_deadline() == BEGINNING.monotonic + 10 * SECOND + 1000
    world.wait(10.001)
    assert world.engine.keyspace.databases[0].values.keys() == {b"j", b"l"}
    world.ask(a, "PERSIST j")
    assert world.engine.next_deadline() is None


def test_many_expired_keys_are_removed_in_slices(world: World) -> None:
    a = world.client()
    world.send(a, *(f"SET k{number} v PX 1" for number in range(12)))
    world.settle()
    sizes = [len(world.engine.keyspace.databases[0])]
    world.wait(1)
    while sizes[-1] != (left := len(world.engine.keyspace.databases[0])):
        sizes.append(left)
        assert left == 0 or world.engine.next_deadline() == world.now.monotonic
        world.settle()
    assert sizes == [12, 7, 2, 0]
    assert world.ask(a, "DBSIZE") == b":0\r\n"


def test_a_slice_has_one_more_expired_key_for_each_client_that_waits(world: World) -> None:
    a, b = world.client(), world.client()
    world.send(a, *(f"SET k{number} v PX 1" for number in range(250)))
    world.settle()
    world.now = Instant(world.now.wall + 10_000, world.now.monotonic + 10_000)
    world.send(a, "PING")
    world.send(b, "PING")
    world.settle()
    assert len(world.engine.keyspace.databases[0]) == 250 - 2 - 5
    assert world.engine.next_deadline(1000) == world.now.monotonic


def test_replaced_expiry_times_are_forgotten(world: World) -> None:
    a = world.client()
    world.send(a, "SET k v", *(f"EXPIRE k {100 + number % 7}" for number in range(10_000)))
    assert len(world.engine.keyspace.expiries) < 2000
    assert world.settle()[a.id].count(b":1\r\n") == 10_000


def test_a_waiter_times_out_at_its_deadline(world: World) -> None:
    a = world.client()
    assert world.ask(a, "BLPOP k 1.5") == b""
    assert world.engine.next_deadline() == BEGINNING.monotonic + 1_500_000
    assert world.wait(1.499) == {}
    assert world.wait(0.001) == {a.id: b"*-1\r\n"}
    assert world.engine.next_deadline() is None


def test_waiters_use_the_monotonic_clock_and_keys_the_wall_clock(world: World) -> None:
    a, b = world.client(), world.client()
    world.ask(b, "SET k v EX 100")
    world.ask(a, "BLPOP l 10")
    assert world.wait(1, wall=200) == {}
    assert world.ask(b, "EXISTS k") == b":0\r\n"
    assert world.wait(9, wall=-500) == {a.id: b"*-1\r\n"}


def test_a_push_in_the_tick_of_the_timeout_wins(world: World) -> None:
    a, b = world.client(), world.client()
    world.ask(a, "BLPOP k 1")
    world.now = Instant(world.now.wall + SECOND, world.now.monotonic + SECOND)
    world.send(b, "RPUSH k v")
    assert world.settle() == {a.id: b"*2\r\n$1\r\nk\r\n$1\r\nv\r\n", b.id: b":1\r\n"}


def test_waiters_time_out_in_the_order_of_their_deadlines(world: World) -> None:
    clients = [world.client() for _ in range(5)]
    for client, seconds in zip(clients, (3, 1, 2, 1, 3), strict=True):
        world.ask(client, f"BLPOP k {seconds}")
    assert list(world.wait(10)) == [clients[index].id for index in (1, 3, 2, 0, 4)]


def test_deadlines_of_served_waiters_are_forgotten(world: World) -> None:
    a, b = world.client(), world.client()
    for _ in range(3000):
        world.ask(a, "BLPOP k 1000")
        world.ask(b, "RPUSH k v")
    assert len(world.engine.waiting.deadlines) < 2000
    assert not world.engine.keyspace.databases[0].waiters


def test_a_key_that_expires_between_push_and_serve_leaves_the_waiter_blocked(world: World) -> None:
    a, b = world.client(), world.client()
    world.ask(a, "BLPOP k 0")
    assert world.ask(b, "MULTI", "RPUSH k v", "PEXPIRE k -1", "EXEC").endswith(b"*2\r\n:1\r\n:1\r\n")
    assert a.waiter is not None
    assert world.ask(b, "EXISTS k") == b":0\r\n"


def test_a_watched_key_that_expires_aborts_the_transaction(world: World) -> None:
    a = world.client()
    world.ask(a, "SET k v EX 1", "WATCH k")
    world.wait(2)
    assert world.ask(a, "MULTI", "EXEC") == b"+OK\r\n*-1\r\n"


def test_watching_a_key_that_has_already_expired_does_not_abort_the_transaction(world: World) -> None:
    a = world.client()
    world.ask(a, "SET k v PXAT 1", "WATCH k")
    assert world.ask(a, "MULTI", "EXEC") == b"+OK\r\n*0\r\n"


def test_idle_time_restarts_with_each_use_but_not_with_object(world: World) -> None:
    a = world.client()
    world.ask(a, "SET k v", "RPUSH l a")
    world.wait(10)
    looks = ["TTL k", "TYPE k", "EXISTS k", "OBJECT ENCODING k", "PEXPIRETIME k"]
    world.ask(a, *looks)
    assert world.ask(a, "OBJECT IDLETIME k") == b":10\r\n"
    for use in ("GET k", "TOUCH k", "APPEND k x", "EXPIRE k 100", "COPY k j"):
        world.wait(5)
        world.ask(a, use)
        assert world.ask(a, "OBJECT IDLETIME k") == b":0\r\n", use
    assert world.ask(a, "OBJECT IDLETIME l") == b":35\r\n"
    assert b"lru_seconds_idle:35" in world.ask(a, "DEBUG OBJECT l")


def test_a_deleted_key_leaves_no_access_time(world: World) -> None:
    a = world.client()
    world.ask(a, "SET k v", "SET j v PX 1", "RENAME k m", "MOVE m 1", "SELECT 1", "DEL m")
    world.wait(1)
    assert not any(db.used for db in world.engine.keyspace.databases)


def test_debug_sleep_delays_all_replies_until_it_ends(world: World) -> None:
    a, b, c = world.client(), world.client(), world.client()
    world.ask(c, "BLPOP k 1")
    world.send(a, "DEBUG SLEEP 2.5", "PING")
    assert world.settle() == {}
    assert world.engine.next_deadline() == BEGINNING.monotonic + 2_500_000
    assert world.wait(2) == {}
    assert world.ask(b, "ECHO hello") == b""
    assert world.wait(0.5) == {c.id: b"*-1\r\n", a.id: b"+OK\r\n+PONG\r\n", b.id: b"$5\r\nhello\r\n"}
    assert world.ask(a, "DEBUG SLEEP 0", "DEBUG SLEEP x", "DEBUG SLEEP -1") == b"+OK\r\n" * 3


def test_without_active_expiry_keys_expire_on_access(world: World) -> None:
    a = world.client()
    assert world.ask(a, "DEBUG SET-ACTIVE-EXPIRE 0", "SET k v PX 5", "SET j v PX 5") == b"+OK\r\n" * 3
    assert world.engine.next_deadline() is None
    world.wait(1)
    assert world.ask(a, "DBSIZE", "GET k", "DBSIZE") == b":2\r\n$-1\r\n:1\r\n"
    world.ask(a, "DEBUG SET-ACTIVE-EXPIRE 1")
    assert world.ask(a, "DBSIZE") == b":0\r\n"


def test_client_pause_ends_on_time(world: World) -> None:
    a, b = world.client(), world.client()
    assert world.ask(a, "SET e v PX 10", "CLIENT PAUSE 1000") == b"+OK\r\n+OK\r\n"
    assert world.ask(a, "PING") == world.ask(b, "SET k v", "GET k") == b""
    assert world.engine.next_deadline() == BEGINNING.monotonic + SECOND
    assert world.wait(0.999) == {}
    assert len(world.engine.keyspace.databases[0]) == 1
    assert world.wait(0.001) == {a.id: b"+PONG\r\n", b.id: b"+OK\r\n$1\r\nv\r\n"}
    assert world.engine.conditions.pause is None


def test_waiters_time_out_during_a_client_pause(world: World) -> None:
    a, b = world.client(), world.client()
    world.ask(a, "BLPOP k 1")
    world.ask(b, "CLIENT PAUSE 5000")
    assert world.wait(1) == {a.id: b"*-1\r\n"}


def test_client_unblock_does_not_free_a_paused_client(world: World) -> None:
    """A real 7.0.15 crashes here."""
    a, b = world.client(), world.client()
    world.ask(a, "CLIENT PAUSE 1000 WRITE")
    world.ask(b, "SET k v")
    assert world.ask(a, f"CLIENT UNBLOCK {b.id}") == b":0\r\n"
    assert world.wait(1) == {b.id: b"+OK\r\n"}


def test_a_transaction_with_client_pause_can_set_a_key_that_has_expired(world: World) -> None:
    """A real 7.0.15 crashes here: it keeps what has expired while it is paused, and adds it once more."""
    a = world.client()
    world.ask(a, "DEBUG SET-ACTIVE-EXPIRE 0", "SET k v PX 5")
    world.wait(1)
    world.ask(a, "MULTI", "CLIENT PAUSE 1000 WRITE", "SET k w")
    assert world.ask(a, "EXEC") == b"*2\r\n+OK\r\n+OK\r\n"
    world.wait(1)
    assert world.ask(a, "GET k", "DBSIZE") == b"$1\r\nw\r\n:1\r\n"


def test_monitor_shows_the_time_and_the_address_of_a_command(world: World) -> None:
    a, b = world.client(), world.client()
    assert world.ask(b, "MONITOR") == b"+OK\r\n"
    world.wait(1.5)
    world.send(a, "SET k v")
    line = b'+1700000001.500000 [0 1.2.3.4:5] "SET" "k" "v"\r\n'
    assert world.settle() == {a.id: b"+OK\r\n", b.id: line}
    world.engine.disconnect(b, world.now)
    assert not world.engine.conditions.monitors


# Ticks


def test_an_unblocked_client_runs_its_next_commands_at_the_end_of_the_tick(world: World) -> None:
    a, b, c = world.client(), world.client(), world.client()
    world.send(a, "BLPOP k 0", "RPUSH log a")
    world.send(b, "RPUSH k v", "RPUSH log b")
    world.send(c, "RPUSH log c")
    assert world.settle().keys() == {a.id, b.id, c.id}
    assert world.ask(c, "LRANGE log 0 -1") == b"*3\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\na\r\n"


def test_a_client_that_disconnects_while_blocked_takes_no_element(world: World) -> None:
    a, b, c = world.client(), world.client(), world.client()
    world.ask(a, "BLPOP k j 0")
    world.ask(b, "BLPOP k 0")
    world.engine.disconnect(a, world.now)
    world.send(c, "RPUSH k v", "EXISTS k j")
    assert world.settle() == {b.id: b"*2\r\n$1\r\nk\r\n$1\r\nv\r\n", c.id: b":1\r\n:0\r\n"}


def test_a_disconnected_client_watches_no_keys(world: World) -> None:
    a = world.client()
    world.ask(a, "WATCH k j")
    world.engine.disconnect(a, world.now)
    assert not world.engine.keyspace.databases[0].watchers


def test_clients_beyond_maxclients_get_an_error() -> None:
    small = World(maxclients="2")
    first, _, third = small.client(), small.client(), small.client()
    assert small.settle() == {third.id: b"-ERR max number of clients reached\r\n"}
    assert third.closing
    small.engine.disconnect(first, small.now)
    assert not small.client().closing


def test_a_blocked_client_that_sends_too_much_is_disconnected() -> None:
    world = World(client_query_buffer_limit="1048576")
    a = world.client()
    world.ask(a, "BLPOP k 0")
    for _ in range(17):
        world.engine.receive(a, b"x" * 65536, world.now)
    assert a.closing
    assert not world.engine.keyspace.databases[0].waiters
    assert world.ask(world.client(), "PING") == b"+PONG\r\n"


def test_the_same_bytes_at_the_same_times_give_the_same_replies() -> None:
    def run() -> list[bytes]:
        world, random_numbers = World(), random.Random(7)  # noqa: S311
        clients = [world.client() for _ in range(4)]
        commands = [
            "RPUSH k 1 2",
            "BLPOP k j 0.5",
            "LPOP k",
            "BLMOVE k j LEFT RIGHT 1",
            "INFO server",
            "DEL k",
        ]
        heard: list[bytes] = []
        for _ in range(500):
            world.send(random_numbers.choice(clients), random_numbers.choice(commands))
            heard += world.wait(random_numbers.random() / 4).values()
        return heard

    assert run() == run()


# Memory


@pytest.mark.parametrize(
    "words",
    [
        ["CONFIG", "SET", "maxmemory"],
        ["CONFIG", "SET"],
        ["RESTORE", "new", "0"],
        ["FUNCTION", "RESTORE"],
        ["FUNCTION", "LOAD"],
        ["EXPIRE", "k"],
        ["BLPOP", "k"],
        ["XADD", "s", "1-1", "f"],
        ["NOSUCH"],
        ["CLIENT"],
    ],
    ids=" ".join,
)
def test_a_request_that_got_an_error_is_not_kept_in_memory(words: list[str], world: World) -> None:
    """Whether or not Python collects garbage: large requests are few objects, so it seldom would."""
    a, size = world.client(), 1 << 20
    world.ask(a, "SET s v")

    def ask() -> int:
        world.engine.receive(a, encode(*words, "x" * size), world.now)
        assert world.settle()[a.id].startswith(b"-")
        return tracemalloc.get_traced_memory()[0]

    gc.disable()
    tracemalloc.start()
    try:
        before = ask()
        assert max(ask() for _ in range(4)) < before + size
    finally:
        tracemalloc.stop()
        gc.enable()


# Directives


def test_unknown_directives_and_values_are_refused() -> None:
    for name, value in [
        ("nosuch", "1"),
        ("port", "x"),
        ("port", "70000"),
        ("tls-cluster", "yes"),
        ("save", "1"),
    ]:
        with pytest.raises(ConfigurationError):
            Config({name: value})
    assert (
        Config({"appendonly": "no", "save": "", "proto-max-bulk-len": "1mb"})["proto-max-bulk-len"]
        == "1048576"
    )
