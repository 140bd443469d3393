"""Values for the arguments of scripting commands: texts that call, fail and convert, and those of libraries.

A real server may be lost to a script, so what is sent here is known to end; and no function calls a command
with nil, after which FUNCTION FLUSH would crash 8.0.2. None shows the order of a hash
table.
"""

from __future__ import annotations

import hashlib
from typing import Final

__all__ = ["OF_SCRIPTS"]

SCRIPTS: Final = (
    "return 1",
    "return {KEYS, ARGV}",
    "return redis.call('get', KEYS[1])",
    "return redis.call('set', KEYS[1], ARGV[1])",
    "return redis.call('lpush', KEYS[1], unpack(ARGV))",
    "return redis.call('rpop', KEYS[1], 2)",
    "return redis.pcall('hset', KEYS[1], 'f', ARGV[1] or 1)",
    "if redis.call('hlen', KEYS[1]) < 2 then return redis.pcall('hgetall', KEYS[1]) end",
    "redis.setresp(3) if redis.call('hlen', KEYS[1]) < 2 then return redis.pcall('hgetall', KEYS[1]) end",
    "redis.setresp(3) return redis.pcall('zrange', KEYS[1], 0, -1, 'withscores')",
    "return redis.pcall('zadd', KEYS[1], 1.5, ARGV[1] or 'm')",
    "return {redis.pcall('incr', KEYS[1]), redis.pcall('nosuch'), redis.pcall('blpop', 'a', 0)}",
    "redis.call('select', 1) redis.call('del', KEYS[1]) return redis.call('select', 99)",
    "for i = 1, 3 do redis.call('rpush', 'l', i) end return redis.call('lrange', 'l', 0, -1)",
    "return cjson.encode({KEYS, ARGV})",
    "return cjson.decode(ARGV[1])",
    "return {cmsgpack.unpack(cmsgpack.pack(KEYS, ARGV))}",
    "return {true, false, 1.9, 'x', {ok = 'fine'}, {err = 'MY error'}, 7}",
    "return {double = 1.5}",
    "local t = {} for i = 1, #ARGV do t[i] = bit.band(ARGV[i], 255) end return t",
    "return struct.pack('>I2', ARGV[1])",
    "return tonumber(ARGV[1])",
    "return redis.sha1hex(ARGV[1])",
    "return nosuch",
    "x = 1",
    "error('x')",
    "error({err = 'MY error'})",
    "return redis.error_reply('MY error')",
    "return ++",
    "#!lua\nreturn redis.pcall('set', KEYS[1] or 'a', 1)",
    "#!lua flags=no-writes\nreturn redis.pcall('set', KEYS[1] or 'a', 1)",
    "#!lua flags=no-writes\nreturn redis.call('exists', unpack(KEYS))",
    "#!lua flags=x\nreturn 1",
    "#!js\n",
    "",
)
SHAS: Final = tuple(hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest() for text in SCRIPTS)
LIBRARIES: Final = (
    "#!lua name=one\nredis.register_function('f', function(keys, args) return {keys, args} end)",
    "#!lua name=one\nredis.register_function('f', function(k) return redis.pcall('get', k[1] or 'a') end)",
    (
        "#!lua name=two\n"
        "redis.register_function('g', function(k, a) return redis.call('set', k[1] or 'a', a[1] or 1) end)"
    ),
    (
        "#!lua name=two\nredis.register_function{function_name='h', flags={'no-writes'}, "
        "description='reads', callback=function(keys) return redis.call('exists', unpack(keys)) end}"
    ),
    (
        "#!lua name=three\nredis.register_function{function_name='f', flags={'no-writes'}, "
        "callback=function() return 3 end}"
    ),
    "#!lua name=four\nreturn 1",
    "#!lua name=four\nredis.nosuch()",
    "#!lua name=four\nreturn ++",
    "#!lua name=a-b\n",
    "#!lua\n",
    "x",
)
FUNCTIONS: Final = ("f", "f", "F", "g", "g", "h", "h", "nosuch", "")
NAMES: Final = ("one", "one", "two", "two", "three", "four", "*", "t*", "")
NOTHING: Final = b"\n\0]\x9b\\@\x0f\x7f\xa2\xda".decode("latin-1")
"""What FUNCTION DUMP answers where there are no libraries."""

OF_SCRIPTS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "scripting": {
        "function": FUNCTIONS,
        "function-code": LIBRARIES,
        "library-name": NAMES,
        "library-name-pattern": NAMES,
        "script": SCRIPTS,
        "serialized-value": (NOTHING, NOTHING, "x", ""),
        "sha1": (*SHAS, *SHAS, "x", "f" * 40),
    },
}
"""By the group of a command, then by the name of the argument."""
