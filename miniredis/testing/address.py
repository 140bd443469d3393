"""Where a server is that is running."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

__all__ = ["Address", "without_password"]


@dataclass(frozen=True, slots=True)
class Address:
    """A server that is running.

    Attributes:
        url: its redis:// URL.
        origin: what it is and where it came from, for people.
        in_process: whether it is miniredis in this process, whose engine can be explored without sockets.
        another: starts one more server of the kind, with flags of its own, which checks may shut down or
            reconfigure; None if that is not possible.
        emptied: empties this very server for as long as the context lasts; None if nobody has allowed it.
    """

    url: str
    origin: str
    in_process: bool = False
    another: Callable[..., AbstractContextManager[Address]] | None = field(
        default=None, compare=False, repr=False
    )
    emptied: Callable[[], AbstractContextManager[Address]] | None = field(
        default=None, compare=False, repr=False
    )

    @property
    def host(self) -> str:
        """The host in the URL; 127.0.0.1 if there is none."""
        return urlsplit(self.url).hostname or "127.0.0.1"

    @property
    def port(self) -> int:
        """The port in the URL; 6379 if there is none."""
        return urlsplit(self.url).port or 6379

    @property
    def db(self) -> int:
        """The database in the URL; 0 if there is none."""
        return int(urlsplit(self.url).path.strip("/") or 0)

    def at(self, host: str, port: int) -> Address:
        """The same server, reached at another host and port, such as a proxy's."""
        parts = urlsplit(self.url)
        who, at, _ = parts.netloc.rpartition("@")
        return replace(self, url=parts._replace(netloc=f"{who}{at}{host}:{port}").geturl())

    @property
    def user(self) -> str | None:
        """The user in the URL; None if there is none."""
        name = urlsplit(self.url).username
        return unquote(name) if name else None

    @property
    def password(self) -> str | None:
        """The password in the URL; None if there is none. It is never shown."""
        word = urlsplit(self.url).password
        return unquote(word) if word else None


def without_password(url: str) -> str:
    """The URL as it may be shown: all that stands before the last @ is taken for a user and a password."""
    scheme, _, rest = url.partition("://")
    login, at, place = rest.rpartition("@")
    user, has_password, _ = login.partition(":")
    return f"{scheme}://{user}:***@{place}" if at and has_password else url
