"""A sandbox for scripts in Lua 5.1, on lupa: scripts hold Lua values only, and can only call commands.

Scripts are assumed to be hostile. These rules contain them:

* They see only the globals that ``lua/sandbox.lua`` chooses. Python's functions (``callbacks``) are called by
  trusted Lua functions, and no script gets hold of one. If one leaked all the same, Lua could read no
  attribute of it, nor of any other Python object.
* Their memory is limited (``memory``).
* Every 100000 instructions a hook asks whether the script must end (``Caller.interrupt``).
* Bytecode comes from Lua's own compiler only.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from typing import Any, Final, NoReturn

from lupa import lua51

from ..engine.protocol.replies import Encoded, Reply
from ..engine.scripts.lru import LruCache
from ..engine.scripts.script_errors import NO_MEMORY
from ..engine.scripts.script_interfaces import Caller, Failure, LibraryError, Registered
from .bytecode import TOO_MANY, TooManyParametersError, make_safe, unlike_others
from .callbacks import REASONS, Callbacks, digest
from .memory import MOST_GIVEN, MOST_KEPT, Memory
from .values import SLOT, Converter

__all__ = ["LuaInterpreter"]

MOST_COMPILED: Final = 64 * 1024 * 1024
"""About the most bytes of compiled scripts that are kept; the least recently used ones are dropped."""

WEIGHT: Final = 1000, 8
"""About the size of a compiled script: bytes for any script, and bytes for each byte of its text."""

BYTECODE: Final = b"\x1b"
"""The first byte of Lua's bytecode."""

TRUSTED: Final = b"=[C]"
COMPILED: Final[dict[str, bytes]] = {}
"""The bytecode of our own Lua files, by name, which all interpreters share."""

LIBRARIES: Final = ("bit", "cjson", "cmsgpack", "struct")
FAILED: Final = None, NO_MEMORY, False
"""The outcome of a script where the trusted code around it, too, ran out of memory."""


def refuse(*_: object) -> NoReturn:
    """Hides every attribute of Python's objects from Lua."""
    raise AttributeError("not for scripts")


