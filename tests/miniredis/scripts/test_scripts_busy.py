"""Scripts that run too long: BUSY for other clients, SCRIPT KILL and SHUTDOWN, on both servers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Final

import pytest

import miniredis
from conformance.wire import Hangup, RawConnection

from ...cases import exhaustive
from ...conftest import ANY_LOOP
from ...waiting import PATIENCE, until

pytest.importorskip("lupa")

FOR_EVER = "while true do end"
BUSY = b"-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n"
BUSY_FUNCTION = (
    b"-BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.\r\n"
)
OK = b"+OK\r\n"
KILLED = b"-ERR Script killed by user with SCRIPT KILL... script: "
STEPS = ("3e7", "1e8", "3e8", "1e9")
"""Of a script that ends by itself: more, where a busy machine was too slow to find it running."""
LIBRARY = (
    "#!lua name=busy\n"
    "redis.register_function('busy', function() while true do end end)\n"
    "redis.register_function('writes', function() redis.call('set', 'k', 'v') "
    "while redis.call('get', 'k') == 'v' do end end)"
)


class Bench:
    """A client whose script runs on a thread, and others."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.clients: list[RawConnection] = []
        self.control = self.client()
        self.reply = b""
        self.thread: threading.Thread | None = None
        assert self.control.command("CONFIG", "SET", "busy-reply-threshold", "20") == OK

    def client(self) -> RawConnection:
        self.clients.append(RawConnection(*self.address))
        return self.clients[-1]

    def run(self, *words: str, client: RawConnection | None = None) -> None:
        """Lets another client run a script, and waits until the server is busy with it."""
        client = client or self.client()

        def ask() -> None:
            with contextlib.suppress(Hangup, OSError):
                self.reply = client.command(*words)

        self.thread = threading.Thread(target=ask)
        self.thread.start()
        until(
            lambda: self.control.command("PING").startswith(b"-BUSY") or not self._runs(),
            "the server is busy, or the script is over",
        )

    def _runs(self) -> bool:
        return self.thread is not None and self.thread.is_alive()

    def ended(self) -> bytes:
        """What the script's client heard in the end."""
        assert self.thread is not None
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        self.thread = None
        return self.reply

    def close(self) -> None:
        if self.thread is not None:
            self.control.command("SCRIPT", "KILL")
            self.control.command("FUNCTION", "KILL")
            self.thread.join(PATIENCE)
        assert self.control.command("CONFIG", "SET", "busy-reply-threshold", "5000") == OK
        self.control.command("FUNCTION", "FLUSH")
        for client in self.clients:
            client.close()


@pytest.fixture
def bench(as_redis_7_0: None, empty_address: tuple[str, int]) -> Iterator[Bench]:
    bench = Bench(empty_address)
    yield bench
    bench.close()


def test_other_clients_get_busy_while_a_script_runs_too_long(bench: Bench) -> None:
    bench.run("EVAL", FOR_EVER, "0")
    ask = bench.control.command
    assert ask("GET", "k") == BUSY
    assert ask("EVAL", "return 1", "0") == BUSY
    assert ask("FUNCTION", "STATS") == BUSY
    assert ask("FUNCTION", "KILL") == BUSY
    assert ask("SHUTDOWN") == BUSY
    assert ask("SCRIPT", "KILL") == OK
    assert bench.ended().startswith(KILLED)
    assert ask("PING") == b"+PONG\r\n"
    assert ask("SCRIPT", "KILL").startswith(b"-NOTBUSY")


def test_a_transaction_is_discarded_while_a_script_runs(bench: Bench) -> None:
    bench.run("EVAL", FOR_EVER, "0")
    ask = bench.control.command
    assert ask("MULTI") == OK
    assert ask("SET", "k", "v") == BUSY
    assert ask("EXEC").startswith(b"-EXECABORT Transaction discarded because of: BUSY")
    assert ask("SCRIPT", "KILL") == OK
    assert bench.ended().startswith(KILLED)


