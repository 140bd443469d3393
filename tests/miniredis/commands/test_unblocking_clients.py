"""CLIENT UNBLOCK, CLIENT KILL and lost connections end a blocking command, on both servers."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from conformance.wire import Hangup, RawConnection

from ...waiting import until
from ..engine.test_engine import World

BLOCKING = [
    ["BLPOP", "k", "0"],
    ["BRPOP", "k", "j", "0"],
    ["BLMOVE", "k", "j", "LEFT", "LEFT", "0"],
    ["BRPOPLPUSH", "k", "j", "0"],
    ["BLMPOP", "0", "1", "k", "LEFT"],
]
NAMES = [words[0] for words in BLOCKING]


class Room:
    """Some clients of one server, and one that looks on."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.clients: list[RawConnection] = []
        self.control = self.client()

    def client(self) -> RawConnection:
        self.clients.append(RawConnection(*self.address))
        return self.clients[-1]

    def number(self, client: RawConnection) -> str:
        return client.command("CLIENT", "ID").decode()[1:].strip()

    def block(self, client: RawConnection, *words: str) -> str:
        """Blocks a client; returns its number."""
        number = self.number(client)
        before = self.blocked()
        client.send(*words)
        self.until_blocked(before + 1)
        return number

    def blocked(self) -> int:
        info = self.control.command("INFO", "clients").decode()
        return int(info.partition("\r\nblocked_clients:")[2].partition("\r\n")[0])

    def until_blocked(self, count: int) -> None:
        until(lambda: self.blocked() == count, f"{count} clients are blocked")


@pytest.fixture
def room(empty_address: tuple[str, int]) -> Iterator[Room]:
    room = Room(empty_address)
    yield room
    for client in room.clients:
        client.close()


@pytest.mark.usefixtures("as_redis_7_0")
@pytest.mark.parametrize("words", BLOCKING, ids=NAMES)
def test_client_unblock_ends_a_blocking_command_as_if_timed_out(room: Room, words: list[str]) -> None:
    client = room.client()
    number = room.block(client, *words)
    assert room.control.command("CLIENT", "UNBLOCK", number) == b":1\r\n"
    assert client.reply() == b"*-1\r\n"
    assert room.control.command("CLIENT", "UNBLOCK", number) == b":0\r\n"


@pytest.mark.usefixtures("as_redis_7_0")
@pytest.mark.parametrize("words", BLOCKING, ids=NAMES)
def test_client_unblock_can_end_a_blocking_command_with_an_error(room: Room, words: list[str]) -> None:
    client = room.client()
    number = room.block(client, *words)
    assert room.control.command("CLIENT", "UNBLOCK", number, "error") == b":1\r\n"
    assert client.reply() == b"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"


def test_client_unblock_replies_null_to_the_blocked_client_in_resp3(room: Room) -> None:
    client = room.client()
    client.command("HELLO", "3")
    number = room.block(client, "BLPOP", "k", "0")
    room.control.command("CLIENT", "UNBLOCK", number)
    assert client.reply() == b"_\r\n"


def test_unblock_of_wait_answers_how_many_replicas_there_are(room: Room) -> None:
    client = room.client()
    number = room.block(client, "WAIT", "1", "0")
    assert room.control.command("CLIENT", "UNBLOCK", number, "TIMEOUT") == b":1\r\n"
    assert client.reply() == b":0\r\n"
    number = room.block(client, "WAIT", "1", "0")
    room.control.command("CLIENT", "UNBLOCK", number, "ERROR")
    assert client.reply() == b"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"


def test_wait_returns_the_number_of_replicas_at_its_timeout(room: Room) -> None:
    assert room.control.command("WAIT", "1", "10") == b":0\r\n"


def test_push_and_unblock_in_one_transaction_leaves_the_element(room: Room) -> None:
    client = room.client()
    number = room.block(client, "BLPOP", "k", "0")
    for words in (["MULTI"], ["RPUSH", "k", "v"], ["CLIENT", "UNBLOCK", number]):
        room.control.command(*words)
    assert room.control.command("EXEC") == b"*2\r\n:1\r\n:1\r\n"
    assert client.reply() == b"*-1\r\n"
    assert room.control.command("LRANGE", "k", "0", "-1") == b"*1\r\n$1\r\nv\r\n"


def test_an_unblocked_client_runs_the_commands_it_sent_while_blocked(room: Room) -> None:
    client = room.client()
    number = room.block(client, "BLPOP", "k", "0")
    client.send("ECHO", "after")
    room.control.command("CLIENT", "UNBLOCK", number)
    assert client.reply() == b"*-1\r\n"
    assert client.reply() == b"$5\r\nafter\r\n"


def test_a_killed_waiter_loses_its_place(room: Room) -> None:
    first, second = room.client(), room.client()
    number = room.block(first, "BLPOP", "k", "0")
    room.block(second, "BLPOP", "k", "0")
    assert room.control.command("CLIENT", "KILL", "ID", number) == b":1\r\n"
    with pytest.raises(Hangup):
        first.reply()
    assert room.control.command("RPUSH", "k", "v") == b":1\r\n"
    assert second.reply() == b"*2\r\n$1\r\nk\r\n$1\r\nv\r\n"


def test_push_and_kill_in_one_transaction_leaves_the_element(room: Room) -> None:
    client = room.client()
    number = room.block(client, "BLPOP", "k", "0")
    for words in (["MULTI"], ["RPUSH", "k", "v"], ["CLIENT", "KILL", "ID", number]):
        room.control.command(*words)
    assert room.control.command("EXEC") == b"*2\r\n:1\r\n:1\r\n"
    with pytest.raises(Hangup):
        client.reply()
    assert room.control.command("LLEN", "k") == b":1\r\n"