class LuaInterpreter:
    """One Lua state with its sandbox.

    Args:
        caller: runs the commands that scripts call.
        for_functions: whether it runs libraries of functions, instead of EVAL's scripts.
    """

    def __init__(self, caller: Caller, *, for_functions: bool) -> None:
        self._lua = lua51.LuaRuntime(
            encoding=None,
            register_eval=False,
            register_builtins=False,
            unpack_returned_tuples=True,
            attribute_filter=refuse,
            max_memory=0,
        )
        native = self._lua.globals()
        self._new_table = self._lua.table_from
        self._memory = Memory(self._lua, native[b"collectgarbage"])
        self._converter = Converter(self._new_table)
        self._callbacks = Callbacks(caller, self._memory, self._converter)
        self._chunks = LruCache[Any](MOST_COMPILED)
        self._load: Callable[..., Any] = native[b"loadstring"]
        self._dump: Callable[..., Any] = native[b"string"][b"dump"]
        host = self._new_table(self._callbacks.functions() | {b"reasons": self._new_table(REASONS)})
        self._sandbox = self._trusted("sandbox", host)
        replies = self._trusted("replies", host, self._sandbox, keeps_tail_calls=True)
        self._api = self._trusted("api", host, self._sandbox, replies)
        if not for_functions:
            self._api[b"for_eval"]()
        publish = self._sandbox[b"publish"]
        publish(b"redis", self._api[b"redis"])
        if caller.valkey:
            self._sandbox[b"alias"](b"server", b"redis")
        integers = self._trusted("integers", host, self._sandbox)
        for library in LIBRARIES:
            publish(library.encode(), self._trusted(library, host, self._sandbox, integers))
        self._load_library = self._trusted("libraries", host, self._sandbox, self._api)
        self._adopt = self._sandbox[b"adopt"]
        self._invoke = self._api[b"invoke"]
        self._evaluate = self._api[b"evaluate"]

    def _trusted(self, name: str, *arguments: object, keeps_tail_calls: bool = False) -> Any:
        """Runs one of our own Lua files; returns its result. The first interpreter compiles it for all."""
        if name not in COMPILED:
            source = resources.files(__package__).joinpath(f"lua/{name}.lua").read_bytes()
            compiled = self._dump(checked(self._load(source, TRUSTED)))
            COMPILED[name] = compiled if keeps_tail_calls else make_safe(compiled, is_trusted=True)
        return checked(self._load(COMPILED[name], TRUSTED))(*arguments)

    def digest(self, script: bytes) -> bytes:
        """The SHA1 of a script in hexadecimal, which is its name for EVALSHA."""
        return digest(script)

    def compile(self, name: bytes, code: bytes) -> bytes | None:
        """Compiles a script and keeps it under its name; returns an error message, or None."""
        try:
            chunk = self._compiled(code, b"@user_script")
        except lua51.LuaSyntaxError as error:
            return bytes(error.args[0])
        least, each = WEIGHT
        self._chunks.add(name, chunk, least + each * len(code))
        return None

    def _compiled(self, code: bytes, name: bytes) -> Any:
        """Compiles a text to a Lua function; raises ``LuaSyntaxError``.

        Neither the text nor the changed bytecode becomes a Lua string. Only the result of ``dump`` is one
        (see ``unlike_others``).
        """
        compile_text = self._lua.compile
        if code.startswith(BYTECODE):
            code = b" " + code  # Redis takes it for a text, too
        try:
            chunk = compile_text(code, unlike_others(code))
        except lua51.LuaSyntaxError:
            chunk = compile_text(code, name)  # fails again, with this name in the message
        try:
            return self._adopt(compile_text(make_safe(self._dump(chunk), name=name), name))
        except TooManyParametersError as error:
            raise lua51.LuaSyntaxError(TOO_MANY % error.args[0]) from None

    def run(
        self, name: bytes, code: bytes, keys: list[bytes], args: list[bytes], resp: int
    ) -> Reply | Failure:
        """Runs a script that compiles; returns its reply for version ``resp`` of the protocol."""
        self._memory.tidy()
        chunk = self._chunks.get(name)
        if chunk is None:
            self.compile(name, code)
            chunk = self._chunks.get(name)
        return self._finish(self._evaluate, chunk, keys, args, resp, name)

    def load(self, code: bytes) -> list[Registered]:
        """Runs the code of a library; returns the functions that it registers.

        Raises:
            LibraryError: the code does not compile, or fails.
        """
        self._check_kept()
        try:
            chunk = self._compiled(code, b"@user_function")
        except lua51.LuaSyntaxError as error:
            raise LibraryError(b"Error compiling function: " + error.args[0]) from None
        found, problem = pair(self._guarded(self._load_library, chunk))[:2]
        if found is None:
            raise LibraryError(b"Error registering functions: " + problem)
        return [registered(function) for function in found.values()]

    def forget(self) -> None:
        """Called when registered functions are deleted: their memory can be collected."""
        self._memory.expect_garbage()

    def invoke(
        self, function: Any, name: bytes, keys: list[bytes], args: list[bytes], resp: int
    ) -> Reply | Failure:
        """Runs a registered function; returns its reply for version ``resp`` of the protocol."""
        try:
            self._check_kept()
        except LibraryError as error:
            return Failure(b"ERR " + error.reason, is_counted=False)
        return self._finish(self._invoke, function, keys, args, resp, name)

    def _check_kept(self) -> None:
        if self._memory.tidy() > MOST_KEPT:
            raise LibraryError(b"not enough memory")

    def _finish(
        self,
        function: Callable[..., Any],
        body: object,
        keys: list[bytes],
        args: list[bytes],
        resp: int,
        name: bytes,
    ) -> Reply | Failure:
        if sum(map(len, keys)) + sum(map(len, args)) + SLOT * (len(keys) + len(args)) > MOST_GIVEN:
            return Failure(NO_MEMORY, is_counted=False)
        new_table = self._new_table
        wire, text, is_counted = self._guarded(function, body, new_table(keys), new_table(args), resp, name)
        if type(wire) is bytes:
            return Encoded(wire)
        if wire is True:  # the reply is one long string
            return bytes(text)
        if wire is None:
            return Failure(text, is_counted=bool(is_counted))
        return Encoded(b"".join(wire.values()))

    def _guarded(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Calls a trusted Lua function that runs a script; limits memory meanwhile."""
        self._converter.resp = 2
        self._memory.begin()
        try:
            outcome = function(*arguments)
        except lua51.LuaError:
            outcome = FAILED
        finally:
            self._memory.end()
        if self._callbacks.fault is not None:
            fault, self._callbacks.fault = self._callbacks.fault, None
            raise fault
        return outcome


def pair(values: Any) -> Any:
    """The two results of a Lua function; a missing second one is None."""
    return values if type(values) is tuple else (values, None)


def registered(function: Any) -> Registered:
    """The function that a library passed to ``redis.register_function``."""
    flags = function[b"flags"]
    return Registered(
        function[b"function_name"],
        function[b"description"],
        tuple(flags.values()) if flags is not None else (),
        function[b"callback"],
    )


def checked(loaded: Any) -> Any:
    """The chunk that ``loadstring`` made of one of our own files; raises ``SyntaxError`` if it failed."""
    chunk, problem = pair(loaded)
    if chunk is None:
        raise SyntaxError(problem)
    return chunk
