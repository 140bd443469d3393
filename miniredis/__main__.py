"""The ``miniredis`` command: redis-server's directives as flags, one server in the foreground."""

from __future__ import annotations

import errno
import importlib.metadata
import logging
import shlex
import signal
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

import trio

from .arguments import NOT_SUPPORTED, likely_name
from .descriptors import TooFewError, fit_open_files_limit
from .engine import VERSION, Config, ConfigurationError
from .engine.config import UnknownDirectiveError
from .journal.damage import DamagedFileError
from .logs import VERBOSE, ServerLog, log
from .server import Server, serve

__all__ = ["main"]

USAGE = """\
usage: miniredis [--DIRECTIVE VALUE ...] ...
       miniredis --help | --version

Runs a Redis-compatible server that answers as redis-server {version} does.
It keeps all data in memory, and loses it when it stops, unless --appendonly,
--save or --dbfilename is given.

Directives are redis-server's, as flags. These are used most, with their defaults:

  --port 6379              TCP port; 0 picks a free one
  --bind 127.0.0.1         addresses to listen on; one that starts with '-', such
                           as -::1, is left out where the machine does not have it
  --requirepass ''         password that clients have to give
  --protected-mode yes     without a password, refuse clients of other machines
  --unixsocket ''          path of a Unix socket to listen on, too
  --databases 16           number of databases
  --maxclients 10000       most clients at a time
  --appendonly no          yes: keep the data in an append-only file
  --appendfsync everysec   when what is written there is on the disk: always (before
                           each reply), everysec, or no (when the system likes)
  --dbfilename dump.rdb    file that is loaded at the start; SAVE and BGSAVE write it
  --save ''                save it after so many SECONDS with so many CHANGES, and at
                           the end
  --dir .                  folder of these files
  --loglevel notice        debug, verbose, notice or warning

Of a directive whose feature miniredis does not have, such as --maxmemory or
--cluster-enabled, only the value that turns it off is accepted. No configuration
file is read.

The first line on stdout is 'listening on redis://HOST:PORT'. The log goes to stderr.
SIGINT (Ctrl-C), SIGTERM and the command SHUTDOWN stop the server.

Exit status: 0 it was stopped; 1 it cannot listen on its address, the limit on open
files is too low, the disk failed, or the data cannot be loaded; 2 a flag is wrong.
"""

USAGE_ERROR: Final = 2
"""The exit status for flags that are wrong, as argparse has it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status.

    Args:
        arguments: the words after the command's name; those of the process if omitted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--help" in words or words[:1] == ["-h"]:
        print(USAGE.format(version=VERSION), end="")  # noqa: T201
        return 0
    if "--version" in words or words[:1] == ["-v"]:
        version = importlib.metadata.version("pressure-queues")
        print(f"miniredis {version} (answers as redis-server {VERSION})")  # noqa: T201
        return 0
    try:
        config = read_flags(words)
    except BadFlagError as refusal:
        print(f"miniredis: error: {refusal}\nRun 'miniredis --help' for the flags.", file=sys.stderr)  # noqa: T201
        return USAGE_ERROR
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    logging.addLevelName(VERBOSE, "VERBOSE")
    log.setLevel(logging.DEBUG)  # each server's loglevel says what of it is logged
    return run(config)


class BadFlagError(Exception):
    """A word of the command line that miniredis does not accept; the text names it."""


def read_flags(words: Sequence[str]) -> Config:
    """The configuration that flags such as ``--port 6379 --bind 127.0.0.1 ::1`` ask for.

    Raises:
        BadFlagError: redis-server would not accept them either, or miniredis lacks what they ask for.
    """
    flags: list[tuple[str, list[str]]] = []
    for word in words:
        if word.startswith("--"):
            flags.append((word.removeprefix("--"), []))
        elif flags:
            flags[-1][1].append(word)
        elif word.startswith("-") and word != "-":
            raise BadFlagError(f"unknown flag {word}: flags start with two dashes, such as --port 6379")
        else:
            raise BadFlagError(
                f"{word!r} is not a flag, and miniredis reads no configuration file: give directives as "
                "flags, such as --port 6379"
            )
    given: dict[str, list[str]] = {}
    for name, values in flags:
        try:
            Config({name: values})
        except ConfigurationError as refusal:
            raise BadFlagError(explain(name, values, refusal)) from None
        given[name] = values
    return Config(given)


def explain(name: str, values: Sequence[str], refusal: ConfigurationError) -> str:
    """The flag, redis-server's own reason for refusing it, and what to write instead if that is clear."""
    flag, assigned, value = name.partition("=")
    text = f"{shlex.join([f'--{name}', *values])}: {refusal.explanation}"
    if not isinstance(refusal, UnknownDirectiveError):
        return text
    if assigned:
        return f"{text} (write --{flag} {value})"
    if name in NOT_SUPPORTED:
        return f"{text} (not supported by miniredis)"
    meant = likely_name(name, ["help", "version"])
    return f"{text} (did you mean --{meant}?)" if meant else text


def run(config: Config) -> int:
    """Serves until a signal or SHUTDOWN; the exit status is 1 if it cannot listen or have any client.

    Like redis-server, it ignores SIGHUP: it keeps running when its terminal closes.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        fit_open_files_limit(config)
        trio.run(partial(serve, config=config, alone=True, task_status=Announcer(config)))
    except (ConfigurationError, DamagedFileError, TooFewError) as refusal:
        log.error("%s", refusal)
        return 1
    except OSError as error:
        log.error("%s%s", error.strerror, advice(error))
        return 1
    return 0


def advice(error: OSError) -> str:
    if error.filename:
        return f": {error.filename}"
    return "; --port 0 picks a free port" if error.errno == errno.EADDRINUSE else ""


class Announcer:
    """Is handed the server as soon as clients can connect."""

    def __init__(self, config: Config) -> None:
        self._log = ServerLog(config)

    def started(self, server: Server) -> None:
        """Says where it listens, and lets signals stop it."""

        def stop(number: int, _: object) -> None:
            self._log.info("received %s, stopping", signal.Signals(number).name)
            server.stop()

        signal.signal(signal.SIGINT, stop)
        signal.signal(signal.SIGTERM, stop)
        print(f"listening on {server.public_url}", flush=True)  # noqa: T201
        self._log.info("ready to accept connections on %s", server.public_url)


if __name__ == "__main__":
    sys.exit(main())