def test_nothing_comes_between_the_commands_of_a_transaction_with_a_slow_script(bench: Bench) -> None:
    ask, waiter, client = bench.control.command, bench.client(), bench.client()
    waiter.send("BLPOP", "q", "0")
    until(lambda: b"\r\nblocked_clients:1\r\n" in ask("INFO", "clients"), "it waits")
    assert ask("ACL", "SETUSER", "u", "on", "nopass", "+@all", "~*", "&*") == OK
    assert client.command("AUTH", "u", "any") == OK
    slow = (["RPUSH", "q", "v"], ["EVAL", FOR_EVER, "0"], ["DEL", "q"], ["ACL", "DELUSER", "u"])
    assert client.command("MULTI") == OK
    assert {client.command(*words) for words in slow} == {b"+QUEUED\r\n"}
    bench.run("EXEC", client=client)
    assert ask("GET", "k") == BUSY
    assert ask("SCRIPT", "KILL") == OK
    pushed, killed, deleted, ended = bench.ended().removeprefix(b"*4\r\n").splitlines(keepends=True)
    assert killed.startswith(KILLED)
    assert (pushed, deleted, ended) == (b":1\r\n", b":1\r\n", b":1\r\n")
    with pytest.raises(Hangup):  # the user is gone, and heard so before
        client.reply()
    assert waiter.is_silent()


def test_a_script_that_has_written_is_not_killed(bench: Bench) -> None:
    for steps in STEPS:
        script = f"redis.call('set', 'k', 'v') for i = 1, {steps} do end return redis.call('get', 'k')"
        bench.run("EVAL", script, "0")
        refused = bench.control.command("SCRIPT", "KILL")
        assert bench.ended() == b"$1\r\nv\r\n"
        if not refused.startswith(b"-NOTBUSY"):
            break
    assert refused.startswith(b"-UNKILLABLE Sorry the script already executed")


SCRIPTS = {
    "a loop": FOR_EVER,
    "a loop that catches errors": "while true do pcall(function() while true do end end) end",
    "a handler of errors that goes on": "xpcall(function() while true do end end, function() while true do end end)",
    "a coroutine": "coroutine.wrap(function() while true do end end)()",
    "coroutines that are resumed": (
        "local co = coroutine.create(function() while true do end end) while true do coroutine.resume(co) end"
    ),
    "coroutines in coroutines": (
        "local function f() coroutine.wrap(function() while true do pcall(coroutine.wrap(f)) end end)() end f()"
    ),
    "tail calls": "local function f() return f() end f()",
    "a loop in a method that is looked up": (
        "return setmetatable({}, {__index = function() while true do end end}).x"
    ),
    "a loop in a comparison": "table.sort({3, 2, 1}, function() while true do end end)",
    "a loop in a replacement": "string.gsub('x', 'x', function() while true do end end)",
    "commands that only read": "while true do redis.call('get', 'k') end",
    "a library": "while true do cjson.decode(cjson.encode({1, 2, {3}})) end",
    "what was compiled by the script": "loadstring('while true do end')()",
    "what was compiled under the name of native functions": "loadstring('while true do end', '=[C]')()",
    "a coroutine under the name of native functions": (
        "coroutine.wrap(loadstring('while true do pcall(function() while true do end end) end', '=[C]'))()"
    ),
    "memory that is used up again and again": (
        "local t, n = {}, 0 while true do pcall(function() while true do n = n + 1 t[n] = 'x' .. n end end) end"
    ),
    "calls at the end of the stack": (
        "local function g(n) if n > 0 then pcall(g, n - 1) end while true do pcall(g, 0) end end g(250)"
    ),
    "calls at the end of the stack, and further": "local function f() pcall(f) return f() end f()",
    "handlers of errors at the end of the stack": (
        "local function g(n) if n > 0 then xpcall(function() g(n - 1) end, tostring) end "
        "while true do xpcall(function() g(0) end, tostring) end end g(250)"
    ),
    "coroutines at the end of the stack": (
        "local function g(n) if n > 0 then coroutine.resume(coroutine.create(g), n - 1) end "
        "while true do coroutine.resume(coroutine.create(g), 0) end end g(250)"
    ),
    "a table of tables as JSON": "local t = {} for i = 1, 60 do t = {t, t} end cjson.encode(t)",
    "a table of tables as MessagePack": (
        "local t = {} for i = 1, 14 do t = {t, t, t} end while true do cmsgpack.pack(t) end"
    ),
    "a table of tables that contain each other": "local t = {} for i = 1, 60 do t = {t, t} end return t",
}


HARD: Final = {
    "a handler of errors that goes on",
    "coroutines in coroutines",
    "memory that is used up again and again",
    "calls at the end of the stack, and further",
    "handlers of errors at the end of the stack",
    "coroutines at the end of the stack",
    "a table of tables as JSON",
    "a table of tables as MessagePack",
    "a table of tables that contain each other",
}
"""What a real server is lost to, for ever or for minutes."""

LONG: Final = {"coroutines at the end of the stack", "coroutines in coroutines"}
"""What miniredis takes half a second to end."""


