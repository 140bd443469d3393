"""Scripts and the rest of the server: MONITOR, the slow log, statistics, and what they need installed."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from typing import Any

import pytest
import redis

import miniredis
from conformance.wire import RawConnection
from miniredis.engine import Engine, Instant

pytest.importorskip("lupa")


def test_monitor_sees_a_script_before_its_commands(empty_address: tuple[str, int]) -> None:
    with RawConnection(*empty_address) as watcher, RawConnection(*empty_address) as client:
        assert watcher.command("MONITOR") == b"+OK\r\n"
        client.command(
            "EVAL", "redis.call('set', KEYS[1], 'v') redis.call('select', 2) redis.call('get', 'k')", "1", "k"
        )
        lines = [watcher.reply() for _ in range(4)]
    seen = [re.sub(rb"^\+[0-9.]+ \[([0-9]) [0-9.:]+\]|^\+[0-9.]+ ", rb"[\1]", line) for line in lines]
    assert seen[0].startswith(b'[0] "EVAL" "redis.call(')
    assert seen[1:] == [
        b'[][0 lua] "set" "k" "v"\r\n',
        b'[][0 lua] "select" "2"\r\n' if b"[0 lua]" in seen[2] else b'[][2 lua] "select" "2"\r\n',
        b'[][2 lua] "get" "k"\r\n',
    ]


def test_the_slow_log_and_commandstats_count_a_script_and_its_commands(
    empty_address: tuple[str, int],
) -> None:
    with redis.Redis(*empty_address) as client:
        client.config_set("slowlog-log-slower-than", 0)
        client.slowlog_reset()
        client.config_resetstat()
        client.eval("redis.call('set', 'k', 'v') redis.pcall('lpush', 'k', 'x')", 0)
        entries = client.slowlog_get(10)
        stats = client.info("commandstats")
        client.config_set("slowlog-log-slower-than", 10000)
    commands = [entry["command"].split(b" ")[0].lower() for entry in entries]
    assert commands[:3] == [b"eval", b"lpush", b"set"]
    assert {name: stats[f"cmdstat_{name}"]["calls"] for name in ("eval", "set", "lpush")} == {
        "eval": 1, "set": 1, "lpush": 1,
    }  # fmt: skip
    assert stats["cmdstat_lpush"]["failed_calls"] == 1
    assert stats["cmdstat_eval"]["failed_calls"] == 0


@pytest.mark.usefixtures("as_redis_7_0")
def test_info_counts_scripts_and_functions(empty_address: tuple[str, int]) -> None:
    library = "#!lua name=counted\nredis.register_function('one', function() end)\nredis.register_function('two', function() end)"
    with redis.Redis(*empty_address) as client:
        client.script_flush()
        client.function_flush()
        client.eval("return 1", 0)
        client.script_load("return 2")
        client.function_load(library)
        info = client.info("memory")
        client.function_flush()
        client.script_flush()
    counted = [info[f"number_of_{what}"] for what in ("cached_scripts", "functions", "libraries")]
    assert counted == [2, 2, 1]


def test_each_server_restores_libraries_that_the_other_dumped(
    embedded_address: tuple[str, int], redis_7_0_address: tuple[str, int]
) -> None:
    library = "#!lua name=passed\n" + "-- a comment that compresses well\n" * 30
    library += "redis.register_function{function_name='passed', callback=function(k, a) return a[1] end, flags={'no-writes'}}"
    with redis.Redis(*embedded_address) as ours, redis.Redis(*redis_7_0_address) as theirs:
        for giver, taker in ((ours, theirs), (theirs, ours)):
            giver.function_flush()
            taker.function_flush()
            giver.function_load(library)
            payload = giver.execute_command("FUNCTION DUMP", NEVER_DECODE=True)
            assert taker.execute_command("FUNCTION RESTORE", payload) in {True, b"OK"}
            assert taker.fcall_ro("passed", 0, "x") == b"x"
            giver.function_flush()
            taker.function_flush()


def test_redis_log_writes_to_the_logger_of_scripts(caplog: pytest.LogCaptureFixture) -> None:
    with miniredis.start() as server, server.client() as client, caplog.at_level(logging.DEBUG):
        for loglevel in ("notice", "debug"):
            client.config_set("loglevel", loglevel)
            client.eval("redis.log(redis.LOG_WARNING, 'careful', 1) redis.log(redis.LOG_DEBUG, '\\255')", 0)
    records = [
        (record.levelno, record.message) for record in caplog.records if record.name == "miniredis.scripts"
    ]
    careful = (logging.WARNING, "careful 1")
    assert records == [careful, careful, (logging.DEBUG, "\ufffd")]


def test_a_warning_of_a_script_is_printed_only_where_the_program_asks_for_logs() -> None:
    program = """
