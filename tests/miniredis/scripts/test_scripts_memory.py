"""Scripts that reach their limit of memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import redis

import miniredis

from . import script_fuzz

pytestmark = pytest.mark.usefixtures("forked")

pytest.importorskip(
    "miniredis.scripting.interpreter", reason="scripts need the extra 'lua'", exc_type=ImportError
)

MB = 1_000_000
NO_MEMORY = "not enough memory"
FILL = (
    "local full, number = {}, 0 "
    "local function fill() pcall(function() while true do number = number + 1 full[number] = 'x' .. number end end) end "
)
"""Takes all memory that there is. Some is free again afterwards, since the table could not be made larger."""


def answered(client: redis.Redis, *words: Any) -> Any:
    """A reply; the text of an error."""
    try:
        return client.execute_command(*words)  # type: ignore[no-untyped-call]
    except redis.ResponseError as error:
        return str(error)


@pytest.fixture(scope="module")
def small() -> Iterator[redis.Redis]:
    """A client of a server where little memory is enough to fill it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OWN", "MOST_GIVEN", "CROWDED"):
            patch.setattr(f"miniredis.scripting.memory.{name}", 1 << 20)
        patch.setattr("miniredis.scripting.interpreter.MOST_GIVEN", 1 << 20)
        patch.setattr("miniredis.scripting.interpreter.MOST_KEPT", 2 << 20)
        patch.setattr("miniredis.scripting.interpreter.MOST_COMPILED", 1 << 20)
        patch.setattr("miniredis.engine.scripts.scripts.MOST_CACHED", 4 << 20)
        with miniredis.start() as server, redis.Redis(port=server.port, socket_timeout=30) as client:
            yield client


CALLS = {
    "a hash": "redis.sha1hex('abc' .. number)",
    "a command": "redis.call('GET', 'none')",
    "a command that fails": "redis.call('LPUSH', 'string', number)",
    "a status": "redis.call('SET', 'string', number)",
    "an unknown command": "redis.call('none' .. number)",
    "many arguments": "redis.call('DEL', unpack(full, 1, 100))",
    "struct": "struct.pack('i', number)",
    "MessagePack": "cmsgpack.pack(number + 2 ^ 40)",
    "MessagePack of a fraction": "cmsgpack.pack(number + 0.5)",
    "JSON": "cjson.encode({number})",
    "bits": "bit.band(number, 255)",
    "the log": "redis.log(0, 'text ' .. number)",
    "the protocol": "redis.setresp(3)",
    "rights": "redis.acl_check_cmd('get', 'x' .. number)",
    "compiling": "loadstring('return ' .. number)",
    "a coroutine": "coroutine.wrap(function() return redis.call('ECHO', 'x' .. number) end)()",
}


@pytest.mark.parametrize("name", CALLS)
def test_server_functions_called_without_free_script_memory_do_not_hang(
    name: str, small: redis.Redis
) -> None:
    """What they return found no room in Lua, whose way of saying so held the interpreter's lock for ever."""
    script = f"{FILL} for i = 1, 2 do fill() pcall(function() return {CALLS[name]} end) end return 'survived'"
    answer = answered(small, "EVAL", script, 0)
    assert answer == b"survived" or NO_MEMORY in str(answer)
    assert small.eval("return redis.call('PING')", 0) == b"PONG"


def test_every_script_has_about_the_same_memory_available(small: redis.Redis) -> None:
    counts = [small.eval(f"{FILL} fill() redis.pcall('GET', 'k') fill() return number", 0) for _ in range(8)]
    assert max(counts) < 2 * min(counts)


def test_a_pop_without_free_script_memory_removes_nothing(small: redis.Redis) -> None:
    small.delete("list")
    small.rpush("list", "value")
    script = (
        FILL
        + "for i = 1, 10 do fill() redis.pcall('RPOP', 'list') end full = nil collectgarbage() return redis.call('LLEN', 'list')"
    )
    assert small.eval(script, 0) == 1


@pytest.mark.parametrize("command", ["RPOP", "GETDEL", "LMOVE"])
def test_a_popped_value_can_be_larger_than_the_script_memory(command: str, small: redis.Redis) -> None:
    """It is many times as long as what a script may have for itself, and may read."""
    small.flushall()
    if command == "GETDEL":
        small.set("key", b"x" * 8 * MB)
    else:
        small.rpush("key", b"x" * 8 * MB)
    words = ", ".join(
        repr(word) for word in (command, "key", *(("to", "LEFT", "LEFT") if command == "LMOVE" else ()))
    )
    assert small.eval(f"return redis.call({words})", 0) == b"x" * 8 * MB
    small.flushall()


