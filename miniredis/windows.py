"""Windows: what needs Unix is refused there. Only the loop of streams runs, and the data are in memory."""

from __future__ import annotations

import errno

__all__ = ["refusal"]


def refusal(what: str) -> OSError:
    """The error for what Windows lacks."""
    return OSError(errno.ENOTSUP, f"{what} needs Linux or macOS; miniredis cannot do it on Windows")
