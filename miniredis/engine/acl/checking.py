"""Checks the users that a configuration describes, before there is a server to have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..declarations.registry import table_of
from ..versions.version import Version
from . import acl_errors
from .catalog import catalog_of
from .loading import UserLineError, declared_user
from .user import User

__all__ = ["check_lines"]


def check_lines(lines: Iterable[Sequence[str]], version: Version) -> Iterator[tuple[Sequence[str], str]]:
    """Yields each line ``user ...`` that is refused, with the reason in Redis's words."""
    seen: set[bytes] = set()
    catalog = catalog_of(table_of(version))
    for line in lines:
        words = [word.encode("utf-8", "surrogateescape") for word in line]
        reason = b""
        if len(words) > 1 and words[1] in seen:
            reason = acl_errors.bad_user_line(words[1], acl_errors.DUPLICATE_USER)
        else:
            try:
                seen.add(declared_user(words, User, catalog).name)
            except UserLineError as refusal:
                reason = refusal.reason
        if reason:
            yield line, reason.decode("utf-8", "surrogateescape")
