"""The pressure protocol, versions 0.1 and 0.15; most clauses stand in both."""

from __future__ import annotations

from typing import Final

from ..registry import clauses_of

__all__ = ["BOTH", "OPEN", "both", "later"]

BOTH: Final = ("protocol-0.1", "protocol-0.15")

both = clauses_of(*BOTH)
later = clauses_of("protocol-0.15")

OPEN: Final = ("no-password",)
