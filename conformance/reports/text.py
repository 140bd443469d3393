"""Text as reports may hold it: what XML and terminals cannot is written as an escape."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["readable", "shortened"]

HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)
"""Control characters but line ends and tabs, lone surrogates, what has no width, what turns a line around."""


def readable(text: str) -> str:
    r"""The text with what cannot be seen as ``\x00`` or ``\u202e``."""
    return HIDDEN.sub(lambda found: ascii(found[0])[1:-1], text)


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning and how much more there is."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit:,} characters more)"
