"""Which words of a request are secret: what is shown of a request leaves them out, as Redis's slow log does.

``SECRETS`` has a row for each command that takes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from .engine.config.table import DIRECTIVES
from .engine.glob import compile_glob
from .engine.protocol.requests import REDACTED

__all__ = ["REDACTED", "secret_places", "tells_secret", "without_secrets"]

DIRECTIVES_WITH_SECRETS: Final = {
    name.encode() for name, directive in DIRECTIVES.items() if "secret" in directive.traits
} | {b"tls-key-file-pass", b"tls-client-key-file-pass"}  # Redis's slow log shows these; reports hide them


def all_behind(number: int) -> Callable[[Sequence[bytes]], Iterable[int]]:
    return lambda words: range(number, len(words))


def behind_auth(words: Sequence[bytes]) -> Iterable[int]:
    """What follows the options AUTH and AUTH2: a user and a password, or only a password."""
    for at, word in enumerate(words):
        if word in {b"auth", b"auth2"}:
            yield from (at + 1, at + 2)


def secret_values(words: Sequence[bytes]) -> Iterable[int]:
    return (at + 1 for at in range(2, len(words), 2) if words[at] in DIRECTIVES_WITH_SECRETS)


SECRETS: Final[dict[tuple[bytes, ...], Callable[[Sequence[bytes]], Iterable[int]]]] = {
    (b"auth",): all_behind(1),
    (b"hello",): behind_auth,
    (b"migrate",): behind_auth,
    (b"config", b"set"): secret_values,
    (b"acl", b"setuser"): all_behind(2),
}
"""The places of secret words, given all words in lower case."""


def secret_places(words: Sequence[bytes]) -> set[int]:
    """The places of those words of a request that are secret; some may be behind its end."""
    lower = [word.lower() for word in words[:2]]
    places = SECRETS.get((*lower[:1],)) or SECRETS.get((*lower,))
    return set() if places is None else {*places([word.lower() for word in words])}


def without_secrets(words: Sequence[bytes]) -> Sequence[bytes]:
    """The words of a request, with ``(redacted)`` in the place of each that is secret."""
    if secret := secret_places(words):
        return [REDACTED if at in secret else word for at, word in enumerate(words)]
    return words


def tells_secret(words: Sequence[bytes]) -> bool:
    """Whether the reply to a request may have a secret: that to CONFIG GET of such a directive."""
    if [word.lower() for word in words[:2]] != [b"config", b"get"]:
        return False
    patterns = [compile_glob(word, ignore_case=True) for word in words[2:]]
    return any(fits(name) for fits in patterns for name in DIRECTIVES_WITH_SECRETS)
