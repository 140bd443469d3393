"""How the methods of a kind of queue are declared: once, for every flavour.

A kind is a subclass of ``Methods``. Its methods are definitions: functions that check their arguments and
return the operations to run. ``pressure.methods.flavour`` joins a kind with each flavour, and turns its definitions
into functions or coroutine functions.

| decorator | the function returns | the method is |
|---|---|---|
| ``@method`` | an ``Operation`` | called for its result |
| ``@context_manager`` | a ``Block``: the operations at both ends of a block | used in ``with`` |
| ``@iterator`` | a ``NextBlock``: a function that makes such a block for each value | used in ``for`` |
| ``@callback_method`` | a ``CallbackOperation``: operations, and calls of the user's functions | called for its result |

Type checkers and editors see the methods through ``Definition.__get__``: its overloads turn the signature of a
definition into that of the flavour's method.

Rules:
    - A definition sends nothing itself, so that arguments are checked before a key is touched.
    - The operation at the end of a block runs even if the task is cancelled, but never in a forked child.
"""  # noqa: E501, a table

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Generator, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum, auto
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

from pressure.connections.arguments import settings
from pressure.connections.settings import Settings
from pressure.keys import QueueKeys
from pressure.protocol.operation import HasClock, HasKeys, Operation

if TYPE_CHECKING:
    from pressure.execution.asynchronous import Asynchronous
    from pressure.sync.flavour import Synchronous

S = TypeVar("S")
T = TypeVar("T")
P = ParamSpec("P")
#: What the method of the flavour with functions returns, and that of a flavour with coroutines.
R = TypeVar("R", covariant=True)
A = TypeVar("A", covariant=True)

#: What a method of a flavour with coroutines returns.
Coro: TypeAlias = Coroutine[Any, Any, T]


class Form(Enum):
    """How a flavour runs what a definition returns; see the table above."""

    METHOD = auto()
    CONTEXT_MANAGER = auto()
    ITERATOR = auto()
    CALLBACK_METHOD = auto()


class Definition(Generic[P, R, A]):
    """A declared method, in the class of a kind.

    Args:
        define: The function that was decorated.
        form: How a flavour runs what it returns.
    """

    def __init__(self, define: Callable[..., Any], form: Form) -> None:
        self.define = define
        self.form = form
        self.__doc__ = define.__doc__

    if TYPE_CHECKING:  # at run time a flavour's class has functions in the place of its definitions

        @overload
        def __get__(self, queue: Synchronous, kind: object = None) -> Callable[P, R]: ...
        @overload
        def __get__(self, queue: Asynchronous, kind: object = None) -> Callable[P, A]: ...
        @overload
        def __get__(self, queue: None, kind: object = None) -> Callable[..., Any]: ...
        def __get__(self, queue: object, kind: object = None) -> Callable[..., Any]: ...


@dataclass(frozen=True, slots=True)
class Block(Generic[T]):
    """The operations at both ends of a ``with`` block.

    Attributes:
        enter: Its result is the value of the ``with`` statement.
        leave: Called with that value, and the block's error or None; returns the operation to run, or None.
        holds_role: Whether the block holds a role, so that both operations run on one connection.
    """

    enter: Operation[T]
    leave: Callable[[T, BaseException | None], Operation[None] | None]
    holds_role: bool = False
    _process: int = field(default_factory=os.getpid)

    def end(self, taken: T, error: BaseException | None) -> Operation[None] | None:
        """The operation to run at the end of the block; None in a forked child: its parent ends the block."""
        operation = self.leave(taken, error)
        return operation if os.getpid() == self._process else None


#: Makes the block of the next value; the loop ends when entering one raises ``QueueClosedError``.
NextBlock: TypeAlias = Callable[[], Block[T]]


