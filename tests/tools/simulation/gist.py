"""What an operation will do next, as a value: two operations of the same gist go on alike.

An operation is a generator, and a generator can neither be copied nor compared. What it does next depends on
where each of the generators that it is made of stands, and on their variables. Of values that are the same
for all operations of a client, such as the names of keys, the name is enough.

What stands on a generator's stack and in no variable is not seen: an iterator that a loop draws from has to
show in the loop's variable, or in an object that is one. ``exact`` exploration, which merges nothing, tells
whether that held.

To have another type of value: a row in ``GISTS``, or make it a dataclass.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, FunctionType, GeneratorType, MethodType
from typing import Any, Final

from pressure.connections.pool import Holds
from pressure.keys import Keys
from pressure.protocol import Context
from pressure.protocol.role import Role

__all__ = ["gist"]

ATOMS: Final = frozenset({bytes, str, int, float, bool, type(None)})


def gist(value: Any) -> Hashable:
    """A value's content, as something that can be compared.

    Raises:
        TypeError: it is of a type of which that is not known.
    """
    kind = type(value)
    if kind in ATOMS:
        return value  # type: ignore[no-any-return]
    if (known := GISTS.get(kind)) is not None:
        return known(value)
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, BaseException):
        return kind.__name__, str(value)
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return kind.__name__, *(gist(getattr(value, field.name)) for field in fields)
    if isinstance(value, tuple):  # with names
        return kind.__name__, *map(gist, value)
    if isinstance(value, type):
        return value.__name__
    raise TypeError(f"what a {kind.__name__} will do is not known")


def of_generator(value: GeneratorType[Any, Any, Any]) -> Hashable:
    """Where it and those that it delegates to stand."""
    frame, inner = value.gi_frame, value.gi_yieldfrom
    if frame is None:
        return "over"
    variables = tuple((name, gist(each)) for name, each in frame.f_locals.items() if each is not inner)
    return value.__qualname__, frame.f_lasti, variables, gist(inner)


def of_several(values: Any) -> Hashable:
    return tuple(map(gist, values))


def of_mapping(values: dict[Any, Any]) -> Hashable:
    return tuple((gist(name), gist(each)) for name, each in values.items())


def of_function(value: Any) -> Hashable:
    return value.__qualname__  # type: ignore[no-any-return]


GISTS: Final[dict[type, Callable[[Any], Hashable]]] = {
    GeneratorType: of_generator,
    tuple: of_several,
    list: of_several,
    set: lambda value: frozenset(map(gist, value)),
    frozenset: lambda value: frozenset(map(gist, value)),
    dict: of_mapping,
    FunctionType: of_function,
    BuiltinFunctionType: of_function,
    MethodType: of_function,
    partial: lambda value: gist(value.args),
    Keys: lambda keys: keys.name,
    Role: lambda role: role.name,
    Holds: lambda holds: (holds.process, str(holds._numbers), frozenset(holds._live)),
    Context: lambda context: (gist(context.holds), context.server.scripts),
}
