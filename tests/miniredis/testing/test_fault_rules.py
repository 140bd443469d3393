"""Faults on demand, for clients over sockets and without, on both loops."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

import miniredis
from miniredis import faults
from tests.cases import for_each

from ...waiting import until

Connect = Callable[..., Any]


@pytest.fixture(params=["poll", "streams"])
def server(request: pytest.FixtureRequest) -> Iterator[miniredis.EmbeddedServer]:
    with miniredis.start(clock="held", loop=request.param) as server:
        yield server


@pytest.fixture(params=["tcp", "in-process"])
def connect(request: pytest.FixtureRequest, server: miniredis.EmbeddedServer) -> Iterator[Connect]:
    """Makes clients that do not try anything twice, unless they are told to."""
    made: list[redis.Redis] = []

    def client(**options: Any) -> redis.Redis:
        options.setdefault("retry", Retry(NoBackoff(), 0))
        if request.param == "tcp":
            made.append(redis.Redis(host=server.host, port=server.port, **options))
        else:
            made.append(server.client(**options))
        return made[-1]

    yield client
    for each in made:
        each.close()


def test_an_error_comes_in_place_of_the_reply_and_the_command_does_not_run(
    server: Any, connect: Connect
) -> None:
    client = connect()
    with server.faults.add(command="rpush", then="LOADING Redis is loading the dataset in memory") as rule:
        with pytest.raises(redis.BusyLoadingError, match="is loading"):
            client.rpush("jobs", "a")
        assert client.llen("jobs") == 0
    assert rule.met == 1
    assert client.rpush("jobs", "a") == 1


def test_a_rule_spares_some_then_meets_some(server: Any, connect: Connect) -> None:
    client = connect()
    rule = server.faults.add(command="PING", after=2, times=1, then="ERR no")
    outcomes = []
    for _ in range(5):
        try:
            outcomes.append(client.ping())
        except redis.ResponseError:
            outcomes.append(None)
    assert outcomes == [True, True, None, True, True]
    assert [each.met for each in server.faults] == [rule.met] == [1]


def test_a_rule_is_about_a_key_a_client_or_a_subcommand(server: Any, connect: Connect) -> None:
    client, other = connect(client_name="guilty"), connect()
    server.faults.add(key="jobs:*", client="guilty", then="ERR no")
    server.faults.add(command="client id", then="ERR no id")
    with pytest.raises(redis.ResponseError, match="no"):
        client.mget("a", "jobs:1")
    assert client.get("a") is other.get("jobs:1") is None
    assert other.client_getname() is None
    with pytest.raises(redis.ResponseError, match="no id"):
        other.client_id()


def test_a_request_whose_keys_cannot_be_found_does_not_meet_a_rule_about_a_key(
    server: Any, connect: Connect
) -> None:
    client = connect()
    server.faults.add(key="jobs", then="ERR on demand")
    for words in (["GET"], ["ZUNIONSTORE", "a", "9", "jobs"], ["EVAL", "return 1"]):
        with pytest.raises(redis.ResponseError, match=r"wrong number|syntax error"):
            client.execute_command(*words)


def test_chance_is_the_same_for_the_same_seed(server: Any, connect: Connect) -> None:
    client = connect()

    def outcomes(seed: int) -> list[bool]:
        found = []
        with server.faults.add(command="GET", probability=0.5, seed=seed, then="ERR no"):
            for _ in range(40):
                try:
                    found.append(client.get("k") is None)
                except redis.ResponseError:
                    found.append(False)
        return found

    assert outcomes(1) == outcomes(1) != outcomes(2)
    assert 5 < sum(outcomes(1)) < 35


@pytest.mark.parametrize(
    ("then", "length"), [(faults.cut("before"), 0), (faults.cut("middle"), 1), (faults.lose_reply(), 1)]
)
def test_a_client_loses_its_connection_before_or_after_the_command_ran(
    server: Any, connect: Connect, then: faults.Fault, length: int
) -> None:
    client, other = connect(), connect()
    with server.faults.add(command="rpush", then=then), pytest.raises(redis.ConnectionError):
        client.rpush("jobs", "a")
    assert other.llen("jobs") == length


def test_a_connection_that_is_cut_after_the_reply_has_given_it(server: Any, connect: Connect) -> None:
    client = connect()
    server.faults.add(command="incrby", then=faults.cut("after"))
    assert client.incrby("n", 1) == 1
    until(lambda: not server._runner.engine.sessions, "the server has hung up")


def test_replies_before_the_one_that_is_lost_arrive(server: Any) -> None:
    with miniredis_socket(server) as sock:
        server.faults.add(command="incr", after=1, then=faults.lose_reply())
        sock.sendall(b"INCR n\r\nINCR n\r\nINCR n\r\n")
        assert read_all(sock) == b":1\r\n"
    with server.client() as client:
        assert client.get("n") == b"2"


def test_half_a_reply_is_half_of_its_bytes(server: Any) -> None:
    with miniredis_socket(server) as sock, server.client() as client:
        client.set("k", "0123456789")
        server.faults.add(command="get", then=faults.cut("middle"))
        sock.sendall(b"GET k\r\n")
        assert read_all(sock) == b"$10\r\n0123"[:8]


def test_a_reply_that_is_lost_in_silence_leaves_the_connection(server: Any) -> None:
    with miniredis_socket(server) as sock:
        server.faults.add(command="incr", times=1, then=faults.lose_reply(closes=False))
        sock.sendall(b"INCR n\r\nGET n\r\n")
        assert sock.recv(100) == b"$1\r\n1\r\n"


def test_a_blocked_client_meets_the_fault_of_its_reply_when_it_is_served(server: Any) -> None:
    with miniredis_socket(server) as sock, server.client() as client:
        server.faults.add(command="blpop", then=faults.lose_reply())
        sock.sendall(b"BLPOP jobs 0\r\n")
        until(lambda: client.info("clients")["blocked_clients"] == 1, "it is blocked")
        client.rpush("jobs", "a", "b")
        assert read_all(sock) == b""
        assert client.lrange("jobs", 0, -1) == [b"b"]


def test_a_delayed_command_runs_when_its_time_has_come_and_those_behind_it_wait(server: Any) -> None:
    with miniredis_socket(server) as sock, server.client() as client:
        rule = server.faults.add(command="set", then=faults.delay(10))
        sock.sendall(b"SET k v\r\nPING\r\n")
        until(lambda: client.info("clients")["blocked_clients"] == 1, "it is delayed")
        rule.remove()
        server.fast_forward(9.9)
        assert client.get("k") is None
        server.fast_forward(0.2)
        assert read(sock, 12) == b"+OK\r\n+PONG\r\n"
        assert client.get("k") == b"v"
        assert server._runner.engine.conditions.is_quiet


def test_a_delayed_client_that_goes_is_forgotten(server: Any) -> None:
    with server.client() as client:
        with miniredis_socket(server) as sock, server.faults.add(command="set", then=faults.delay(10)):
            sock.sendall(b"SET k v\r\n")
            until(lambda: client.info("clients")["blocked_clients"] == 1, "it is delayed")
        until(lambda: client.info("clients")["blocked_clients"] == 0, "it is gone")
        assert server._runner.engine.conditions.is_quiet


@pytest.mark.parametrize("keeps_data", [True, False])
def test_a_restart_hangs_up_on_all_and_keeps_the_keys_or_not(
    server: Any, connect: Connect, keeps_data: bool
) -> None:
    client, other = connect(), connect(retry=Retry(NoBackoff(), 3))
    client.set("k", "v")
    number = other.client_id()
    server.faults.add(command="get", times=1, then=faults.restart(keeps_data=keeps_data))
    with pytest.raises(redis.ConnectionError):
        client.get("k")
    assert other.get("k") == (b"v" if keeps_data else None)
    assert other.client_id() > number  # it has connected again


def test_a_reply_in_pieces_comes_in_order_by_the_servers_clock(server: Any) -> None:
    with miniredis_socket(server) as sock, server.client() as client:
        client.set("k", "0123456789")
        rule = server.faults.add(command="get", times=1, then=faults.send_in_pieces(6, 10))
        sock.sendall(b"GET k\r\nPING\r\n")
        assert sock.recv(100) == b"$10\r\n0"
        until(lambda: rule.met == 1 and b"cmd=ping" in client.execute_command("CLIENT", "LIST"))
        server.fast_forward(9.9)
        client.ping()
        sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            sock.recv(100)
        sock.settimeout(20)
        server.fast_forward(0.2)
        assert sock.recv(100) == b"123456"
        server.fast_forward(20)
        assert read(sock, 12) == b"789\r\n+PONG\r\n"
        sock.sendall(b"GET k\r\n")
        assert read(sock, 17) == b"$10\r\n0123456789\r\n"


@pytest.mark.parametrize("loop", ["poll", "streams"])
def test_clients_put_pieces_together(loop: Any) -> None:
    with (
        miniredis.start(loop=loop) as server,
        redis.Redis(port=server.port) as remote,
        server.client() as local,
    ):
        server.faults.add(command="lrange", then=faults.send_in_pieces(7, 0.0001))
        local.rpush("jobs", "a", "b", "c")
        assert remote.lrange("jobs", 0, -1) == local.lrange("jobs", 0, -1) == [b"a", b"b", b"c"]
        assert not server._runner.engine.trickles.clients


def test_a_recording_has_the_whole_of_a_reply_in_pieces(server: Any) -> None:
    with miniredis_socket(server) as sock, server.record() as calls:
        server.faults.add(command="echo", then=faults.send_in_pieces())
        sock.sendall(b"ECHO hello\r\n")
        assert sock.recv(100) == b"$"
        assert calls[0].value == b"hello"


def test_a_slow_reader_gets_all_slowly_until_it_has_left_too_much_unread(server: Any) -> None:
    with miniredis_socket(server) as sock, server.client() as client:
        client.config_set("client-output-buffer-limit", "normal 50000 0 0")
        server.faults.add(command="echo", times=1, then=faults.read_slowly(3, 1))
        sock.sendall(b"ECHO hello\r\nPING\r\n")
        assert sock.recv(100) == b"$5\r"
        until(lambda: b"cmd=ping" in client.execute_command("CLIENT", "LIST"))
        for piece in (b"\nhe", b"llo", b"\r\n+", b"PON", b"G\r\n"):
            server.fast_forward(1)
            assert sock.recv(100) == piece
        client.set("k", "x" * 100_000)
        sock.sendall(b"GET k\r\n")
        assert len(read_all(sock)) <= 3
        assert len(server._runner.engine.sessions) == 1


def test_the_reply_to_a_blocked_client_comes_in_pieces_when_it_is_served(server: Any) -> None:
    with miniredis_socket(server) as sock, server.client() as client:
        server.faults.add(command="blpop", then=faults.send_in_pieces(4, 1))
        sock.sendall(b"BLPOP jobs 0\r\n")
        server.wait_until(lambda: server.blocked_clients("jobs"))
        client.rpush("jobs", "a")
        assert sock.recv(100) == b"*2\r\n"
        server.fast_forward(10)
        assert read(sock, 17) == b"$4\r\njobs\r\n$1\r\na\r\n"


def test_a_client_that_goes_while_its_reply_comes_in_pieces_is_forgotten(server: Any) -> None:
    with miniredis_socket(server) as sock:
        server.faults.add(command="echo", then=faults.send_in_pieces())
        sock.sendall(b"ECHO hello\r\n")
        assert sock.recv(100) == b"$"
    until(lambda: not server._runner.engine.trickles.clients, "it is forgotten")


def test_new_connections_are_refused_and_those_that_are_there_stay(server: Any, connect: Connect) -> None:
    client, other = connect(), connect()
    assert client.ping()
    with server.faults.add(then=faults.refuse_connection(), after=1, times=1) as rule:
        assert client.ping()
        assert connect().ping()
        with pytest.raises(redis.ConnectionError):
            other.ping()
        assert rule.met == 1
        assert other.ping()
        assert server._runner.engine.conditions.is_quiet
    with pytest.raises(ValueError, match="before it has a command"):
        server.faults.add(command="get", then=faults.refuse_connection())


@pytest.mark.parametrize("loop", ["poll", "streams"])
@pytest.mark.parametrize("bind", ["127.0.0.1", "127.0.0.1 -::1"])
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere such a connection is accepted and closed")
def test_the_system_refuses_connections_while_a_rule_refuses_all(loop: Any, bind: str) -> None:
    with miniredis.start(loop=loop, bind=bind) as server, server.client() as client:
        there = (server.host, server.port)
        with socket.create_connection(there) as before:
            before.sendall(b"PING\r\n")
            assert before.recv(100) == b"+PONG\r\n"
            for _ in range(2):
                with (
                    server.faults.add(then=faults.refuse_connection()),
                    pytest.raises(ConnectionRefusedError),
                ):
                    socket.create_connection(there)
                assert in_time(server) == b"+PONG\r\n"
            rules = [server.faults.add(then=faults.refuse_connection(), probability=p) for p in (0, 1, 1)]
            rules[1].remove()
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(there)
            before.sendall(b"PING\r\n")
            assert before.recv(100) == b"+PONG\r\n", "clients that are there stay"
            with socket.socket() as another, pytest.raises(OSError, match="in use"):
                another.bind(there)  # the port is kept
        server.faults.clear()
        assert in_time(server) == b"+PONG\r\n"
        assert server.port == there[1]
        assert client.ping()


def in_time(server: Any) -> bytes:
    """The reply to a client that connects."""
    with socket.create_connection((server.host, server.port), timeout=10) as client:
        client.sendall(b"PING\r\n")
        return client.recv(100)


@pytest.mark.parametrize("conditions", [{"after": 1}, {"times": 1}, {"probability": 0.5}])
def test_a_rule_for_some_connections_counts_them(conditions: Any) -> None:
    with (
        miniredis.start() as server,
        server.faults.add(then=faults.refuse_connection(), **conditions) as rule,
    ):
        for _ in range(20):
            with contextlib.suppress(ConnectionError):
                in_time(server)
        assert rule.met == {"after": 19, "times": 1}.get(next(iter(conditions)), rule.met) > 0


@pytest.mark.parametrize(
    "conditions",
    [
        {"command": "lpush"},
        {"command": "client list"},
        {"key": "jobs:*"},
        {"client": "ann"},
        {"client": 10**6},
    ],
)
def test_a_request_that_no_rule_fits_takes_the_fast_path(
    server: Any, connect: Connect, conditions: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = connect()
    client.set("k", "v")
    server.faults.add(then="ERR no", **conditions)
    monkeypatch.setattr("miniredis.engine.input.run_request", None)
    monkeypatch.setattr(
        "miniredis.inprocess.local.LocalClient._send", None
    )  # in this process, requests are not sent as bytes
    assert client.get("k") == b"v"


@pytest.mark.parametrize(
    ("conditions", "request_words"),
    [
        ({"command": "lpush"}, ["LPuSH", "k", "v"]),
        ({"command": "lpush"}, ["lpush", "k", "v"]),
        ({"command": "lpush"}, ["LPUSH", "k", "v"]),
        ({"command": "lpush", "key": "k*"}, ["LPUSH", "key", "v"]),
        ({"client": "ann", "key": "k*"}, ["LPUSH", "key", "v"]),
        ({"command": "CLIENT ID"}, ["client", "id"]),
        ({"command": "client"}, ["Client", "ID"]),
        ({"key": "jobs:*"}, ["mget", "a", "jobs:1"]),
        ({"key": "*:[ab]?x"}, ["get", "jobs:a1x"]),
        ({"key": r"a\*long\[word"}, ["get", "a*long[word"]),
        ({"key": "[^a]*"}, ["get", "b"]),
        ({"key": "*"}, ["get", "b"]),
        ({"client": "ann"}, ["ping"]),
        ({"client": "ann", "command": "get", "key": "k"}, ["get", "k"]),
        ({}, ["ping"]),
    ],
)
def test_each_request_that_fits_meets_its_rule_on_the_fast_path_too(
    server: Any, connect: Connect, conditions: Any, request_words: list[str]
) -> None:
    client = connect(client_name="ann")
    client.ping()
    with server.faults.add(then="ERR no", **conditions), pytest.raises(redis.ResponseError, match="no"):
        client.execute_command(*request_words)


def test_a_transaction_is_aborted_by_a_command_that_meets_an_error(server: Any, connect: Connect) -> None:
    client = connect()
    server.faults.add(command="rpush", then="OOM command not allowed when used memory > 'maxmemory'.")
    with pytest.raises(redis.ResponseError, match="maxmemory"), client.pipeline() as pipe:
        pipe.set("k", "v").rpush("jobs", "a").execute()
    assert client.get("k") is None


def test_a_server_without_rules_is_quiet_again(server: Any) -> None:
    conditions = server._runner.engine.conditions
    first, second = server.faults.add(then="ERR no"), server.faults.add(command="get", then="ERR no")
    assert len(server.faults) == 2
    assert not conditions.is_quiet
    assert str(first) == "<Rule any command, then ErrorReply(text=b'ERR no'): met 0 times>"
    first.remove()
    first.remove()
    assert [*server.faults] == [second]
    server.faults.clear()
    assert conditions.is_quiet


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"then": 7}, TypeError, "then must be a fault of miniredis.faults or a str, not int"),
        ({"then": "ERR", "command": "nosuch"}, ValueError, "there is no command 'nosuch'"),
        ({"then": "ERR", "times": 0}, ValueError, "count requests, times from 1 on"),
        ({"then": "ERR", "comand": "GET"}, TypeError, "'comand'; did you mean 'command'?"),
        ({"then": "ERR", "x": "GET"}, TypeError, "'x'; it takes then, command, key, client, after, times,"),
        ({"then": "ERR", "probability": 1.1}, ValueError, "from 0 to 1"),
        ({"then": "ERR\r\n+OK"}, ValueError, "one line"),
        ({"then": ""}, ValueError, "one line"),
        ({"then": "ERR", "after": -1}, ValueError, "count requests"),
        ({"then": "ERR", "after": "1"}, TypeError, "after must be an int, not str"),
        ({"then": "ERR", "command": b"get"}, TypeError, "command must be a str, not bytes"),
        ({"then": "ERR", "client": 3.5}, TypeError, "client must be a str, an int or None, not float"),
    ],
)
def test_what_is_no_rule_is_refused(
    server: Any, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        server.faults.add(**options)
    assert not len(server.faults)


def test_faults_are_imported_when_they_are_asked_for() -> None:
    program = """
