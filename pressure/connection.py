"""Our own connections to the server.

Rules:
    - Each carries a name of its own (CLIENT SETNAME), so that repair can tell which holds are alive.
    - A connection belongs to one operation at a time. Those of a parent process are never used in a forked
      child.
    - Which server they go to is found out anew for each; see ``finding``.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Any, Final
from weakref import WeakSet

import redis

from pressure.arguments import settings
from pressure.errors import ConnectionFailedError
from pressure.finding import Look, Search, failed
from pressure.identity import HOLDS
from pressure.keys import Located
from pressure.protocol.steps import Reply
from pressure.refusals import reply_on
from pressure.settings import CONNECT_TIMEOUT, REPLY_TIMEOUT, SLICE, Settings

__all__ = ["CONNECT_TIMEOUT", "REPLY_TIMEOUT", "SLICE", "Connections", "Settings", "settings"]


class Connections:
    """The idle connections of one queue object; safe to share between threads."""

    def __init__(self, where: Settings, keys: Located | None = None) -> None:
        self.settings = where
        self._keys = keys
        self._pid = os.getpid()
        self._idle: deque[Any] = deque()
        self._generation = 0  # how often all were closed; those in use then are not kept
        _all.add(self)

    def take(self) -> Any:
        """A connected connection that nobody else uses; ``put_back`` or ``drop`` it.

        Raises:
            ConnectionFailedError: The server cannot be reached or does not let us in.
            ClusterError: It is a cluster's, and the queue's name has no hash tag.
        """
        if self._pid != os.getpid():
            self._forget()
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if _is_quiet(connection):
                return connection
            connection.disconnect()
        return self._connect()

    def _connect(self) -> Any:
        search, connection, generation = Search(self.settings, self._keys), None, self._generation
        try:
            while (look := search.look) is not None:
                if connection is not None:
                    connection.disconnect()
                connection = _opened(look)
                search.hear(_heard(connection, look))
        except BaseException:
            if connection is not None:
                connection.disconnect()
            raise
        assert connection is not None
        connection.pressure_id = search.number
        connection.pressure_generation = generation
        return connection

    def put_back(self, connection: Any, *, keep: bool = True) -> None:
        """Keep the connection for the next operation, if it can be used; all replies were read."""
        if keep and connection.pressure_generation == self._generation:
            self._idle.append(connection)
        else:
            connection.disconnect()

    def disconnect(self) -> None:
        """Close the idle connections, and those in use as soon as they are given back."""
        self._generation += 1
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:
                break
            connection.disconnect()

    def _forget(self) -> None:
        """After a fork: the parent goes on using these connections, so only our copies are closed."""
        self._pid = os.getpid()
        self.disconnect()


#: The pools of this process.
_all: Final[WeakSet[Connections]] = WeakSet()


def _after_fork() -> None:
    """A child that kept its parent's connections open would make a parent that died look alive."""
    for connections in list(_all):
        connections._forget()


os.register_at_fork(after_in_child=_after_fork)


def _opened(look: Look) -> Any:
    """A connection that is not connected yet."""
    return look.where.connection_class(
        **{**look.where.kwargs, "client_name": HOLDS.connection_name().decode()}
    )


def _heard(connection: Any, look: Look) -> list[Reply] | ConnectionFailedError:
    """Connect, and ask."""
    try:
        connection.connect()
        for command in look.ask:
            connection.send_command(*command, check_health=False)
        return [reply_on(connection) for _ in look.ask]
    except (redis.RedisError, OSError) as error:
        problem = failed(look.where, error)
        problem.__cause__ = error
        return problem


def _is_quiet(connection: Any) -> bool:
    """Whether an idle connection is open and has nothing to read; a server that hung up makes it readable."""
    try:
        return not connection.can_read(0)
    except (redis.RedisError, OSError):
        return False