import miniredis
with miniredis.start() as server, server.client() as client:
    client.eval("redis.log(redis.LOG_WARNING, 'careful')", 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_scripts_without_lupa_get_an_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lupa", None)
    monkeypatch.delitem(sys.modules, "miniredis.scripting.interpreter", raising=False)
    with miniredis.start() as server, server.client() as client:
        for words in (
            ["EVAL", "return 1", "0"],
            ["SCRIPT", "LOAD", "x"],
            ["FUNCTION", "LOAD", "#!lua name=x\n"],
        ):
            with pytest.raises(redis.ResponseError, match=r"pip install 'pressure-queues\[lua\]'"):
                client.execute_command(*words)
        assert client.script_exists("x") == [False]


def test_an_engine_by_itself_runs_no_scripts() -> None:
    engine = Engine()
    now = Instant(0, 0)
    session = engine.connect(now)
    engine.receive(session, b"EVAL x 0\r\nPING\r\n", now)
    assert session.take_output().startswith(b"-ERR unknown command: scripts need lupa")


def test_lupa_is_loaded_by_the_first_script() -> None:
    import subprocess

    program = (
        "import sys, miniredis\n"
        "server = miniredis.start(); client = server.client(); client.ping(); print('lupa' in sys.modules)\n"
        "client.eval('return 1', 0); print('lupa' in sys.modules); server.stop()"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"]


def test_an_exception_in_a_command_ends_the_script_and_disconnects_its_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from miniredis.engine.declarations.registry import LOOKUP

    def fail(*_: Any) -> None:
        raise ZeroDivisionError("a fault")

    with miniredis.start() as server, server.client() as client:
        monkeypatch.setattr(LOOKUP[b"get"], "handler", fail)
        with pytest.raises(redis.ConnectionError):
            client.eval("while true do pcall(redis.call, 'get', 'k') end", 0)
        monkeypatch.undo()
        assert client.ping()


def test_scripts_with_the_same_text_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from miniredis.scripting.interpreter import LuaInterpreter

    compiled: list[bytes] = []
    compile_ = LuaInterpreter.compile

    def count(self: LuaInterpreter, name: bytes, code: bytes) -> bytes | None:
        compiled.append(name)
        return compile_(self, name, code)

    monkeypatch.setattr(LuaInterpreter, "compile", count)
    with miniredis.start() as server, server.client() as client:
        for number in range(5):
            assert client.eval("return ARGV[1]", 0, number) == b"%d" % number
    assert len(compiled) == 1


@pytest.mark.parametrize("count", [1, 1000, 7000])
def test_a_script_takes_thousands_of_keys_and_arguments(count: int, empty_address: tuple[str, int]) -> None:
    with redis.Redis(*empty_address) as client:
        names = [f"k{number}" for number in range(count)]
        assert client.eval("return {#KEYS, #ARGV, KEYS[#KEYS]}", count, *names, "x") == [
            count,
            1,
            names[-1].encode(),
        ]
        pairs = "local t = {} for i, k in ipairs(KEYS) do t[2 * i - 1] = k t[2 * i] = i end "
        if count <= 1000:
            assert client.eval(pairs + "return redis.call('mset', unpack(t))", count, *names) == b"OK"
        assert len(client.eval("return redis.call('mget', unpack(KEYS))", count, *names)) == count
