"""How the methods of a kind of queue are declared: once, for every flavour.

A kind is a subclass of ``Methods``. Its methods are definitions: functions that check their arguments and
return what is to be done. ``pressure.kinds.flavours`` joins a kind with each flavour and makes methods of the
definitions: functions, or coroutines.

| decorator | the function returns | the method is |
|---|---|---|
| ``@method`` | an ``Operation`` | called for its result |
| ``@block`` | a ``Span``: the operations at both ends of a block | used in ``with`` |
| ``@loop`` | a function that makes such a block for each value | used in ``for`` |
| ``@errand`` | an ``Errand``: operations, and calls of the user's functions | called for its result |

Type checkers and editors see the methods through ``__get__``: its overloads turn the signature of a
definition into that of the flavour's method.

Rules:
    - A definition sends nothing itself, so that arguments are checked before a key is touched.
    - What leaves a block runs whether or not the task is cancelled, and never in a forked child.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Generator, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    Final,
    Generic,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    overload,
)

from pressure.arguments import settings
from pressure.keys import Located
from pressure.protocol.steps import About, Operation, Timed
from pressure.settings import Settings

if TYPE_CHECKING:
    from pressure.kinds.flavours import Asynchronous, Synchronous

S = TypeVar("S")
T = TypeVar("T")
P = ParamSpec("P")

#: What a method of a flavour with coroutines returns.
Coro: TypeAlias = Coroutine[Any, Any, T]


class Definition:
    """What a decorator leaves in the class of a kind.

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
        holds_role: Whether both ends run on one connection, on which the role lives that the block holds.
    """

    enter: Operation[T]
    leave: Callable[[T, BaseException | None], Operation[None] | None]
    holds_role: bool = False
    _process: int = field(default_factory=os.getpid)

    def end(self, taken: T, error: BaseException | None) -> Operation[None] | None:
        """What to do when the block is left; nothing in a forked child: the block is its parent's to end."""
        operation = self.leave(taken, error)
        return operation if os.getpid() == self._process else None


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


#: Makes the block of the next value; the loop ends when entering one raises ``QueueClosedError``.
Each: TypeAlias = Callable[[], Span[T]]


class Loop(Definition, Generic[S, P, T]):
    """A method that is called for a ``for`` loop, whose body is a block for each value."""

    def __init__(self, define: Callable[Concatenate[S, P], Each[T]]) -> None:
        super().__init__(define)

    if TYPE_CHECKING:

        @overload
        def __get__(
            self, queue: Synchronous, kind: object = None
        ) -> Callable[P, Generator[T, None, None]]: ...
        @overload
        def __get__(
            self, queue: Asynchronous, kind: object = None
        ) -> Callable[P, AsyncGenerator[T, None]]: ...
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


def method(define: Callable[Concatenate[S, P], Operation[T]]) -> Method[S, P, T]:
    """Declares a method; the function returns its operation."""
    return Method(define)


def block(define: Callable[Concatenate[S, P], Span[T]]) -> Block[S, P, T]:
    """Declares a method for ``with`` blocks; the function returns what happens at their ends."""
    return Block(define)


def loop(define: Callable[Concatenate[S, P], Each[T]]) -> Loop[S, P, T]:
    """Declares a method for ``for`` loops; the function returns what makes the block of each value."""
    return Loop(define)


def errand(define: Callable[Concatenate[S, P], Errand[T]]) -> Work[S, P, T]:
    """Declares a method that calls back; the function returns its errand."""
    return Work(define)


class _Known(About, Timed, Protocol):
    """What every operation needs to know."""


class Methods:
    """The methods of one kind of queue, declared once for every flavour."""

    _context: _Known
    _clients: ClassVar[tuple[type, ...]]

    def _connect(
        self,
        where: Settings,
        located: Located,
        lease: float | None = None,
        renewal: Callable[[Collection[bytes]], Operation[None]] | None = None,
    ) -> None:
        """Prepare connections, as the flavour does; nothing is sent.

        Args:
            where: The server.
            located: The queue.
            lease: For how many seconds a role is taken; None for no limit.
            renewal: Makes the operation that renews the leases of some holds.
        """
        raise NotImplementedError

    def _settings(self, **where: Any) -> Settings:
        """What arguments and environment say of the server."""
        return settings(**where, clients=self._clients)

    @property
    def _server(self) -> tuple[str, Any]:
        """Which server and database it is on."""
        raise NotImplementedError

    @property
    def name(self) -> bytes:
        """The queue's name."""
        return self._context.keys.name

    def __str__(self) -> str:
        """The queue's name for people."""
        return str(self._context.keys)


def definitions(kind: type) -> Iterator[tuple[str, Definition]]:
    """The definitions of a class and of those that it is made from, by their names."""
    for base in kind.__mro__:
        for name, each in vars(base).items():
            if isinstance(each, Definition):
                yield name, each


#: What a definition returns is what the flavour runs; what the method returns is made of that in brackets.
_RETURNS: Final = re.compile(r"(?:Operation|Errand|Span|Each)\[(.*)\]")


def like(definition: Definition, function: Callable[..., Any], returns: str) -> Callable[..., Any]:
    """A function with the name, the signature and the docstring of a definition.

    Args:
        definition: The definition.
        function: The function.
        returns: What it returns, where ``{}`` stands for what the definition's operation gives.
    """
    functools.update_wrapper(function, definition.define)
    del function.__wrapped__  # type: ignore[attr-defined]
    signature = inspect.signature(definition.define)
    result = returns.format(_RETURNS.sub(r"\1", str(signature.return_annotation)))
    function.__annotations__ = {**definition.define.__annotations__, "return": result}
    function.__signature__ = signature.replace(return_annotation=result)  # type: ignore[attr-defined]
    return function
