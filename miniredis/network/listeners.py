"""Listening sockets: ``bind``, ``port``, ``tls-port``, ``unixsocket`` and ``tcp-backlog``."""

from __future__ import annotations

import contextlib
import errno
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ..windows import refusal
from .tls import new_context, wants_tls

if TYPE_CHECKING:
    import ssl

    from ..engine import Config

__all__ = ["Listener", "addresses_of", "listening", "open_listeners"]

UNAVAILABLE = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}
"""Errors that are ignored for an optional address, marked with ``-``."""


LOOPBACK: Final = {"*": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::*": "::1", "::": "::1"}  # noqa: S104
"""The address at which clients on this machine connect, for each wildcard address of ``bind``."""


REFUSES: Final = sys.platform == "linux"
"""Whether a TCP socket that listens can be shut down, and listen on the same port again."""


class Listener(NamedTuple):
    """A listening socket and its address.

    Attributes:
        socket: non-blocking.
        host: the address that it is bound to; the path of a Unix socket.
        port: its TCP port; 0 for a Unix socket.
        tls: what its clients must speak; None for plain connections.
    """

    socket: socket.socket
    host: str
    port: int
    tls: ssl.SSLContext | None = None

    @property
    def is_unix(self) -> bool:
        """Whether it is a Unix socket."""
        return not self.port

    @property
    def reachable_host(self) -> str:
        """The address at which clients on this machine connect to it."""
        return LOOPBACK.get(self.host, self.host)

    @property
    def refuses(self) -> bool:
        """Whether the system refuses its clients, since ``refuse`` was called."""
        return REFUSES and not self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)

    def refuse(self) -> bool:
        """Has the system refuse clients, and keeps the port; returns whether the system can do that."""
        can = REFUSES and not self.is_unix
        if can and not self.refuses:
            self.socket.shutdown(socket.SHUT_RDWR)
        return can

    def listen_again(self, backlog: int) -> None:
        """Ends that."""
        if self.refuses:
            self.socket.listen(backlog)

    def close(self) -> None:
        """Stops listening; removes the file of a Unix socket, unless it belongs to a parent process."""
        is_ours = self.socket.fileno() >= 0
        self.socket.close()
        if self.is_unix and is_ours:
            Path(self.host).unlink(missing_ok=True)


@contextlib.contextmanager
def listening(config: Config) -> Iterator[list[Listener]]:
    """Listens as ``open_listeners`` does, until the block ends."""
    listeners = open_listeners(config)
    try:
        yield listeners
    finally:
        for listener in listeners:
            listener.close()


def open_listeners(config: Config) -> list[Listener]:
    """Listens on every address of ``bind``, all on one port (a free one if it is 0), and on ``unixsocket``.

    With a certificate it listens on these addresses for TLS, too, on ``tls-port`` (a free one if it is 0).
    With an empty ``bind`` it listens only on ``unixsocket``, as redis-server does.

    Raises:
        ConfigurationError: a directive for TLS cannot be obeyed.
        OSError: it cannot listen on an address; the message names it.
    """
    with ExitStack() as opened:
        listeners: list[Listener] = []
        found = addresses(config, config.integer("port"))
        if wants_tls(config):
            context = new_context(config)
            secured = addresses(config, config.integer("tls-port"))
            found = chain(found, (each._replace(tls=context) for each in secured))
        for listener in found:
            opened.callback(listener.close)
            listeners.append(listener)
        wants_tcp = config["bind"] or not config["unixsocket"]
        if not listeners and wants_tcp:
            raise OSError(
                errno.EADDRNOTAVAIL, f"could not listen on any address of 'bind' ({config['bind']!r})"
            )
        if config["unixsocket"]:
            listeners.append(open_unix(config))
        opened.pop_all()
        return listeners


def addresses(config: Config, port: int) -> Iterator[Listener]:
    for word in config["bind"].split():
        optional, host = word.startswith("-"), word.removeprefix("-")
        try:
            listener = open_tcp(host, port, config.integer("tcp-backlog"))
        except OSError as error:
            if optional and error.errno in UNAVAILABLE:
                continue
            raise OSError(error.errno, f"could not listen on {host}:{port}: {error.strerror}") from error
        port = listener.port
        yield listener


def open_tcp(host: str, port: int, backlog: int) -> Listener:
    family, address = resolve(host, port)
    with contextlib.ExitStack() as until_bound:
        if REFUSES and not port:  # a socket keeps a port that it chose itself only until it is shut down
            chooser = until_bound.enter_context(bind(family, address))
            address = (address[0], chooser.getsockname()[1])
        listening = bind(family, address)
    try:
        listening.listen(backlog)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return Listener(listening, host, listening.getsockname()[1])


def bind(family: socket.AddressFamily, address: tuple[str, int]) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # where it lets two servers have one port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


def resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    """``*`` means every IPv4 address and ``::*`` every IPv6 one, as in redis.conf."""
    if host == "*":
        return socket.AF_INET, ("0.0.0.0", port)  # noqa: S104  (asked for)
    if host == "::*":
        return socket.AF_INET6, ("::", port)
    name = host.encode() if host.isascii() else host  # text has Python load its codec for international names
    family, _, _, _, address = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)[0]
    return family, (str(address[0]), port)


def open_unix(config: Config) -> Listener:
    path = Path(config["unixsocket"])
    if sys.platform == "win32":
        raise refusal("a Unix socket")
    if path.is_socket():
        path.unlink()  # redis-server, too, takes it for one that a killed server left behind
    elif path.exists():
        raise OSError(errno.EEXIST, f"could not listen on {path}: something is there that is not a socket")
    listening, is_bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), False
    try:
        listening.bind(str(path))
        is_bound = True
        if permissions := int(config["unixsocketperm"], 8):
            path.chmod(permissions)
        listening.listen(config.integer("tcp-backlog"))
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        if is_bound:
            path.unlink(missing_ok=True)
        reason = error.strerror or str(error)  # the error for a path that is too long has no errno
        raise OSError(error.errno or errno.ENAMETOOLONG, f"could not listen on {path}: {reason}") from error
    return Listener(listening, str(path), 0)


class Accepted(Protocol):
    """A client's socket, Python's own or Trio's."""

    def setsockopt(self, level: int, option: int, value: int, /) -> None:
        """Sets an option."""

    def getpeername(self) -> tuple[str, int]:
        """The client's address."""

    def getsockname(self) -> tuple[str, int]:
        """The server's address."""


def addresses_of(accepted: Accepted, listener: Listener, config: Config) -> tuple[str, str]:
    """Sets up a new client's socket; returns its address and the server's, as CLIENT LIST shows them.

    Raises:
        OSError: the client has disconnected already.
    """
    if listener.is_unix:
        return f"{listener.host}:0", f"{listener.host}:0"
    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if seconds := config.integer("tcp-keepalive"):
        with contextlib.suppress(OSError):  # too many seconds for the system: Redis ignores that, too
            keep_alive(accepted, seconds)
    return as_text(accepted.getpeername()), as_text(accepted.getsockname())


def keep_alive(accepted: Accepted, seconds: int) -> None:
    """Turns on TCP keepalive for a client, as Redis's ``anetKeepAlive`` does.

    The first probe is sent after ``seconds`` of silence, and further ones after a third of that time each.
    After three probes without an answer the client is disconnected.
    """
    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if sys.platform == "linux":
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, seconds)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, max(seconds // 3, 1))
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
    elif sys.platform == "darwin":
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPALIVE, seconds)


def as_text(address: tuple[str, int]) -> str:
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
