"""Scripts in Lua 5.1: the engine's ``Interpreter``, on lupa, loaded when the first script comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine.script_interfaces import NoLanguageError

if TYPE_CHECKING:
    from ..engine.script_interfaces import Caller, Interpreter

__all__ = ["new_interpreter"]


def new_interpreter(caller: Caller, *, for_functions: bool) -> Interpreter:
    """A world of its own for scripts.

    Args:
        caller: runs the commands that scripts call.
        for_functions: it is for libraries of functions, and not for EVAL.

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