@ANY_LOOP
@pytest.mark.parametrize("name", [exhaustive(name, when=name in LONG) for name in SCRIPTS])
def test_script_kill_ends_a_script(name: str, bench: Bench, request: pytest.FixtureRequest) -> None:
    if name in HARD and "redis-server" in request.node.name:
        pytest.skip("a real Redis never ends this script, or only after minutes")
    bench.run("EVAL", SCRIPTS[name], "0")
    assert bench.control.command("SCRIPT", "KILL") == OK
    bench.ended()
    assert bench.control.command("PING") == b"+PONG\r\n"


def test_other_clients_get_busy_until_function_kill_ends_a_function(bench: Bench) -> None:
    ask = bench.control.command
    assert ask("FUNCTION", "LOAD", LIBRARY) == b"$4\r\nbusy\r\n"
    bench.run("FCALL", "busy", "0")
    assert ask("GET", "k") == BUSY_FUNCTION
    assert ask("SCRIPT", "KILL") == BUSY_FUNCTION
    stats = ask("FUNCTION", "STATS")
    begin = b"*4\r\n$14\r\nrunning_script\r\n*6\r\n$4\r\nname\r\n$4\r\nbusy\r\n$7\r\ncommand\r\n*3\r\n$5\r\nFCALL\r\n"
    assert stats.startswith(begin)
    assert ask("FUNCTION", "KILL") == OK
    assert bench.ended().startswith(
        b"-ERR Script killed by user with SCRIPT KILL... script: busy, on @user_function:2"
    )


def test_a_function_that_has_written_is_not_killed(bench: Bench) -> None:
    assert bench.control.command("FUNCTION", "LOAD", LIBRARY.replace("== 'v'", "== 'v' and false"))
    bench.control.command("FUNCTION", "FLUSH")
    for steps in STEPS:
        text = LIBRARY.replace("while redis.call('get', 'k') == 'v' do end", f"for i = 1, {steps} do end")
        assert bench.control.command("FUNCTION", "LOAD", "REPLACE", text) == b"$4\r\nbusy\r\n"
        bench.run("FCALL", "writes", "0")
        refused = bench.control.command("FUNCTION", "KILL")
        assert bench.ended() in {b"$-1\r\n", b"_\r\n"}
        if not refused.startswith(b"-NOTBUSY"):
            break
    assert refused.startswith(b"-UNKILLABLE")


def test_a_client_that_disconnects_while_a_script_runs_changes_nothing_for_others(bench: Bench) -> None:
    client, other = bench.client(), bench.client()
    bench.run("EVAL", FOR_EVER, "0")
    assert other.command("PING") == BUSY
    client.close()
    assert other.command("PING") == BUSY
    assert bench.control.command("SCRIPT", "KILL") == OK
    assert bench.ended().startswith(KILLED)
    assert other.command("PING") == b"+PONG\r\n"


# On miniredis alone


def test_the_server_can_be_stopped_while_a_script_runs() -> None:
    with miniredis.start() as server:
        client = RawConnection(server.host, server.port)
        client.send("EVAL", "redis.call('set', 'k', 'v') while true do end", "0")
    client.close()  # leaving the block has waited for the server's end


def test_shutdown_ends_a_script_that_has_written() -> None:
    with miniredis.start(busy_reply_threshold=20) as server:
        bench = Bench((server.host, server.port))
        bench.run("EVAL", "redis.call('set', 'k', 'v') while true do end", "0")
        bench.control.send("SHUTDOWN", "NOSAVE")
        server._thread.join(PATIENCE)
        assert not server._thread.is_alive()
        assert bench.thread is not None
        bench.thread.join(PATIENCE)
        for client in bench.clients:
            client.close()


def test_script_kill_works_with_a_held_clock_and_does_not_move_it() -> None:
    with miniredis.start(clock="held", busy_reply_threshold=20) as server:
        bench = Bench((server.host, server.port))
        before = server.now
        bench.run("EVAL", FOR_EVER, "0")
        assert bench.control.command("SCRIPT", "KILL") == OK
        assert bench.ended().startswith(KILLED)
        assert server.now == before
        bench.close()


def test_time_advances_during_a_script_but_keys_do_not_expire() -> None:
    script = (
        "redis.call('set', 'k', 'v', 'px', 30) local function now() local t = redis.call('time') "
        "return t[1] * 1000 + t[2] / 1000 end local start = now() "
        "while now() - start < 100 do end return redis.call('exists', 'k')"
    )
    with miniredis.start() as server, server.client() as client:
        assert client.eval(script, 0) == 1
        assert client.exists("k") == 0
