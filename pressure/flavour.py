"""A flavour: what runs the definitions of a kind, whichever kind it is.

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
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

from pressure.errors import QueueClosedError
from pressure.methods import Form, Methods, definitions, like
from pressure.protocol.operation import Operation
from pressure.settings import Settings

T = TypeVar("T")

#: Makes the operation that renews the leases of some holds.
Renewal: TypeAlias = Callable[[Collection[bytes]], Operation[None]]


class Flavour(ABC):
    """Makes methods of definitions."""

    #: What runs what a definition of a form returns, and what the method returns then; see ``like``.
    _runners: ClassVar[dict[Form, tuple[Callable[..., Any], str]]]

    @staticmethod
    @abstractmethod
    def _method(define: Callable[..., Any], run: Callable[..., Any]) -> Callable[..., Any]:
        """The method that has ``run`` carry out what ``define`` returns."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        made = {name: each for name, each in definitions(cls) if inspect.getattr_static(cls, name) is each}
        for name, definition in made.items():  # what a subclass has of its own stays
            run, returns = cls._runners[definition.form]
            setattr(cls, name, like(definition, cls._method(definition.define, run), returns))
        kinds = (base for base in cls.__mro__ if issubclass(base, Methods) and not issubclass(base, Flavour))
        if made and not vars(cls).get("__doc__"):  # what a queue does is told by its kind
            cls.__doc__ = next(kinds).__doc__

    _where: Settings

    @property
    def _server(self) -> tuple[str, Any]:
        """Which server and database it is on."""
        return self._where.address, self._where.kwargs.get("db") or 0

    def __repr__(self) -> str:
        flavour = type(self).__module__.removeprefix("pressure").removesuffix(".queue").removesuffix(".kinds")
        return f"<{flavour[1:]}{flavour and '.'}{type(self).__qualname__} {self} at {self._where.address}>"


class Values(Generic[T]):
    """An asynchronous iteration over the values of a queue; leaving it early leaves nothing to be closed.

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
    """What fails at the end of a block that ended by an error becomes a note of that error."""
    try:
        yield
    except Exception as failure:
        error.add_note(f"at the end of the block, this failed, too: {failure}")
