"""One definition of a method for every flavour: what makes a function of it, or a coroutine.

A kind of queue is a class of definitions. A definition is an ordinary function that checks its arguments and
returns an operation (``@method``), the two operations around a block (``@block``) or an errand, which may
also call back (``@errand``). A flavour is a class that runs operations; where it is joined with a kind, each
definition becomes a real method of the flavour's, with the signature and the docstring of the definition.

Rules:
    - A definition sends nothing itself, so that arguments are checked before a key is touched.
    - What leaves a block runs whether or not the task is cancelled.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, TypeAlias, TypeVar, overload

from pressure.protocol.steps import Operation

if TYPE_CHECKING:
    from pressure.kinds.flavours import Asynchronous, Synchronous

S = TypeVar("S")
T = TypeVar("T")
P = ParamSpec("P")

#: What a method of a flavour with coroutines returns.
Coro: TypeAlias = Coroutine[Any, Any, T]


class Definition:
    """What ``@method`` and ``@block`` leave in a kind's class.

    Args:
        define: The function that was decorated.
    """

    def __init__(self, define: Callable[..., Any]) -> None:
        self.define = define
        self.__doc__ = define.__doc__


class Method(Definition, Generic[S, P, T]):
    """A method: an operation, run to its end."""

    def __init__(self, define: Callable[Concatenate[S, P], Operation[T]]) -> None:
        super().__init__(define)

    if TYPE_CHECKING:  # at run time a flavour's class has functions in the place of its definitions

        @overload
        def __get__(self, queue: Synchronous, kind: object = None) -> Callable[P, T]: ...
        @overload
        def __get__(self, queue: Asynchronous, kind: object = None) -> Callable[P, Coro[T]]: ...
        @overload
        def __get__(self, queue: None, kind: object = None) -> Callable[..., Any]: ...
        def __get__(self, queue: object, kind: object = None) -> Callable[..., Any]: ...


@dataclass(frozen=True, slots=True)
class Span(Generic[T]):
    """What a block does when it is entered, and when it is left.

    Attributes:
        enter: Gives what the block works on.
        leave: Told that, and the error by which the block ended, if it did; None to do nothing.
    """

    enter: Operation[T]
    leave: Callable[[T, BaseException | None], Operation[None] | None]


class Block(Definition, Generic[S, P, T]):
    """A method that is called for a ``with`` block."""

    def __init__(self, define: Callable[Concatenate[S, P], Span[T]]) -> None:
        super().__init__(define)

    if TYPE_CHECKING:

        @overload
        def __get__(
            self, queue: Synchronous, kind: object = None
        ) -> Callable[P, AbstractContextManager[T, None]]: ...
        @overload
        def __get__(
            self, queue: Asynchronous, kind: object = None
        ) -> Callable[P, AbstractAsyncContextManager[T, None]]: ...
        @overload
        def __get__(self, queue: None, kind: object = None) -> Callable[..., Any]: ...
        def __get__(self, queue: object, kind: object = None) -> Callable[..., Any]: ...


@dataclass(frozen=True, slots=True)
class Call:
    """A step of an errand: a function of the user's is called; with coroutines, a coroutine function.

    Attributes:
        function: The function.
        argument: What it is called with.
        beat: Makes an operation that is run again and again meanwhile; None for nothing.
        every: Seconds between two of these.
    """

    function: Callable[[Any], Any]
    argument: Any
    beat: Callable[[], Operation[Any]] | None = None
    every: float = 0.0


#: Operations and calls, one after the other; errors are thrown into it.
Errand: TypeAlias = Generator[Operation[Any] | Call, Any, T]


class Work(Definition, Generic[S, P, T]):
    """A method that runs operations and calls functions of the user's."""

    def __init__(self, define: Callable[Concatenate[S, P], Errand[T]]) -> None:
        super().__init__(define)

    if TYPE_CHECKING:

        @overload
        def __get__(self, queue: Synchronous, kind: object = None) -> Callable[P, T]: ...
        @overload
        def __get__(self, queue: Asynchronous, kind: object = None) -> Callable[P, Coro[T]]: ...
        @overload
        def __get__(self, queue: None, kind: object = None) -> Callable[..., Any]: ...
        def __get__(self, queue: object, kind: object = None) -> Callable[..., Any]: ...


def errand(define: Callable[Concatenate[S, P], Errand[T]]) -> Work[S, P, T]:
    """Declares a method that calls back; the function returns its errand."""
    return Work(define)


def method(define: Callable[Concatenate[S, P], Operation[T]]) -> Method[S, P, T]:
    """Declares a method; the function returns its operation."""
    return Method(define)


def block(define: Callable[Concatenate[S, P], Span[T]]) -> Block[S, P, T]:
    """Declares a method for ``with`` blocks; the function returns what happens at their ends."""
    return Block(define)


def definitions(kind: type) -> Iterator[tuple[str, Definition]]:
    """The definitions of a class and of those that it is made from, by their names."""
    for base in kind.__mro__:
        for name, each in vars(base).items():
            if isinstance(each, Definition):
                yield name, each


#: What a definition returns is what the flavour runs; what the method returns is inside the brackets.
_RETURNS: Final = re.compile(r"(?:Operation|Errand)\[(.*)\]")


def like(definition: Definition, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the name, the signature and the docstring of a definition."""
    functools.update_wrapper(function, definition.define)
    del function.__wrapped__  # type: ignore[attr-defined]
    signature = inspect.signature(definition.define)
    returns = _RETURNS.sub(r"\1", str(signature.return_annotation))
    function.__annotations__ = {**definition.define.__annotations__, "return": returns}
    function.__signature__ = signature.replace(return_annotation=returns)  # type: ignore[attr-defined]
    return function
