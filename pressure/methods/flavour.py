"""A flavour turns the definitions of a kind of queue, any kind, into methods, and runs what they return.

``synchronous`` has the flavour with functions, ``asynchronous`` what the two flavours with coroutines share.
To join a flavour and a kind: ``class BackupQueue(Synchronous, BackupMethods)``.

Rules:
    - A block that holds a role runs both its ends on one connection, on which the hold lives.
"""

from __future__ import annotations

import contextlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterator
from typing import Any, ClassVar, Generic, NoReturn, Self, TypeAlias, TypeVar

from pressure.connections.settings import Settings
from pressure.errors import QueueClosedError
from pressure.methods.methods import Form, Methods, definitions, like
from pressure.protocol.operation import Operation

T = TypeVar("T")

#: Makes the operation that renews the leases of some holds.
Renewal: TypeAlias = Callable[[Collection[bytes]], Operation[None]]


class Flavour(ABC):
    """Turns definitions into methods."""

    #: By form: the function that runs what a definition returns, and the method's return type; see ``like``.
    _runners: ClassVar[dict[Form, tuple[Callable[..., Any], str]]]

    @staticmethod
    @abstractmethod
    def _method(define: Callable[..., Any], run: Callable[..., Any]) -> Callable[..., Any]:
        """The method that passes to ``run`` what ``define`` returns."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        made = {name: each for name, each in definitions(cls) if inspect.getattr_static(cls, name) is each}
        for name, definition in made.items():  # a subclass may override a method
            run, returns = cls._runners[definition.form]
            definition.define.__qualname__ = f"{cls.__name__}.{name}"  # in Python's errors about arguments
            setattr(cls, name, like(definition, cls._method(definition.define, run), returns))
        if made and inspect.isfunction(cls.__init__):
            cls.__init__.__qualname__ = f"{cls.__name__}.__init__"
        kinds = (base for base in cls.__mro__ if issubclass(base, Methods) and not issubclass(base, Flavour))
        if made and not vars(cls).get("__doc__"):  # a queue has the docstring of its kind
            cls.__doc__ = next(kinds).__doc__

    _where: Settings

    @property
    def _server(self) -> tuple[str, Any]:
        """Which server and database it is on."""
        return self._where.address, self._where.kwargs.get("db") or 0

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled or copied: its connections belong to this process; "
            "make one in each process, of the same name and URL"
        )

    def __repr__(self) -> str:
        flavour = type(self).__module__.removeprefix("pressure").removesuffix(".queue").removesuffix(".kinds")
        return f"<{flavour[1:]}{flavour and '.'}{type(self).__qualname__} {self} at {self._where.address}>"


class Values(Generic[T]):
    """An asynchronous iteration over the values of a queue; a loop that ends early has nothing to close.

    Args:
        get: Takes one value.
    """

    def __init__(self, get: Callable[[], Awaitable[T]]) -> None:
        self._get = get

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        try:
            return await self._get()
        except QueueClosedError:
            raise StopAsyncIteration from None


@contextlib.contextmanager
def noted_in(error: BaseException) -> Iterator[None]:
    """Add an exception at the end of a block as a note to the error by which the block ended."""
    try:
        yield
    except Exception as failure:
        error.add_note(f"at the end of the block, this failed, too: {failure}")
