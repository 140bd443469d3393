"""Lua 5.1 by lupa, closed off: scripts hold Lua values only, and reach nothing but the commands.

Scripts are taken to be hostile. What keeps them in:

* They see the globals that ``lua/sandbox.lua`` chooses, none of which leads outside. Functions of Python's
  are called by trusted Lua functions alone and are no value of a script's; should one leak all the same,
  every attribute of every object of Python's is refused.
* Lua may take ``MEMORY`` bytes. Lupa converts values where an allocation that fails would tear down Python's
  own frames, so whatever is handed to Lua while a script runs is checked for room before.
* A hook looks up at every 100000 instructions whether the script is to end (``Caller.interrupt``).
* Bytecode comes from Lua's own compiler only.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from importlib import resources
from typing import Any, Final, NoReturn

from lupa import lua51

from ..engine.errors import NO_MEMORY
from ..engine.replies import Encoded
from ..engine.script_interfaces import Caller, Failure, LibraryError, Registered
from ..engine.version import VERSION
from .bytecode import MOST_FIXED_PARAMETERS, TooManyParametersError, fit
from .numbers import get_integer, get_real, put_integer, put_real, to_number
from .values import ERROR, Converter, room_for

__all__ = ["MEMORY", "LuaInterpreter"]

log = logging.getLogger("miniredis.scripts")

MEMORY: Final = 256 * 1024 * 1024
"""How many bytes the scripts of a server may hold at a time."""

CROWDED: Final = MEMORY // 2
"""From so many bytes on, garbage is collected before a script is run."""

MARGIN: Final = 64 * 1024
"""Bytes beside what is counted, for Lua's own growth while a value is handed over."""

LEVELS: Final = (logging.DEBUG, logging.INFO, logging.INFO, logging.WARNING)
TRUSTED: Final = b"=[C]"
COMPILED: Final[dict[str, bytes]] = {}
"""The bytecode of our own files, by name; every interpreter runs the same."""

LIBRARIES: Final = ("bit", "cjson", "cmsgpack", "struct")


def refuse(*_: object) -> NoReturn:
    """No object of Python's has attributes in Lua."""
    raise AttributeError("not for scripts")


