"""Snapshots for replicas, written by a forked process to a temporary file that has no name.

The file is mapped into memory, so its bytes are sent from it and not copied. It goes with its last user.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Callable, Iterable
from typing import IO, TYPE_CHECKING, cast

from ..persistence.child import Child

if TYPE_CHECKING:
    from ..logs import ServerLog

__all__ = ["begin_snapshot"]

FAILED = "cannot write a snapshot for replicas beside other work; they will ask again: %s"


def begin_snapshot(
    blocks: Callable[[], Iterable[bytes]],
    when_over: Callable[[bytes | None], None],
    later: Callable[[Callable[[], object]], None],
    log: ServerLog,
) -> Callable[[], None]:
    """Begins to write the data as they are now.

    Args:
        blocks: makes the bytes; called in the forked process.
        when_over: is given them all, or None if that failed.
        later: calls a function soon, on the server's own thread and with its lock, unless it has stopped.
        log: the server's.

    Returns:
        What ends it: nothing is told then.

    Raises:
        OSError: there can be no more processes or files, or the system forks none.
    """
    if not hasattr(os, "fork"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    file = tempfile.TemporaryFile()  # noqa: SIM115  (closed when its process is over)
    is_cancelled = False

    def write() -> None:
        file.writelines(blocks())
        file.flush()

    def end(failure: str) -> None:
        content = None
        with file:
            try:
                content = None if failure or is_cancelled else mapped(file)
            except OSError as error:
                failure = str(error)
        later(lambda: tell(content, failure))

    def tell(content: bytes | None, failure: str) -> None:
        if is_cancelled:
            return
        if content is None:
            log.warning(FAILED, failure)
        when_over(content)

    def cancel() -> None:
        nonlocal is_cancelled
        is_cancelled = True
        child.kill()

    try:
        child = Child(write, end)
    except OSError:
        file.close()
        raise
    return cancel


def mapped(file: IO[bytes]) -> bytes:
    """What a file holds: as good as bytes for those who send it."""
    return cast("bytes", mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
