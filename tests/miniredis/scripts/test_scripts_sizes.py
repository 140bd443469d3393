"""Scripts with long arguments, long replies and long texts, and many scripts, on both servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from conformance.targets import Address
from conformance.wire import RawConnection

pytest.importorskip("lupa")

MB = 1_000_000


@pytest.fixture(params=["embedded_server", "redis_7_0"])
def client(request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
    """A client of either server."""
    server: Address = request.getfixturevalue(request.param)
    with redis.Redis.from_url(server.url, socket_timeout=60, retry=None) as client:
        client.flushall()
        yield client
        client.flushall()
        client.script_flush()
        client.function_flush()


@pytest.mark.parametrize("size", [MB, 20 * MB, pytest.param(512 * 1024 * 1024, marks=pytest.mark.slow)])
def test_a_script_returns_a_long_value_that_it_popped(client: redis.Redis, size: int) -> None:
    client.rpush("list", b"x" * size)
    taken = client.eval("return redis.call('RPOP', KEYS[1])", 1, "list")
    assert taken == b"x" * size
    assert client.llen("list") == 0


def test_a_script_returns_many_values_that_it_popped(client: redis.Redis) -> None:
    values = [b"%d" % number * 50_000 for number in range(100, 356)]
    client.rpush("list", *values)
    assert client.eval("return {'a', redis.call('LPOP', KEYS[1], 256), 'b'}", 1, "list") == [
        b"a",
        values,
        b"b",
    ]


def test_a_script_passes_a_long_value_from_one_command_to_another(client: redis.Redis) -> None:
    client.rpush("list", b"x" * 60 * MB)
    script = "redis.call('SET', KEYS[2], redis.call('RPOP', KEYS[1])) return redis.call('STRLEN', KEYS[2])"
    assert client.eval(script, 2, "list", "string") == 60 * MB


@pytest.mark.parametrize(
    ("count", "size"),
    [
        pytest.param(90, 3 * MB, marks=pytest.mark.slow),
        pytest.param(1, 300 * MB, marks=pytest.mark.slow),
        (20_000, 100),
    ],
)
def test_a_script_receives_many_or_long_arguments(client: redis.Redis, count: int, size: int) -> None:
    script = "local sum = 0 for _, value in ipairs(ARGV) do sum = sum + #value end return {#ARGV, sum}"
    values = [b"%09d" % number + b"x" * (size - 9) for number in range(count)]  # Lua has equal ones once
    assert client.eval(script, 0, *values) == [count, count * size]


def test_a_script_returns_a_long_argument_twice(client: redis.Redis) -> None:
    assert client.eval("return {ARGV[1], ARGV[1]}", 0, b"x" * 10 * MB) == [b"x" * 10 * MB] * 2


@pytest.mark.slow
def test_a_script_runs_after_hundreds_of_megabytes_of_loaded_scripts(client: redis.Redis) -> None:
    for number in range(30):
        client.script_load(f"local text = '{'x' * 10 * MB}' return {number}")
    client.rpush("list", b"x" * 30 * MB)
    assert client.eval("return redis.call('RPOP', 'list')", 0) == b"x" * 30 * MB


@pytest.mark.slow
def test_scripts_run_after_a_hundred_thousand_scripts_are_loaded(client: redis.Redis) -> None:
    with client.pipeline(transaction=False) as pipeline:
        for number in range(100_000):
            pipeline.script_load(f"return {number}")
        pipeline.execute()
    assert [client.eval(f"return {number}", 0) for number in range(100)] == list(range(100))


def test_a_long_script_of_tail_calls_is_compiled(client: redis.Redis) -> None:
    """Looking back for where each function came from took time by the square of the length."""
    text = 'if a then return ("x")() end ' * 40_000
    assert len(client.script_load(f"local function f(a) {text} end")) == 40


@pytest.mark.parametrize("script", ["return redis.error_reply(%s)", "return {{err = %s}}"])
def test_a_long_error_with_many_line_ends_is_the_same_on_both_servers(
    script: str, embedded_server: Address, redis_7_0: Address
) -> None:
    """A pattern that looks for line ends at the end began again at each of them."""
    replies = []
    for server in (embedded_server, redis_7_0):
        with RawConnection(server.host, server.port) as connection:
            text = "'E x' .. string.rep('\\n', 1000000) .. 'x'"
            replies.append(connection.command("EVAL", script % text, "0"))
    assert replies[0] == replies[1]


def test_a_script_returns_a_long_string_nested_in_900_tables(client: redis.Redis) -> None:
    """Each level around it copied it once more."""
    deep = client.eval("local t = string.rep('x', 1000000) for i = 1, 900 do t = {t} end return t", 0)
    for _ in range(900):
        (deep,) = deep
    assert deep == b"x" * MB


def test_a_script_calls_a_command_with_7000_arguments(client: redis.Redis) -> None:
    script = (
        "local many = {} for i = 1, 7000 do many[i] = i % 2 == 0 and i or 'text ' .. i end "
        "return redis.call('RPUSH', KEYS[1], unpack(many))"
    )
    assert client.eval(script, 1, "list") == 7000
    expected = [b"%d" % i if i % 2 == 0 else b"text %d" % i for i in range(1, 7001)]
    assert client.lrange("list", 0, -1) == expected


ODD = {
    "a map that its values empty": (
        "local m = {} for i = 1, 8 do m['k' .. i] = {verbatim_string = setmetatable({}, {__index = function() "
        "for j = 1, 8 do m['k' .. j] = nil end return 'txt' end})} end return #m == 0 and {map = {a = m.k1}}"
    ),
    "a verbatim string of numbers": "return {verbatim_string = {format = 1, string = 2}}",
    "numbers that are no int": (
        "local all = {} for _, most in ipairs{0/0, 1e300, 2^32 + 5, -2^40, 2^31, 0.5} do "
        "all[#all + 1] = select(2, pcall(function() return math.random(most) end)) "
        "all[#all + 1] = select(2, pcall(function() return math.random(1, most) end)) end return all"
    ),
    "no number of flags": "return {pcall(redis.set_repl, 0/0)}",
    "a reader of numbers": "local p = {'return ', 12} local n = 0 return load(function() n = n + 1 return p[n] end)()",
    "a blocking command": "return redis.call('BLMPOP', 0, 1, 'Q', 'LEFT')",
    "another": "return redis.call('BZMPOP', 0, 1, 'Q', 'MIN')",
    "a command that waits": "return redis.pcall('WAIT', 1, 0)",
    "a number that is too small": "return tostring(cjson.decode('[-0x1p9999]')[1])",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_scripts_get_the_same_reply_on_both_servers(
    name: str, embedded_server: Address, redis_7_0: Address
) -> None:
    replies = []
    for server in (embedded_server, redis_7_0):
        with RawConnection(server.host, server.port) as connection:
            replies.append(connection.command("EVAL", ODD[name], "0"))
    assert replies[0] == replies[1]


def test_a_blocking_pop_in_a_script_returns_at_once_and_takes_no_later_element(client: redis.Redis) -> None:
    assert client.eval("return redis.call('BLMPOP', 0, 1, 'Q', 'LEFT')", 0) is None
    assert client.rpush("Q", "message") == 1
    assert client.lrange("Q", 0, -1) == [b"message"]


@pytest.mark.parametrize("level", ["0/0", "-0.5", "-1", "3.9", "4", "1e300", "-1e300"])
def test_redis_log_treats_odd_levels_as_a_real_server_does(
    level: str, embedded_server: Address, redis_7_0: Address
) -> None:
    replies = []
    for server in (embedded_server, redis_7_0):
        with RawConnection(server.host, server.port) as connection:
            replies.append(connection.command("EVAL", f"return redis.log({level}, 'x')", "0"))
    assert replies[0] == replies[1]


def test_registering_a_function_while_a_function_runs_gets_a_real_servers_reply(
    embedded_server: Address, redis_7_0: Address
) -> None:
    library = "#!lua name=l\nlocal r = redis redis.register_function('f', function() r.register_function('g', r.log) end)"
    replies = []
    for server in (embedded_server, redis_7_0):
        with RawConnection(server.host, server.port) as connection:
            connection.command("FUNCTION", "LOAD", "REPLACE", library)
            replies.append(connection.command("FCALL", "f", "0"))
            connection.command("FUNCTION", "DELETE", "l")
    assert replies[0] == replies[1]