import sys, miniredis
with miniredis.start():
    print("miniredis.engine.faults.fault_kinds" in sys.modules)
print(miniredis.faults.cut())
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["False", "Cut(when='before')"]


def test_what_is_no_fault_is_refused() -> None:
    with pytest.raises(ValueError, match="not 'never'"):
        faults.cut("never")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="more than 0 seconds, not nan"):
        faults.delay(float("nan"))
    with pytest.raises(TypeError, match="seconds must be a number, not str"):
        faults.delay("1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 1 byte"):
        faults.send_in_pieces(0)
    with pytest.raises(ValueError, match="more than 0 seconds"):
        faults.read_slowly(1, 0)


def test_another_program_adds_lists_and_ends_rules_by_a_command() -> None:
    started = miniredis.start(enable_debug_command="yes")
    with started as server, server.client() as client, server.client() as control:

        def debug(*words: str) -> Any:
            return control.execute_command("DEBUG", "FAULT", *words)

        words = "ADD COMMAND lpush key jobs:* TIMES 1 THEN error".split()
        assert debug(*words, "ERR no more") == b"OK"
        with pytest.raises(redis.ResponseError, match="no more"):
            client.lpush("jobs:1", "a")
        assert client.lpush("jobs:1", "a") == 1
        assert debug("ADD", "THEN", "cut") == b"OK"  # DEBUG itself meets no rule
        text = b"lpush, key jobs:*, then ErrorReply(text=b'ERR no more')"
        assert debug("LIST") == [[text, 1], [b"any command, then Cut(when='before')", 0]]
        assert [rule.met for rule in server.faults] == [1, 0]
        with pytest.raises(redis.ConnectionError):
            client.ping()
        assert debug("CLEAR") == b"OK"
        assert debug("LIST") == []
        assert client.ping()


