"""Runs scripts in Lua 5.1, as the engine's ``Interpreter``. The first script imports lupa."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine.scripts.script_interfaces import NoLanguageError

if TYPE_CHECKING:
    from ..engine.scripts.script_interfaces import Caller, Interpreter

__all__ = ["new_interpreter"]


def new_interpreter(caller: Caller, *, for_functions: bool) -> Interpreter:
    """A new interpreter, with a Lua state of its own.

    Args:
        caller: runs the commands that scripts call.
        for_functions: whether it runs libraries of functions, instead of EVAL's scripts.

    Raises:
        NoLanguageError: lupa is not installed.
    """
    try:
        from .interpreter import LuaInterpreter
    except ModuleNotFoundError as missing:
        if missing.name != "lupa":
            raise
        raise NoLanguageError from None
    return LuaInterpreter(caller, for_functions=for_functions)
