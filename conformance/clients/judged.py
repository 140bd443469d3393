"""What a client that is judged has to offer."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["Client", "Judged"]


class Judged(Protocol):
    """What a client that is judged has to offer: these methods of ``pressure.Queue``, with its errors.

    Other methods of ``pressure.Queue`` are used where the client has them.
    """

    def create(self, bound: int = 0) -> None: ...  # noqa: D102
    def exists(self) -> bool: ...  # noqa: D102
    def length(self) -> int: ...  # noqa: D102
    def closed(self) -> bool: ...  # noqa: D102
    def put(  # noqa: D102
        self, value: Any, block: bool = True, timeout: float | None = None, *, overfill: bool = False
    ) -> None: ...
    def put_nowait(self, value: Any) -> None: ...  # noqa: D102
    def get(self, block: bool = True, timeout: float | None = None) -> bytes: ...  # noqa: D102
    def get_nowait(self) -> bytes: ...  # noqa: D102
    def shutdown(self) -> None: ...  # noqa: D102
    def delete(self, timeout: float | None = None) -> None: ...  # noqa: D102
    def wait_closed(self, timeout: float | None = None) -> bool: ...  # noqa: D102
    def disconnect(self) -> None: ...  # noqa: D102


class Client(Protocol):
    """Makes the clients that are judged: called with a queue's name, a URL and a prefix for its keys.

    ``pressure.Queue`` is one; ``Adapter`` makes one of a command.
    """

    def __call__(self, name: str, /, *, url: str, prefix: str) -> Judged: ...  # noqa: D102
