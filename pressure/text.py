"""Make bytes from the server safe to print on a terminal.

Rule: a client that can write to the server must not be able to send control characters to a reader's
terminal. Errors, reports and the command line print names, identifiers and server errors through
``printable``.
"""

from __future__ import annotations


def printable(data: bytes | str) -> str:
    """The text on one line; control characters and bytes that are not UTF-8 are escaped."""
    text = data if isinstance(data, str) else data.decode("utf-8", "backslashreplace")
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
