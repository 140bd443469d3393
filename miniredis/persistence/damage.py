"""What is said of a file that cannot be read."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DamagedFileError"]


class DamagedFileError(Exception):
    """A file of the server's data cannot be read; nothing of it was changed, and the server does not start.

    Attributes:
        path: which file.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)  # both, so that the error can go to another process
        self.path = path

    def __str__(self) -> str:
        return "{}: {}".format(*self.args)
