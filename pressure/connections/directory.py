"""Queues without a server to start: ``miniredis:`` URLs, and the server of a directory behind them.

The first process that uses a queue of a directory runs the server, on a thread; others connect to it. When
that process ends, the next process that opens a connection runs the server (``miniredis.join``). Commands
that the old server had not begun are sent to the new one, under the same hold; see
``PooledExecution.accept_end``.

Rules:
    - miniredis is imported when such a URL is used, and not before.
    - Each connection is opened by way of ``reach``, also in the process that runs the server.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode

from pressure.connections.discovery import failed
from pressure.connections.settings import Directory, Settings

SCHEME: Final = "miniredis:"

_POLICIES: Final = ("always", "everysec", "no")


def parse(url: str) -> tuple[Directory, str]:
    """The directory that a URL names, and a URL with its options for a connection.

    Raises:
        ValueError: The URL is wrong.
        ImportError: miniredis, or a package that it needs, is not installed.
    """
    if os.name == "nt":
        raise ValueError("miniredis does not run on Windows; use a redis:// URL")
    place, _, query = url.removeprefix(SCHEME).partition("?")
    name = unquote(place.removeprefix("//"))
    if not name or (place.startswith("//") and not name.startswith("/")):
        raise ValueError(
            f"write {SCHEME}///absolute/path, or {SCHEME}path for one in the current directory; not {url!r}"
        )
    options = dict(parse_qsl(query))
    policy = options.pop("appendfsync", "always")
    if policy not in _POLICIES:
        raise ValueError(f"appendfsync must be one of {', '.join(_POLICIES)}, not {policy!r}")
    _miniredis()
    path = Path(name)
    if path.parts[0] == "~":  # also where no shell expands it: in Python, in an .env file
        path = path.expanduser()
    path = path.resolve()
    return Directory(path, policy), f"unix://{quote(str(path))}{'?' if options else ''}{urlencode(options)}"


def _miniredis() -> ModuleType:
    try:
        return importlib.import_module("miniredis")
    except ImportError as error:
        raise ImportError(
            f"a {SCHEME} URL needs the package miniredis and its dependencies ({error}); "
            "pip install pressure-queues (in a checkout: pip install .) installs them"
        ) from error


def reach(where: Settings, tick: Callable[[], object] = lambda: None) -> str:
    """The path of the server's socket. If no process runs the server, this one starts it. Blocks meanwhile.

    Args:
        where: Names the directory.
        tick: Called ten times a second; an exception that it raises ends the wait.

    Raises:
        ConnectionFailedError: The server cannot be started, or does not answer.
    """
    miniredis = _miniredis()
    assert where.directory is not None
    folder, policy = where.directory
    try:
        path: str = miniredis.join(folder, appendfsync=policy, timeout=where.connect_timeout, tick=tick)
    except (OSError, miniredis.DamagedFileError) as error:
        raise failed(where, getattr(error, "strerror", None) or error) from error
    return path
