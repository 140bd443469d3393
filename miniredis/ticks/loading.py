"""Loading data in slices, between which the server answers its clients."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Final

import trio

from ..clock import Machine

if TYPE_CHECKING:
    from .tick_runner import TickRunner

__all__ = ["SLICE", "load_files"]

SLICE: Final = 0.003
"""Seconds for which the server loads its data before it answers clients again."""


async def load_files(runner: TickRunner) -> bool:
    """Loads the data that a server had; between slices of that, it answers clients.

    Returns:
        Whether all is loaded; False where SHUTDOWN came before.

    Raises:
        ConfigurationError, DamagedFileError, OSError: as ``ServerFiles.load``.
    """
    with contextlib.closing(runner.files.load()) as steps:
        while not run_slice(runner, steps):
            await trio.lowlevel.checkpoint()
            if runner.must_stop.is_set():
                return False
    return True


def run_slice(runner: TickRunner, steps: Generator[None, None, None]) -> bool:
    """Loads for a moment; tells whether all is loaded."""
    until = Machine.monotonic() + SLICE
    with runner.lock:
        with runner.marked_as_tick():
            for _ in steps:
                if Machine.monotonic() >= until:
                    return False
        runner.settle(runner.clock.now())
    return True
