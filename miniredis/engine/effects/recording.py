"""Who reads the effects of commands: the replicas, and whoever writes the append-only file.

While nobody reads them, ``Engine.effects`` is None, and commands cost nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .effects import EffectLog, EffectReader, Effects

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["EffectReaders"]


class EffectReaders:
    """The readers of one engine's effects; one of them collects effects until they are taken.

    Args:
        engine: its ``effects`` are set while there is a reader.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._effects = Effects(engine.keyspace, engine.version)
        self._log = EffectLog()

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
        self.add_reader(self._log)

    def name_database(self) -> None:
        """The next effect begins a file of its own: it says first which database it is for."""
        self._log.selected = None

    def take(self) -> bytes:
        """The effects since the last time, as the bytes of an append-only file."""
        return self._log.take()

    def stop(self) -> None:
        """Collects no more, and forgets what was not taken."""
        self.remove_reader(self._log)
        self.name_database()
        self._log.take()
