"""Who reads the effects of commands: the replicas, and whoever writes the append-only file.

While nobody reads them, ``Engine.effects`` is None, and commands cost nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..declarations.registry import chosen
from .effects import EffectLog, EffectReader, Effects

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["EffectReaders", "counters"]


def counters(engine: Engine) -> tuple[EffectReader, ...]:  # noqa: ARG001
    """Who counts the effects that the append-only file gets."""
    return ()


class EffectReaders:
    """The readers of one engine's effects; one of them collects effects until they are taken.

    Args:
        engine: its ``effects`` are set while there is a reader.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._effects = Effects(engine.keyspace, engine.version)
        self._log = EffectLog()
        self._of_file: tuple[EffectReader, ...] = ()

    def add_reader(self, reader: EffectReader) -> None:
        """Tells a reader from now on what commands do."""
        self._effects.add_reader(reader)
        self._engine.effects = self._effects

    def remove_reader(self, reader: EffectReader) -> None:
        """Tells a reader no more; nothing is recorded where nobody else reads."""
        self._effects.remove_reader(reader)
        if not self._effects:
            self._engine.effects = None

    # For the append-only file

    def start(self) -> None:
        """Collects effects from now on, for ``take``."""
        self._of_file = self._of_file or (self._log, *chosen(self._engine.version, counters)(self._engine))
        for reader in self._of_file:
            self.add_reader(reader)

    def name_database(self) -> None:
        """The next effect begins a file of its own: it says first which database it is for."""
        self._log.selected = None

    def take(self) -> bytes:
        """The effects since the last time, as the bytes of an append-only file."""
        return self._log.take()

    def stop(self) -> None:
        """Collects no more, and forgets what was not taken."""
        for reader in self._of_file:
            self.remove_reader(reader)
        self.name_database()
        self._log.take()