def test_reading_a_value_larger_than_the_script_memory_is_refused(small: redis.Redis) -> None:
    small.set("key", b"x" * 8 * MB)
    assert NO_MEMORY in answered(small, "EVAL", "return redis.call('GET', 'key')", 0)
    assert small.strlen("key") == 8 * MB
    small.flushall()


def test_arguments_larger_than_the_script_memory_are_refused(small: redis.Redis) -> None:
    assert answered(small, "EVAL", "return 1", 0, b"x" * 2 * MB) == NO_MEMORY
    assert answered(small, "EVAL", "return #ARGV[1]", 0, b"x" * 900_000) == 900_000


def test_metamethods_of_an_error_are_under_the_memory_limit(small: redis.Redis) -> None:
    script = (
        "local k = {} error(setmetatable({}, {__index = function(t, name) "
        "for i = 1, 100 do k[i] = string.rep('x', 1e6) .. i .. name end return 'done ' .. #k end}))"
    )
    assert "done" not in str(answered(small, "EVAL", script, 0))
    assert "done 100" in str(answered(small, "EVAL", script.replace("1e6", "1e3"), 0))


def test_a_reply_that_repeats_one_string_is_under_the_memory_limit(small: redis.Redis) -> None:
    """The reply would be of gigabytes although nobody has sent as much."""
    script = "local s, t = string.rep('x', 1000000), {} for i = 1, 2000 do t[i] = s end return t"
    assert NO_MEMORY in answered(small, "EVAL", script, 0)


def test_a_library_that_keeps_too_much_gets_a_memory_error(small: redis.Redis) -> None:
    small.function_load(
        "#!lua name=hoard\nlocal t = {} "
        "redis.register_function('hoard', function() for i = 1, 5000 do t[#t + 1] = 'text ' .. #t end return #t end)"
    )
    answers = [answered(small, "FCALL", "hoard", 0) for _ in range(20)]
    assert answers[0] == 5_000
    assert set(answers[10:]) == {NO_MEMORY}
    refused = answered(
        small, "FUNCTION", "LOAD", "#!lua name=n\nredis.register_function('n', function() return 1 end)"
    )
    assert refused == NO_MEMORY
    assert small.eval("return 1", 0) == 1
    small.function_delete("hoard")
    small.function_load("#!lua name=n\nredis.register_function('n', function() return 1 end)")
    assert small.fcall("n", 0) == 1


def test_a_long_reply_is_not_kept_by_the_library_that_made_it(small: redis.Redis) -> None:
    small.function_load(
        "#!lua name=pops\nredis.register_function('pops', function(keys) return {redis.call('RPOP', keys[1])} end)"
    )
    for _ in range(3):
        small.rpush("list", b"x" * 8 * MB)
        assert small.fcall("pops", 1, "list") == [b"x" * 8 * MB]
    small.function_delete("pops")


def test_the_least_recently_used_scripts_are_removed_from_the_cache(small: redis.Redis) -> None:
    oldest, used = small.script_load("return 'oldest'"), small.script_load("return 'used'")
    for number in range(60):
        small.script_load(f"local text = '{'x' * 100_000}' return {number}")
        assert small.evalsha(used, 0) == b"used"
    assert small.script_exists(oldest, used) == [False, True]
    assert answered(small, "EVALSHA", oldest, 0) == "No matching script. Please use EVAL."
    assert small.info("memory")["number_of_cached_scripts"] < 60


def test_a_cached_script_is_compiled_again_when_its_compiled_form_was_removed(small: redis.Redis) -> None:
    first = small.script_load("return 'first'")
    for number in range(300):
        small.script_load(f"return 'text {number}', '{'x' * 1000}'")
    assert small.evalsha(first, 0) == b"first"


@pytest.mark.parametrize(
    ("limit", "count"),
    [
        (100_000, 30),
        *(pytest.param(limit, 500, marks=pytest.mark.slow) for limit in (70_000, 800_000, 4_000_000)),
    ],
)
def test_the_interpreter_survives_random_scripts_that_use_up_their_memory(limit: int, count: int) -> None:
    command = [sys.executable, "-m", script_fuzz.__name__, "1", str(limit), str(count)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.stdout == "survived\n", done.stderr
