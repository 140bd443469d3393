"""Scripts: the cache of loaded scripts, how one runs, and how it calls commands.

The engine does not know the language: an ``Interpreter``, made when the first script arrives, runs scripts
and calls back through a ``Caller``. While a script runs, nothing else runs until it has taken
``busy-reply-threshold`` milliseconds. From then on other clients are served in between: they get the error
BUSY, except for commands with the flag ``allow_busy``. No key expires while a script runs.

A thread that runs requests of others leaves them their scripts, unless those were quick the last time
(``Scripts.leave``): it could have to wait for ever, and nobody would be left to kill them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..call import call, show
from ..clients.client_flags import LIMITED
from ..clients.session import Session
from ..config.table import LOG_LEVELS
from ..declarations.registry import Command, chosen
from ..protocol.errors import CommandError
from ..protocol.replies import Encoded, Reply, encode
from ..protocol.requests import FastParser, RequestParser
from . import script_errors
from .lru import LruCache
from .script_flags import check_flags, read_shebang
from .script_interfaces import Failure, Interpreter, NoLanguageError
from .script_words import words_of_failure, words_of_library, words_of_refusal

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["RunningScript", "Script", "Scripts"]


LOAD_LIMIT: Final = 0.5
"""Seconds that loading a library may take."""

MOST_CACHED: Final = 128 * 1024 * 1024
"""The most bytes of scripts kept for EVALSHA; the least recently used are dropped."""

OVERHEAD: Final = 500
"""About how many bytes a script takes in addition to its text."""


QUICK: Final = 0.001
"""Seconds within which a script has to end to be run on any thread the next time."""


@dataclass(slots=True)
class Script:
    """A script of EVAL.

    Attributes:
        sha: its SHA1, in hexadecimal.
        body: its text as it was sent.
        code: the text without the shebang line.
        flags: the flags of the shebang line; None without one.
        is_quick: whether it was quick the last time.
    """

    sha: bytes
    body: bytes
    code: bytes
    flags: frozenset[bytes] | None
    is_quick: bool = False


class RunningScript:
    """A script that is running.

    Attributes:
        name: the SHA1 of a script, or the name of a function.
        client: the client that called it.
        session: runs its commands.
        request: the command that started it.
        is_function: whether FCALL called it.
        is_read_only: whether it may not write.
        started: when it started, in seconds of the stopwatch.
        has_written: whether it has called a command that writes.
        is_killed: whether it must end.
        slot: the hash slot of its keys; None while it has none, and where there is no cluster.
        keeps_to_slot: whether it may use the keys of one slot only.
    """

    __slots__ = (
        "client", "has_written", "is_function", "is_killed", "is_read_only", "keeps_to_slot", "name",
        "request", "session", "slot", "started",
    )  # fmt: skip

    def __init__(
        self, name: bytes, client: Session, session: Session, request: list[bytes], started: float
    ) -> None:
        self.name = name
        self.client = client
        self.session = session
        self.request = request
        self.started = started
        self.is_function = False
        self.is_read_only = False
        self.has_written = False
        self.is_killed = False
        self.slot: int | None = None
        self.keeps_to_slot = False


class ScriptSession(Session):
    """The session in which the commands of scripts run."""

    __slots__ = ("_scripts",)
    is_script = True

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, 0, RequestParser(FastParser(), lambda: 0, lambda: False), engine.now)
        self._scripts = engine.scripts
        self.address = b"lua"
        self.flags = 0

    @property
    def client(self) -> Session:
        """The client that called the script."""
        run = self._scripts.running
        return self if run is None else run.client

    @property
    def may_block(self) -> bool:
        """Always False: a command that would block replies as if it had timed out."""
        return False


class Scripts:
    """The scripts of one engine.

    Args:
        engine: runs their commands.

    Attributes:
        version: the number of the Redis that the server answers as.
        valkey: the number of the Valkey that it answers as; empty for Redis.
        no_words: the error of a call without arguments, in the words of the version.
        bad_words: the error of a call with arguments that are neither strings nor numbers, likewise.
        running: the script that is running.
        must_end: whether the server is stopping, so that scripts must end.
        only_quick: whether a script that was not quick the last time is left to its client's thread.
        deferred: the clients whose threads have one to run.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.version, self.valkey = engine.version.number, engine.version.valkey
        self.no_words, self.bad_words = words_of_library(engine.version)
        self.running: RunningScript | None = None
        self.must_end = False
        self.only_quick = False
        self.deferred: set[Session] = set()
        self._interpreter: Interpreter | None = None
        self._scripts = LruCache[Script](MOST_CACHED)
        self._session: Session | None = None
        self._loading_since = 0.0

    def __len__(self) -> int:
        return len(self._scripts)

    # Loaded scripts

    @property
    def interpreter(self) -> Interpreter:
        """The interpreter for the scripts of EVAL; raises ``CommandError`` if no language is available."""
        if self._interpreter is None:
            self._interpreter = self.make_interpreter(for_functions=False)
        return self._interpreter

    def make_interpreter(self, *, for_functions: bool) -> Interpreter:
        """A new interpreter; raises ``CommandError`` if its language is not installed."""
        new_interpreter = self._engine.environment.new_interpreter
        if new_interpreter is None:
            raise CommandError(script_errors.NO_LUA)
        try:
            return new_interpreter(self, for_functions=for_functions)
        except NoLanguageError:
            raise CommandError(script_errors.NO_LUA) from None

    def find(self, sha: bytes) -> Script:
        """The script with a SHA1, in any case; raises NOSCRIPT."""
        script = self._scripts.get(sha) or self._scripts.get(sha.lower())
        if script is None:
            raise CommandError(script_errors.NO_SCRIPT)
        return script

    def load(self, body: bytes) -> Script:
        """The script with that text, compiled if new; raises ``CommandError`` if it does not compile."""
        interpreter = self.interpreter
        sha = interpreter.digest(body)
        script = self._scripts.get(sha)
        if script is None:
            code, flags = chosen(self._engine.version, read_shebang)(body)
            if problem := interpreter.compile(sha, code):
                raise CommandError(script_errors.not_compiled(problem))
            script = Script(sha, body, code, flags)
            self._scripts.add(sha, script, OVERHEAD + len(body))
        return script

    def has(self, sha: bytes) -> bool:
        """Whether a script with this SHA1 is loaded."""
        return sha.lower() in self._scripts

    def flush(self) -> None:
        """Drops all scripts of EVAL and their interpreter."""
        self._scripts.clear()
        self._interpreter = None

    # Running

    def evaluate(
        self, client: Session, script: Script, request: list[bytes], keys: int, *, is_read_only: bool
    ) -> Reply:
        """Runs a script for a client, and returns its reply.

        Args:
            client: the client that called it.
            script: a loaded script.
            request: EVAL and its arguments.
            keys: the number of keys among them.
            is_read_only: whether it may not write, whatever its flags say.
        """
        is_read_only |= check_flags(self._engine, script.flags, is_read_only=is_read_only)
        interpreter = self.interpreter
        run = self.begin(client, script.sha, request, is_function=False, is_read_only=is_read_only)
        run.keeps_to_slot = script.flags is not None and b"allow-cross-slot-keys" not in script.flags
        try:
            names, args = request[3 : 3 + keys], request[3 + keys :]
            outcome = interpreter.run(script.sha, script.code, names, args, client.resp)
            script.is_quick = self._engine.environment.stopwatch() - run.started < QUICK
            return self.conclude(outcome)
        finally:
            self.end()

    def defer(self, client: Session, request: list[bytes]) -> bool:
        """Postpones a request if it may run a script that is not quick; returns whether it did."""
        if self.are_quick(client, request):
            return False
        client.postpone(request)
        self.deferred.add(client)
        return True

    def are_quick(self, client: Session, request: list[bytes]) -> bool:
        """Whether the scripts that a request runs, if any, were quick the last time."""
        command = self._engine.commands.look_up(request)
        if command is None:
            return True
        if command.name == b"exec" and client.transaction is not None:
            return not any("scripting" in queued.categories for queued, _ in client.transaction.queued)
        if command.name in {b"evalsha", b"evalsha_ro"} and len(request) > 1:
            script = self._scripts.get(request[1])
            return script is None or script.is_quick
        return "scripting" not in command.categories

    def begin(
        self, client: Session, name: bytes, request: list[bytes], *, is_function: bool, is_read_only: bool
    ) -> RunningScript:
        """Starts a run."""
        session = self._session = self._session or ScriptSession(self._engine)
        session.db, session.resp = client.db, 2
        started = self._engine.environment.stopwatch()
        self.running = run = RunningScript(name, client, session, request, started)
        run.is_function, run.is_read_only = is_function, is_read_only
        self._engine.notifier.is_in_script = True
        if self._engine.cluster is not None:
            self._engine.cluster.begin_script(run)
        return run

    def end(self) -> None:
        """Ends a run."""
        self.running = None
        self._engine.notifier.is_in_script = False
        self._engine.conditions.set_busy(False)

    def conclude(self, outcome: Reply | Failure) -> Reply:
        """The reply of a script; an error that was not counted yet is raised instead."""
        if not isinstance(outcome, Failure):
            return outcome
        say = chosen(self._engine.version, words_of_failure)
        error = CommandError(say(outcome.text, is_of_command=outcome.is_counted))
        if outcome.is_counted:
            return Encoded(encode(error, 2))
        raise error

    # The ``Caller`` of scripts

    def call(self, args: list[bytes]) -> Reply:
        """Runs a command for the running script; returns its reply or its error."""
        run, engine = self.running, self._engine
        assert run is not None
        session = run.session
        command = engine.commands.plain.get(args[0]) or engine.commands.look_up(args)
        refusal = script_errors.UNKNOWN_IN_SCRIPT if command is None else self._refusal(run, command, args)
        if refusal is not None or command is None:
            refusal = refusal or script_errors.UNKNOWN_IN_SCRIPT
            said = words_of_refusal(engine.version).get(refusal, refusal)
            return engine.statistics.rejected(command, CommandError(said))
        session.last_command = command
        if "write" in command.flags:
            run.has_written = True
        reply = call(engine, session, command, args)
        if engine.conditions.monitors:
            show(session, command, args)
        if run.client.tracker is not None and "readonly" in command.flags:
            self._remember(run)
        return reply

    def _refusal(self, run: RunningScript, command: Command, args: list[bytes]) -> bytes | None:
        """Why a command may not run in the running script; checked in Redis's order."""
        engine, flags = self._engine, command.flags
        writes = "write" in flags
        if command.handler is None or not command.least <= len(args) <= command.most:
            return script_errors.ARITY_IN_SCRIPT
        if "noscript" in flags:
            return script_errors.NOT_FROM_SCRIPTS
        if engine.conditions.is_stale and "stale" not in flags:
            return script_errors.STALE_IN_SCRIPT
        if run.client.flags & LIMITED and (denial := engine.users.denied(run.client, command, args, b"lua")):
            return denial.in_script(engine.version, run.client.user.name)
        if run.is_read_only and (writes or "may_replicate" in flags):
            return script_errors.READ_ONLY_SCRIPT
        if writes and not run.client.must_obey and (refusal := engine.conditions.write_refusal):
            return refusal
        return None if engine.cluster is None else engine.cluster.refuse_in_script(run, command, args)

    def writes(self, args: list[bytes]) -> bool:
        """Whether a command has the flag ``write``."""
        command = self._engine.commands.look_up(args)
        return command is not None and "write" in command.flags

    def _remember(self, run: RunningScript) -> None:
        """A tracking client that reads through a script tracks the script's keys, as in Redis."""
        command = self._engine.commands.look_up(run.request)
        assert command is not None
        self._engine.notifier.tracking.remember(run.client, command, run.request)

    def is_allowed(self, args: list[bytes]) -> bool | None:
        """Whether the user of the script may run a command; None if there is no such command."""
        command = self._engine.commands.look_up(args)
        client = self.running.client if self.running is not None else None
        if command is None:
            return None
        return client is None or self._engine.users.allows(client, command, args)

    def logs(self, level: int) -> bool:
        """Whether the directive ``loglevel`` lets a message of ``redis.log`` pass."""
        return level >= LOG_LEVELS.index(self._engine.config["loglevel"])

    def count_error(self, text: bytes) -> None:
        """Counts an error that a script returns inside its reply."""
        self._engine.statistics.count_error(CommandError(text))

    def interrupt(self) -> bytes | None:
        """Serves other clients if the script is slow; returns the error with which it must end, or None."""
        run, engine = self.running, self._engine
        if run is None:
            return script_errors.LOAD_TIMEOUT if self._loads_for_too_long() else None
        environment = engine.environment
        if environment.clock is not None:
            engine.now = environment.clock()
        threshold = engine.config.integer("busy-reply-threshold")
        if not engine.conditions.busy and threshold:
            engine.conditions.set_busy(self.milliseconds >= threshold)
        if engine.conditions.busy:
            frozen = engine.keyspace.milliseconds  # no key expires while a script runs
            only_quick, self.only_quick = self.only_quick, False  # others run their scripts themselves
            environment.let_others_in()
            engine.keyspace.milliseconds, self.only_quick = frozen, only_quick
        if run.is_killed or engine.shutdown_requested or self.must_end:
            return script_errors.KILLED_SCRIPT  # the same text for functions
        return None

    def start_loading(self) -> None:
        """Starts the time limit for loading a library."""
        self._loading_since = self._engine.environment.stopwatch()

    def _loads_for_too_long(self) -> bool:
        return self._engine.environment.stopwatch() - self._loading_since > LOAD_LIMIT

    # Slow scripts

    def is_running_for(self, session: Session) -> bool:
        """Whether a client waits for its own script to end."""
        return self.running is not None and self.running.client is session

    @property
    def milliseconds(self) -> int:
        """How long the script has been running."""
        if self.running is None:
            return 0
        return int((self._engine.environment.stopwatch() - self.running.started) * 1000)

    @property
    def busy_text(self) -> bytes:
        """The BUSY error that other clients get."""
        is_function = self.running is not None and self.running.is_function
        return script_errors.busy(b"FUNCTION" if is_function else b"SCRIPT")

    def kill(self, *, is_function: bool) -> None:
        """Ends the running script; raises ``CommandError`` if none is running or it cannot be killed."""
        run = self.running
        if run is None:
            raise CommandError(script_errors.NOT_BUSY)
        if run.has_written:
            raise CommandError(script_errors.UNKILLABLE)
        if run.is_function != is_function:
            raise CommandError(self.busy_text)
        run.is_killed = True
