"""The constructor of reliable queues, which chooses the backend: a stream, or the commands of RedisMQ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from pressure.checks import whole
from pressure.codecs import Codec, V
from pressure.keys import as_bytes
from pressure.kinds.kind import Kind
from pressure.kinds.reliable.backend import Backend
from pressure.kinds.reliable.model import GROUP, Capabilities, Delivered, ReliableKeys
from pressure.kinds.reliable.module import Module
from pressure.kinds.reliable.operations import QueueState
from pressure.kinds.reliable.stream import Stream
from pressure.methods.methods import method
from pressure.protocol.operation import Operation

BACKENDS: Final[dict[str, Callable[[], Backend]]] = {"module": Module, "stream": Stream}
"""The backends, by the name that ``backend=`` takes."""


class ReliableBase(Kind[V]):
    """The constructor and the state of a reliable queue; see ``ReliableMethods``."""

    _kind = "reliable"

    def __init__(
        self,
        name: bytes | str,
        *,
        url: str | None = None,
        client: Any = None,
        host: str | None = None,
        port: int | None = None,
        db: int | None = None,
        scripts: bool = True,
        codec: Codec[V] | str | None = None,
        key: bytes | str | None = None,
        backend: str = "stream",
        group: bytes | str = GROUP,
        max_deliveries: int | None = None,
    ) -> None:
        if backend not in BACKENDS:
            raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, not {backend!r}")
        self._init_context(name, key, codec, scripts=scripts)
        self.keys = ReliableKeys.of(self._context.keys.main, as_bytes(group, "group"))
        self._most = None if max_deliveries is None else whole(max_deliveries, "max_deliveries")
        self._state = QueueState(self.keys, BACKENDS[backend](), self._most)
        self._connect_to(
            *self.keys.all[1:], *self.keys.due.all, url=url, client=client, host=host, port=port, db=db
        )

    def _decoding(self, message: Delivered[V]) -> Delivered[V]:
        return replace(message, _codec=self._item_codec.codec)

    @method
    def capabilities(self) -> Operation[Capabilities]:
        """Which backend the queue uses, and how it differs from the other. Nothing is sent."""
        return self._state.backend.capabilities
        yield  # an operation without a step
