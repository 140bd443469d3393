"""Scripts in Lua 5.1: the engine's ``Interpreter``, on lupa. Nothing here is loaded before the first script."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..engine.scripts import Caller, Interpreter

__all__ = ["new_interpreter"]


def new_interpreter(caller: Caller, *, for_functions: bool) -> Interpreter:
    """A world of its own for scripts.

    Args:
        caller: runs the commands that scripts call.
        for_functions: it is for libraries of functions, and not for EVAL.

    Raises:
        ImportError: lupa is not installed.
    """
    from .interpreter import LuaInterpreter

    return LuaInterpreter(caller, for_functions=for_functions)