@dataclass(frozen=True, slots=True)
class MethodCall:
    """A call of a function of the user's; with coroutines, of a coroutine function.

    Attributes:
        function: The function.
        argument: What it is called with.
        heartbeat: Makes an operation that is run periodically meanwhile; None for nothing.
        every: Seconds between two of these operations.
    """

    function: Callable[[Any], Any]
    argument: Any
    heartbeat: Callable[[], Operation[Any]] | None = None
    every: float = 0.0


#: Operations and calls, one after the other; errors are thrown into it. None is a place to stop at.
CallbackOperation: TypeAlias = Generator[Operation[Any] | MethodCall | None, Any, T]


def method(define: Callable[Concatenate[S, P], Operation[T]]) -> Definition[P, T, Coro[T]]:
    """Declares a method; the function returns its operation."""
    return Definition(define, Form.METHOD)


def context_manager(
    define: Callable[Concatenate[S, P], Block[T]],
) -> Definition[P, AbstractContextManager[T, None], AbstractAsyncContextManager[T, None]]:
    """Declares a method for ``with`` blocks; the function returns their operations."""
    return Definition(define, Form.CONTEXT_MANAGER)


def iterator(
    define: Callable[Concatenate[S, P], NextBlock[T]],
) -> Definition[P, Generator[T, None, None], AsyncGenerator[T, None]]:
    """Declares a method for ``for`` loops; the function returns one that makes the block of each value."""
    return Definition(define, Form.ITERATOR)


def callback_method(define: Callable[Concatenate[S, P], CallbackOperation[T]]) -> Definition[P, T, Coro[T]]:
    """Declares a method that calls the user's functions; the function returns operations and calls."""
    return Definition(define, Form.CALLBACK_METHOD)


class _AnyContext(HasKeys, HasClock, Protocol):
    """The context of an operation on any kind of queue."""


class Methods:
    """The methods of one kind of queue, declared once for every flavour."""

    _context: _AnyContext
    _clients: ClassVar[tuple[str, ...]]
    #: Whether the flavour's methods, and the functions that they call, are coroutine functions.
    _has_coroutines: ClassVar[bool]

    def _connect(
        self,
        where: Settings,
        keys: QueueKeys,
        lease: float | None = None,
        renewal: Callable[[Collection[bytes]], Operation[None]] | None = None,
    ) -> None:
        """Prepare connections, as the flavour does; nothing is sent.

        Args:
            where: The server.
            keys: The queue.
            lease: For how many seconds a role is taken; None for no limit.
            renewal: Makes the operation that renews the leases of some holds.
        """
        raise NotImplementedError

    def _settings(self, **where: Any) -> Settings:
        """The settings from the arguments and the environment."""
        return settings(**where, clients=self._clients)

    @property
    def _server(self) -> tuple[str, Any]:
        """The queue's server and database."""
        raise NotImplementedError

    @property
    def name(self) -> bytes:
        """The queue's name."""
        return self._context.keys.name

    def __str__(self) -> str:
        """The queue's name for people."""
        return str(self._context.keys)


def definitions(kind: type) -> Iterator[tuple[str, Definition[..., Any, Any]]]:
    """The definitions of a class and of its base classes, with their names."""
    for base in kind.__mro__:
        for name, each in vars(base).items():
            if isinstance(each, Definition):
                yield name, each


#: The return type of a definition; that of the method is made from the part in brackets.
_RETURNS: Final = re.compile(r"\w+\[(.*)\]")


def like(
    definition: Definition[..., Any, Any], function: Callable[..., Any], returns: str
) -> Callable[..., Any]:
    """A function with the name, the signature and the docstring of a definition.

    Args:
        definition: The definition.
        function: The function.
        returns: Its return type, where ``{}`` stands for the type of the operation's result.
    """
    functools.update_wrapper(function, definition.define)
    del function.__wrapped__  # type: ignore[attr-defined]
    signature = inspect.signature(definition.define)
    result = returns.format(_RETURNS.sub(r"\1", str(signature.return_annotation), count=1))
    function.__annotations__ = {**definition.define.__annotations__, "return": result}
    function.__signature__ = signature.replace(return_annotation=result)  # type: ignore[attr-defined]
    return function