@for_each(
    ("words", "fault"),
    [
        ("delay 2.5", faults.delay(2.5)),
        ("CUT Middle", faults.cut("middle")),
        ("lose_reply", faults.lose_reply()),
        ("lose_reply stays", faults.lose_reply(closes=False)),
        ("restart empty", faults.restart(keeps_data=False)),
        ("send_in_pieces 3", faults.send_in_pieces(3)),
        ("read_slowly 3 0.5", faults.read_slowly(3, 0.5)),
        ("refuse_connection", faults.refuse_connection()),
    ],
)
def test_the_command_knows_each_fault(words: str, fault: faults.Fault) -> None:
    with miniredis.start(enable_debug_command="yes") as server, server.client() as client:
        client.execute_command("DEBUG", "FAULT", "ADD", "PROBABILITY", "0.5", "THEN", *words.split())
        assert [rule.fault for rule in server._runner.engine.rules.all] == [fault]


@for_each(
    ("words", "text"),
    [
        ("", "takes ADD, LIST or CLEAR"),
        ("LIST all", "takes ADD, LIST or CLEAR"),
        ("ADD", "lacks THEN and a fault"),
        ("ADD TIMES", "ends where a value or a fault is missing"),
        ("ADD TIMES 1 THEN", "ends where a value or a fault is missing"),
        ("ADD TIMES many THEN cut", "invalid literal"),
        ("ADD COMMAND nosuch THEN cut", "there is no command 'nosuch'"),
        ("ADD PLACE x THEN cut", "knows no 'place'"),
        ("ADD THEN nothing", "knows no 'nothing'"),
        ("ADD THEN cut before noon", "takes 1 values at most, not 2"),
        ("ADD THEN lose_reply never", "it is closes or stays, not never"),
        ("ADD THEN error", "one line"),
        ("ADD THEN delay -1", "more than 0 seconds"),
    ],
)
def test_what_the_command_does_not_understand_is_refused(words: str, text: str) -> None:
    with miniredis.start(enable_debug_command="yes") as server, server.client() as client:
        with pytest.raises(redis.ResponseError, match=text):
            client.execute_command("DEBUG", "FAULT", *words.split())
        assert not len(server.faults)


def test_the_command_is_refused_unless_it_is_enabled(server: Any, connect: Connect) -> None:
    with pytest.raises(redis.ResponseError, match="DEBUG command not allowed"):
        connect().execute_command("DEBUG", "FAULT", "ADD", "THEN", "cut")
    assert not len(server.faults)


def miniredis_socket(server: Any) -> socket.socket:
    return socket.create_connection((server.host, server.port), timeout=20)


def read(sock: socket.socket, size: int) -> bytes:
    return sock.recv(size, socket.MSG_WAITALL)


def read_all(sock: socket.socket) -> bytes:
    data = b""
    while more := sock.recv(100):
        data += more
    return data
