"""Bytes that others wrote, as people are shown them.

Rule: whoever may write to a server may not write on the terminal of those who look at it. Errors, reports and
the command line show names, identifiers and a server's own words through ``printable``.
"""

from __future__ import annotations

__all__ = ["printable"]


def printable(data: bytes | str) -> str:
    """Text on one line, without control characters: these, and what is not UTF-8, are escaped."""
    text = data if isinstance(data, str) else data.decode("utf-8", "backslashreplace")
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
