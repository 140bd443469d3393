"""The pressure protocol, versions 0.1 and 0.15; most clauses stand in both."""

from __future__ import annotations

from typing import Final

from ..registry import clauses_of

__all__ = ["OPEN", "both", "later"]

both = clauses_of("protocol-0.1", "protocol-0.15")
later = clauses_of("protocol-0.15")

OPEN: Final = ("no-password",)