def test_a_waiter_that_half_closes_its_connection_loses_its_place(room: Room) -> None:
    first, second = room.client(), room.client()
    room.block(first, "BLPOP", "k", "0")
    room.block(second, "BLPOP", "k", "0")
    first.socket.shutdown(socket.SHUT_WR)
    room.until_blocked(1)
    room.control.command("RPUSH", "k", "v")
    assert second.reply() == b"*2\r\n$1\r\nk\r\n$1\r\nv\r\n"


def test_unblock_refuses_bad_arguments(room: Room) -> None:
    ask = room.control.command
    assert ask("CLIENT", "UNBLOCK", "999999") == b":0\r\n"
    assert ask("CLIENT", "UNBLOCK", "x") == b"-ERR value is not an integer or out of range\r\n"
    assert (
        ask("CLIENT", "UNBLOCK", "1", "FOO") == b"-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR\r\n"
    )
    assert (
        ask("CLIENT", "UNBLOCK", "x", "FOO") == b"-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR\r\n"
    )


def test_a_paused_client_counts_as_blocked_and_unblock_does_not_free_it(room: Room) -> None:
    client = room.client()
    room.control.command("CLIENT", "PAUSE", "100000", "WRITE")
    number = room.block(client, "SET", "k", "v")
    lines = room.control.command("CLIENT", "LIST", "ID", number).decode().split()
    assert {"flags=b", "cmd=set"} <= set(lines)
    assert room.control.command("CLIENT", "UNBLOCK", number, "ERROR") == b":1\r\n"
    assert client.reply() == b"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"
    assert room.control.command("EXISTS", "k") == b":0\r\n"
    assert room.control.command("CLIENT", "UNPAUSE") == b"+OK\r\n"
    assert client.reply() == b"+OK\r\n"


def test_client_pause_without_a_mode_ends_at_its_timeout(room: Room) -> None:
    client = room.client()
    room.block(client, "BLPOP", "k", "0")
    assert room.control.command("CLIENT", "PAUSE", "20") == b"+OK\r\n"
    assert room.control.command("RPUSH", "k", "v") == b":1\r\n"
    assert client.reply() == b"*2\r\n$1\r\nk\r\n$1\r\nv\r\n"


def test_a_shorter_pause_does_not_shorten_a_longer_one(room: Room) -> None:
    client = room.client()
    room.control.command("CLIENT", "PAUSE", "100000", "WRITE")
    room.control.command("CLIENT", "PAUSE", "1", "WRITE")
    room.control.command("CLIENT", "PAUSE", "0", "WRITE")
    room.block(client, "SET", "k", "v")
    room.control.command("CLIENT", "UNPAUSE")
    assert client.reply() == b"+OK\r\n"


READS_GROUP = ["XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "x", ">"]
COUNTED = [
    (["BLPOP", "k", "0"], [], (1, 0), ""),
    (["BLPOP", "k", "0"], ["LPUSH", "k", "v"], (1, 0), ""),
    (["BLPOP", "k", "0"], ["CLIENT", "UNBLOCK", "<id>"], (1, 1), ""),
    (["BLPOP", "k", "0"], ["CLIENT", "UNBLOCK", "<id>", "ERROR"], (1, 1), "UNBLOCKED"),
    (["BLMOVE", "k", "text", "LEFT", "LEFT", "0"], ["LPUSH", "k", "v"], (1, 1), "WRONGTYPE"),
    (READS_GROUP, ["XGROUP", "DESTROY", "x", "g"], (1, 1), "NOGROUP"),
    (READS_GROUP, ["DEL", "x"], (1, 1), "UNBLOCKED"),
    (READS_GROUP, ["FLUSHALL"], (1, 1), "UNBLOCKED"),
]


@pytest.mark.usefixtures("as_redis_7_0")
@pytest.mark.parametrize(
    ("blocks", "ends", "calls", "error"), COUNTED, ids=[f"{row[0][0]} {' '.join(row[1])}" for row in COUNTED]
)
def test_info_counts_a_blocking_command_when_it_blocks_and_its_error_when_it_ends(
    room: Room, blocks: list[str], ends: list[str], calls: tuple[int, int], error: str
) -> None:
    ask = room.control.command
    ask("SET", "text", "v")
    ask("XGROUP", "CREATE", "x", "g", "$", "MKSTREAM")
    ask("CONFIG", "RESETSTAT")
    client = room.client()
    number = room.block(client, *blocks)
    if ends:
        ask(*(number if word == "<id>" else word for word in ends))
        assert client.reply().startswith(f"-{error}".encode() if error else (b"*-1", b"*2"))
    told = ask("INFO", "commandstats").decode().partition(f"cmdstat_{blocks[0].lower()}:")[2].splitlines()[0]
    stats = dict(part.split("=") for part in told.split(","))
    assert (int(stats["calls"]), int(stats["failed_calls"])) == calls
    counts = ask("INFO", "errorstats").decode().splitlines()[2:]
    assert [line for line in counts if line] == ([f"errorstat_{error}:count=1"] if error else [])
    assert f"\r\ntotal_error_replies:{int(bool(error))}\r\n" in ask("INFO", "stats").decode()


def test_a_client_whose_script_waits_for_its_turn_is_not_unblocked() -> None:
    world = World()
    client, other = world.client(), world.client()
    request = b"EVAL 'return 1' 0\r\n"
    world.engine.receive_and_defer_scripts(client, request, world.now)  # as a thread that ticks for others
    assert world.ask(other, f"CLIENT UNBLOCK {client.id} ERROR") == b":0\r\n"
    world.engine.run_deferred(client, b"", world.now)
    replies = world.ask(client, "PING").splitlines()  # this engine runs no scripts
    assert [each.split(maxsplit=1)[0] for each in replies] == [b"-ERR", b"+PONG"]