class LuaInterpreter:
    """One Lua state with its sandbox.

    Args:
        caller: runs the commands that scripts call.
        for_functions: it is for libraries of functions, and not for EVAL.
    """

    def __init__(self, caller: Caller, *, for_functions: bool) -> None:
        self._caller = caller
        self._lua = lua51.LuaRuntime(
            encoding=None,
            register_eval=False,
            register_builtins=False,
            unpack_returned_tuples=True,
            attribute_filter=refuse,
            max_memory=0,
        )
        self._is_limited = False
        self._fault: BaseException | None = None
        self._converter = Converter(self._lua.table_from)
        self._chunks: dict[bytes, Any] = {}
        self._load: Callable[..., Any] = self._lua.globals()[b"loadstring"]
        self._dump: Callable[..., Any] = self._lua.globals()[b"string"][b"dump"]
        host = self._lua.table_from(self._host())
        self._sandbox = self._trusted("sandbox", host)
        encode = self._trusted("replies", host, keeps_tail_calls=True)
        self._api = self._trusted("api", host, self._sandbox, encode)
        if not for_functions:
            self._api[b"for_eval"]()
        publish = self._sandbox[b"publish"]
        publish(b"redis", self._api[b"redis"])
        for name in LIBRARIES:
            publish(name.encode(), self._trusted(name, host, self._sandbox))
        self._load_library = self._trusted("libraries", self._sandbox, self._api)
        self._compile = self._sandbox[b"compile"]
        self._invoke = self._api[b"invoke"]
        self._evaluate = self._api[b"evaluate"]
        self._collect = self._lua.globals()[b"collectgarbage"]

    def _trusted(self, name: str, *arguments: object, keeps_tail_calls: bool = False) -> Any:
        """What a file of our own returns; it is compiled for the first interpreter of this process."""
        if name not in COMPILED:
            source = resources.files(__package__).joinpath(f"lua/{name}.lua").read_bytes()
            compiled = self._dump(checked(self._load(source, TRUSTED)))
            COMPILED[name] = compiled if keeps_tail_calls else fit(compiled, is_trusted=True)
        return checked(self._load(COMPILED[name], TRUSTED))(*arguments)

    def _host(self) -> dict[bytes, object]:
        """What trusted Lua functions may use of Python's."""
        numbers = [int(part) for part in VERSION.split(".")]
        functions: dict[bytes, Callable[..., Any]] = {
            b"sha1hex": self.digest,
            b"log": lambda level, text: log.log(LEVELS[level], "%s", text.decode("utf-8", "replace")),
            b"set_resp": self._set_resp,
            b"acl_check": lambda *words: self._caller.is_allowed(list(words)),
            b"count_error": self._caller.count_error,
            b"band": lambda one, other: one & other,
            b"put_integer": self._if_room(put_integer),
            b"get_integer": get_integer,
            b"put_real": self._if_room(put_real),
            b"get_real": get_real,
            b"to_number": to_number,
            b"lift_limit": lambda: self._limit(0),
            b"patch": self._patch,
            b"call": self._call,
            b"interrupt": self._interrupt,
        }
        return {name: self._kept_in(function) for name, function in functions.items()} | {
            b"version": VERSION.encode(),
            b"version_number": numbers[0] << 16 | numbers[1] << 8 | numbers[2],
        }

    def _kept_in(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose errors go on where Lua ends: in Lua they would be objects of Python's."""

        def kept_in(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except BaseException as fault:
                self._fault = fault
                return b"ERR internal error", ERROR

        return kept_in

    # The engine's side

    def digest(self, script: bytes) -> bytes:
        """The SHA1 by which a script is known, in hexadecimal."""
        return hashlib.sha1(script, usedforsecurity=False).hexdigest().encode()

    def compile(self, name: bytes, code: bytes) -> bytes | None:
        """Keeps a script under a name; returns what is wrong with it, or None."""
        chunk, problem = pair(self._compile(code, b"@user_script"))
        if chunk is None:
            return bytes(problem)
        self._chunks[name] = chunk
        return None

    def run(self, name: bytes, keys: list[bytes], args: list[bytes], resp: int) -> Encoded | Failure:
        """Runs a script that was compiled; returns its reply in a version of the protocol."""
        self._make_room()
        new_table = self._lua.table_from
        return self._finish(self._evaluate, self._chunks[name], new_table(keys), new_table(args), resp, name)

    def load(self, code: bytes) -> list[Registered]:
        """Runs the text of a library, and returns what it registers.

        Raises:
            LibraryError: it is not Lua, or fails.
        """
        self._make_room()
        chunk, problem = pair(self._compile(code, b"@user_function"))
        if chunk is None:
            raise LibraryError(b"Error compiling function: " + problem)
        found, problem = pair(self._guarded(self._load_library, chunk))
        if found is None:
            raise LibraryError(b"Error registering functions: " + problem)
        return [registered(function) for function in found.values()]

    def invoke(
        self, function: Any, name: bytes, keys: list[bytes], args: list[bytes], resp: int
    ) -> Encoded | Failure:
        """Runs a function that was registered; returns its reply in a version of the protocol."""
        self._make_room()
        new_table = self._lua.table_from
        return self._finish(self._invoke, function, new_table(keys), new_table(args), resp, name)

    def _make_room(self) -> None:
        if self._used() > CROWDED:
            self._collect()

    def _limit(self, size: int) -> None:
        """Lets Lua take so many bytes; 0 is no limit, for while Python hands values to Lua."""
        self._is_limited = size > 0
        self._lua.set_max_memory(size, total=True)

    def _used(self) -> int:
        return self._lua.get_memory_used(total=True) or 0

    def _guarded(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Calls a trusted function that runs a script, whose memory is limited meanwhile."""
        self._converter.resp = 2
        self._limit(MEMORY)
        try:
            outcome = function(*arguments)
        finally:
            self._limit(0)
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault
        return outcome

    def _finish(self, function: Callable[..., Any], *arguments: object) -> Encoded | Failure:
        outcome = self._guarded(function, *arguments)
        if type(outcome) is bytes:
            return Encoded(outcome)
        _, text, is_counted = outcome
        return Failure(text, is_counted=is_counted)

    # Lua's side

    def _call(self, *words: bytes) -> Any:
        reply = self._caller.call(list(words))
        if type(reply) is not int and not self._has_room(room_for(reply)):
            return NO_MEMORY, ERROR
        return self._converter.top(reply)

    def _interrupt(self) -> bytes | None:
        return b"ERR internal error" if self._fault else self._caller.interrupt()

    def _patch(self, chunk: bytes) -> Any:
        try:
            if not self._has_room(4 * len(chunk)):
                return None, b"not enough memory"
            return fit(chunk)
        except TooManyParametersError as error:
            return None, b"line %d: more than %d parameter before '...'" % (
                error.args[0],
                MOST_FIXED_PARAMETERS,
            )

    def _has_room(self, size: int) -> bool:
        return not self._is_limited or self._used() + size + MARGIN <= MEMORY

    def _if_room(self, function: Callable[..., bytes]) -> Callable[..., bytes | None]:
        """For what makes a few bytes: it makes none where Lua has no room for them."""
        return lambda *arguments: function(*arguments) if self._has_room(0) else None

    def _set_resp(self, version: int) -> None:
        self._converter.resp = version


def pair(values: Any) -> tuple[Any, Any]:
    """Two results of a Lua function, of which the second may be missing."""
    return values if type(values) is tuple else (values, None)


def registered(function: Any) -> Registered:
    """What ``redis.register_function`` was told."""
    flags = function[b"flags"]
    return Registered(
        function[b"function_name"],
        function[b"description"],
        tuple(flags.values()) if flags is not None else (),
        function[b"callback"],
    )


def checked(loaded: Any) -> Any:
    """What ``loadstring`` made of a file of our own."""
    chunk, problem = pair(loaded)
    if chunk is None:
        raise SyntaxError(problem)
    return chunk
