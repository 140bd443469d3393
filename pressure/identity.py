"""Who we are: the identifier left in the role keys, and the name our connections carry.

Pressure protocol 0.15, Clients: each client needs a unique identifying value, suggested to be made of host,
process and thread. Ours is ``<host>:<pid>/<thread>/<random>``, in printable ASCII without spaces. The part
before the slash is also what every connection of the process carries as CLIENT SETNAME (which takes no
spaces), so that CLIENT LIST tells whether the process behind an identifier is still connected.

Rules:
    - One identifier per thread and process, the same for every operation on every queue; on asyncio and Trio
      one per task, since tasks of one thread hold roles beside one another.
    - A forked child is another process: both are made anew there.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import threading
from functools import cache
from typing import Final
from weakref import WeakKeyDictionary

_local = threading.local()
_of_tasks: WeakKeyDictionary[object, tuple[int, bytes]] = WeakKeyDictionary()
_ID: Final = re.compile(rb"([A-Za-z0-9._-]+:[0-9]+)/[A-Za-z0-9._-]+/[0-9a-f]{8}")
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9._-]+")


@cache
def _host() -> str:
    return _plain(socket.gethostname()) or "localhost"


def _plain(text: str) -> str:
    """The text with everything but letters, digits, dot, underscore and hyphen replaced by hyphens."""
    return _NOT_PLAIN.sub("-", text)


def connection_name() -> str:
    """The name of this process's connections: ``<host>:<pid>``."""
    return f"{_host()}:{os.getpid()}"


def client_id() -> bytes:
    """This thread's identifier: ``<host>:<pid>/<thread>/<random>``."""
    pid = os.getpid()
    known: tuple[int, bytes] | None = getattr(_local, "known", None)
    if known is None or known[0] != pid:
        known = _local.known = (pid, _made(threading.current_thread().name or "thread"))
    return known[1]


def task_client_id(task: object, name: str) -> bytes:
    """A task's identifier: ``<host>:<pid>/<task>/<random>``, for as long as there is the task."""
    pid = os.getpid()
    known = _of_tasks.get(task)
    if known is None or known[0] != pid:
        known = _of_tasks[task] = (pid, _made(name or "task"))
    return known[1]


def _made(who: str) -> bytes:
    return f"{connection_name()}/{_plain(who)}/{secrets.token_hex(4)}".encode()


def name_in(identifier: bytes) -> bytes | None:
    """The connection name inside an identifier, or None when the identifier does not have our form."""
    match = _ID.fullmatch(identifier)
    return match[1] if match else None
