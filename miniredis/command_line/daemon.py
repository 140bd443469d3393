"""The process of the command ``miniredis``: its log, its pid file, running in the background, supervision.

``daemonize``, ``logfile``, ``pidfile`` and ``supervised`` do what they do in redis-server. ``start`` and
``serve`` use none of this, because their process belongs to the program that calls them.
"""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Final

from ..engine import Config
from ..logs import VERBOSE, log
from ..windows import refusal

__all__ = ["CommandProcess", "log_to"]

DEFAULT_PID_FILE: Final = "/var/run/redis.pid"
"""redis-server's pid file in the background, unless ``pidfile`` names another."""

FORMAT: Final = "%(asctime)s %(levelname)s %(message)s"


LONGEST: Final = 1023
"""How many characters of a message are logged: as many as redis-server logs."""

CONTROL_CHARACTERS: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}


class OneLineFormatter(logging.Formatter):
    """Puts a message on one line: clients and masters choose words of it, and terminals obey some bytes."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (the name is that of ``logging``)
        """The line; the traceback of an error follows on its own lines."""
        record.message = record.message[:LONGEST]
        return super().formatMessage(record).translate(CONTROL_CHARACTERS)


def log_to(file: str) -> None:
    """Appends the log to a file, or writes it to stderr if the name is empty.

    If the file is moved away while the server runs, as logrotate does, it is created again.

    Raises:
        OSError: the file cannot be written.
    """
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if file:
        handler = logging.handlers.WatchedFileHandler(file, errors="backslashreplace")
    handler.setFormatter(OneLineFormatter(FORMAT))
    logging.basicConfig(handlers=[handler])
    logging.addLevelName(VERBOSE, "VERBOSE")
    log.setLevel(logging.DEBUG)  # each server filters by its own loglevel


class CommandProcess:
    """The process of the command. Create it before any thread: ``daemonize`` continues in a forked child.

    Args:
        config: the server's directives.
    """

    def __init__(self, config: Config) -> None:
        self._supervisor = supervisor(config["supervised"])
        config.learn("supervised", self._supervisor or "no")
        is_background = config["daemonize"] == "yes" and not self._supervisor
        if is_background:
            go_to_background()
            if not config["pidfile"]:
                config.learn("pidfile", DEFAULT_PID_FILE)
        self._pid_file = config["pidfile"]
        self._has_pid_file = False

    def ready(self) -> None:
        """Writes the pid file if it can, as redis-server does, and tells systemd that clients can connect."""
        if self._pid_file:
            try:
                Path(self._pid_file).write_text(f"{os.getpid()}\n")
                self._has_pid_file = True
            except OSError as error:
                log.warning("cannot write the pid file %s: %s", self._pid_file, error.strerror)
        if self._supervisor == "systemd":
            notify("STATUS=Ready to accept connections\nREADY=1\n")

    def ended(self) -> None:
        """Removes the pid file, and tells systemd that the server has stopped."""
        if self._has_pid_file:
            with contextlib.suppress(OSError):
                Path(self._pid_file).unlink()
        if self._supervisor == "systemd":
            notify("STOPPING=1\n")


def go_to_background() -> None:
    """Continues in a forked child without a terminal; this process exits at once, with status 0."""
    if sys.platform == "win32":
        raise refusal("daemonize")
    sys.stdout.flush()
    sys.stderr.flush()
    if os.fork():
        os._exit(0)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for each in range(3):
        os.dup2(nothing, each)
    if nothing > 2:
        os.close(nothing)


def supervisor(mode: str) -> str:
    """Which program supervises this process, ``upstart`` or ``systemd``; empty if none does.

    Args:
        mode: the directive ``supervised``.
    """
    if mode == "auto":
        mode = next((name for name, sign in SIGNS.items() if os.environ.get(sign)), "no")
    if mode == "upstart":
        if not os.environ.pop(SIGNS[mode], ""):
            log.warning("upstart supervision requested, but UPSTART_JOB not found!")
            return ""
        if sys.platform != "win32":
            os.kill(os.getpid(), signal.SIGSTOP)  # upstart sees that, and lets it continue
        return mode
    if mode == "systemd":
        return mode if notify("STATUS=Redis is loading...\n") else ""
    return ""


SIGNS: Final = {"upstart": "UPSTART_JOB", "systemd": "NOTIFY_SOCKET"}
"""Each supervisor's environment variable, in the order in which redis-server looks for them."""


def notify(state: str) -> bool:
    """Tells systemd the state of the service (sd_notify(3)). If it cannot, logs why, and returns False."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        log.warning("systemd supervision requested, but NOTIFY_SOCKET not found!")
        return False
    if sys.platform == "win32":
        raise refusal("supervised")
    if address.startswith("@"):  # a name that is not in the file system (unix(7))
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.sendto(state.encode(), address)
    except OSError as error:
        log.warning("cannot tell systemd at NOTIFY_SOCKET: %s", error.strerror)
        return False
    return True
