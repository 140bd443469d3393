"""Consumer groups of a stream: who was given which entries, and has not acknowledged them."""

from __future__ import annotations

__all__ = ["Group"]


class Group:
    """A consumer group."""

    def copy(self) -> Group:
        """A group of its own."""
        return Group()
