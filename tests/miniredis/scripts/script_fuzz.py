"""Random scripts that fill their memory and call everything: ``python -m tests.miniredis.scripts.script_fuzz SEED LIMIT COUNT``.

It needs a process of its own: the faults that it looks for end a process, or block it for ever.
"""

from __future__ import annotations

import faulthandler
import random
import sys
from typing import Any, Final

from miniredis.engine.protocol.errors import CommandError
from miniredis.engine.protocol.replies import Encoded
from miniredis.engine.scripts.script_errors import KILLED_SCRIPT
from miniredis.scripting import interpreter, memory

PATIENCE: Final = 120.0
"""The most seconds for one script, on a busy machine."""

FILLS: Final = (
    "n = n + 1 t[n] = 'x' .. n .. '%d'",
    "n = n + 1 t[n] = {n}",
    "n = n + 1 t[n] = function() return n end",
    "n = n + 1 t['k' .. n] = n",
    "n = n + 1 t[n] = string.rep('q', (n * 7919) %% 5000) .. n",
    "n = n + 1 t[n] = coroutine.create(function() return n end)",
    "n = n + 1 t[n] = ('x'):rep(n %% 100) .. tostring({})",
)

CALLS: Final = (
    "redis.call('GET', 'k' .. n)",
    "redis.pcall('A', n, n, n, n, n, n)",
    "redis.call('M', unpack(t, 1, math.min(n, 50)))",
    "redis.sha1hex('a' .. n)",
    "redis.log(1, 'x')",
    "redis.setresp(3)",
    "redis.setresp(2)",
    "redis.acl_check_cmd('get', 'x')",
    "redis.error_reply('E ' .. n)",
    "struct.pack('i', n)",
    "struct.unpack('i', 'abcd')",
    "cmsgpack.pack({n, n * 1e10, 'x'})",
    "cjson.encode({n})",
    "cjson.decode('[1, 2, 3.5, \"x\"]')",
    "bit.band(n, 3)",
    "loadstring('return ' .. n)",
    "coroutine.wrap(function() return redis.call('X', n) end)()",
    "collectgarbage()",
    "tostring(redis.pcall('Z'))",
    "table.concat({n, n, n})",
)

ENDS: Final = (
    "return last", "return keep", "return {keep, last, t[1]}", "return t", "return #t", "error(last)",
    "return {err = 'x' .. n}", "return {double = 3}",
)  # fmt: skip


class AnyCaller:
    """Answers any command with a random reply."""

    version, valkey = "7.0.15", ""
    no_words = bad_words = b"wrong arguments"

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def call(self, args: list[bytes]) -> Any:
        return Encoded(b"+OK\r\n") if self._rng.random() < 0.1 else self._value(0)

    def _value(self, depth: int) -> Any:
        rng = self._rng
        kind = rng.randrange(7)
        if kind == 0:
            return rng.randrange(1 << 40)
        if kind == 1:
            return None
        if kind == 2:
            return CommandError(b"ERR " + b"z" * magnitude(rng, 4))
        if kind == 3 and depth < 3:
            return [self._value(depth + 1) for _ in range(magnitude(rng, 1.3))]
        return b"x" * magnitude(rng, 4.5) + b"%d" % rng.randrange(10**6)

    def writes(self, args: list[bytes]) -> bool:
        return self._rng.random() < 0.5

    def is_allowed(self, args: list[bytes]) -> bool:
        return self._rng.random() < 0.5

    def logs(self, level: int) -> bool:
        return self._rng.random() < 0.5

    def count_error(self, text: bytes) -> None:
        """Does nothing."""

    def interrupt(self) -> bytes | None:
        return KILLED_SCRIPT if self._rng.random() < 0.1 else None


def magnitude(rng: random.Random, most: float) -> int:
    """A number of any order of magnitude up to a power of ten."""
    return int(10 ** rng.uniform(0, most))


def script(rng: random.Random) -> str:
    def fill() -> str:
        body = rng.choice(FILLS).replace("%d", str(rng.randrange(10**6))).replace("%%", "%")
        return f"pcall(function() for _ = 1, {magnitude(rng, 5.5)} do {body} end end) "

    def call() -> str:
        kept = "keep[#keep + 1] = v " if rng.random() < 0.3 else ""
        return f"do local ok, v = pcall(function() return {rng.choice(CALLS)} end) {kept}last = v end "

    def many() -> str:
        return f"for i = 1, {magnitude(rng, 2.5)} do {call()} end "

    def forget() -> str:
        return "t, n = {}, 0 "

    steps = [rng.choice((fill, fill, call, many, forget))() for _ in range(rng.randrange(1, 9))]
    return "local t, n, keep, last = {}, 0, {} " + "".join(steps) + rng.choice(ENDS)


def main(seed: int, limit: int, count: int) -> None:
    for name in ("OWN", "MOST_GIVEN", "CROWDED"):
        setattr(memory, name, limit)
    rng = random.Random(seed)  # noqa: S311  (it is to be the same each time)
    lua = interpreter.LuaInterpreter(AnyCaller(rng), for_functions=False)
    for _ in range(count):
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        code = script(rng).encode()
        sha = lua.digest(code)
        assert lua.compile(sha, code) is None, code
        words = [b"a" * magnitude(rng, 4) for _ in range(rng.randrange(20))]
        lua.run(sha, code, words, words, rng.choice((2, 3)))
    sys.stdout.write("survived\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
