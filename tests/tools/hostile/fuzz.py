"""Feeds made-up frames to the engine: nothing may crash it, hold it up, or stay behind in it.

Many clients send by turns, cut anywhere, come and go. After every ``LULL`` frames all of them leave: then
nothing may be left of them, and a new client must be served. Replies must be well-formed.
"""

from __future__ import annotations

import gc
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Final

import hiredis

from conformance.wire import encode

from .mutation import Frames

if TYPE_CHECKING:
    from miniredis.engine import Engine, Instant, Session

__all__ = ["Findings", "Fuzzer", "command_names"]

CLIENTS: Final = 8
LULL: Final = 2000
"""Frames between two moments of quiet."""

LONGEST_TICK: Final = 2.0
"""Seconds that one piece of a frame may take, on a machine that does something else, too."""

LONGEST_LULL: Final = 60
"""Seconds after which what runs is taken to run for ever."""

GOING: Final = 0.005
GOING_WAITING: Final = 0.2
"""How probably a client goes after a frame; one that waits for a key, or has sent half a frame, goes soon."""

WARM_UP: Final = 3
"""Lulls after which memory should have found its level."""

BLOCKS_LEFT: Final = 20_000
BYTES_LEFT: Final = 64 << 20
"""How much more memory may be in use at the end than at the end of the warm-up: caches fill slowly."""

END: Final = b"the end of what was sent"

LEFT_OUT: Final = frozenset(
    b"shutdown config|set client|pause sync psync replconf replicaof slaveof failover".split()
)
"""Commands that would end the run, or change what it runs under or what a connection is for."""


class HalfAReplyError(Exception):
    """What was sent when a tick ended was not whole."""


class Stuck(Exception):  # noqa: N818  (it is a state)
    """Something runs for ever."""


@dataclass
class Findings:
    """What a run did, and what it found.

    Attributes:
        frames: how many frames were fed.
        pieces: in how many pieces.
        bytes_in: their size.
        bytes_out: the size of the replies.
        clients: how many came.
        commands: how many requests were run.
        slowest: seconds of CPU time the longest piece took.
        blocks: blocks of memory in use at each lull.
        resident: bytes of memory of the process at each lull, where the system tells.
        faults: what should not have been, by kind, with what led there.
    """

    frames: int = 0
    pieces: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    clients: int = 0
    commands: int = 0
    slowest: float = 0.0
    blocks: list[int] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)

    def note(self, kind: str, story: str) -> None:
        """Keeps the first story of each kind."""
        self.faults.setdefault(kind, story)


class Client:
    """A session and what is known of it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.reader = hiredis.Reader(notEnoughData=self)
        self.sent: list[bytes] = []
        self._hushed = False

    def sends(self, piece: bytes) -> None:
        """Keeps the last few pieces in mind.

        Whoever turns replies off inside a transaction gets half of what EXEC says, from Redis, too.
        """
        self.sent = [*self.sent[-3:], piece]
        self._hushed = self._hushed or b"reply" in b"".join(self.sent).lower()

    def check(self, output: bytes) -> None:
        """Raises an error of hiredis's, or one of ours, where replies are not well-formed or not whole."""
        self.reader.feed(output + b"+%b\r\n" % END)
        last: object = None
        try:
            while (reply := self.reader.gets()) is not self:
                last = reply
        except TypeError:  # a key of a map that Python cannot hash; what follows is not looked at
            self.reader = hiredis.Reader(notEnoughData=self)
        else:
            if last != END and not self._hushed:
                raise HalfAReplyError(repr(last)[:500])


class Fuzzer:
    """One run.

    Args:
        seed: where the randomness comes from; the same seed makes the same run.
        longest_lull: seconds of CPU time between two lulls after which the run is taken to be stuck.
    """

    def __init__(self, seed: int, longest_lull: float = LONGEST_LULL) -> None:
        self.findings = Findings()
        self._longest_lull = longest_lull
        self._random = random.Random(seed)  # noqa: S311  (nothing here is secret)
        self._frames = Frames(seed, command_names())
        self._now = 1_000_000
        self._engine = self._made_engine(seed)
        self._clients: list[Client] = []
        self._by_session: dict[Session, Client] = {}

    def run(self, frames: int, progress: Callable[[int], None] = lambda _: None) -> Findings:
        """Feeds so many frames; ``progress`` is told at each lull how many there were."""
        while self.findings.frames < frames:
            with alarm(self._longest_lull):
                try:
                    for _ in range(min(LULL, frames - self.findings.frames)):
                        self._feed_one()
                except Stuck:
                    self.findings.note("stuck", traceback.format_exc())
                    return self.findings
            self._lull()
            progress(self.findings.frames)
        self._judge_memory()
        return self.findings

    def _feed_one(self) -> None:
        while len(self._clients) < CLIENTS:
            self._welcome()
        client = self._random.choice(self._clients)
        frame = self._frames.next()
        self.findings.frames += 1
        for piece in self._frames.cut(frame):
            client.sends(piece)
            began = time.process_time()
            self._feed(client, piece)
            took = time.process_time() - began
            if took > self.findings.slowest:
                self.findings.slowest = took
            if took > LONGEST_TICK:
                self.findings.note("slow", f"{took:.1f} s: {client.sent!r}")
            if client.session not in self._by_session:
                return
        self._send_some_away(client)

    def _feed(self, client: Client, piece: bytes) -> None:
        self.findings.pieces += 1
        self.findings.bytes_in += len(piece)
        try:
            self._engine.receive(client.session, piece, self._instant())
            self._settle()
            self.findings.commands += self._engine.statistics.total
            self._engine.statistics.reset()  # as CONFIG RESETSTAT in a frame may do, too
        except Stuck:
            raise
        except Exception as fault:
            self.findings.note(kind_of(fault), f"{client.sent!r}\n{traceback.format_exc()}")
            self._drop(client)

    def _settle(self) -> None:
        due = self._engine.settle(self._instant())
        for whose, met in self._engine.take_faults():
            self._note_fault(whose, met)
        for session in due:
            output = session.take_output()
            self.findings.bytes_out += len(output)
            client = self._by_session.get(session)
            if client is None:
                continue
            if session.replica is not None:  # by a mutated request: a snapshot and a stream are not replies
                self._drop(client)
                continue
            try:
                client.check(output)
            except (hiredis.HiredisError, HalfAReplyError) as fault:
                self.findings.note(kind_of(fault), f"{client.sent!r}\nanswered by {output[:2000]!r}")
                self._drop(client)
            if session.closing:
                self._drop(client)

    def _note_fault(self, session: Session | None, fault: Exception) -> None:
        if isinstance(fault, Stuck):
            raise fault
        client = self._by_session.get(session) if session else None
        story = "".join(traceback.format_exception(fault))
        self.findings.note(kind_of(fault), f"{client.sent if client else None!r}\n{story}")
        if client:
            self._drop(client)

    def _send_some_away(self, client: Client) -> None:
        waits = client.session.waiter is not None or len(client.session.parser)
        if self._random.random() < (GOING_WAITING if waits else GOING):
            self._drop(client)

    def _welcome(self) -> None:
        client = Client(self._engine.connect(self._instant(), address="127.0.0.1:1"))
        self.findings.clients += 1
        self._clients.append(client)
        self._by_session[client.session] = client

    def _drop(self, client: Client) -> None:
        if self._by_session.pop(client.session, None):
            self._clients.remove(client)
            self._engine.disconnect(client.session, self._instant())

    def _instant(self) -> Instant:
        from miniredis.engine import Instant

        self._now += self._random.choice((1, 10, 1000, 20_000))
        return Instant(self._now, self._now)

    # Quiet

    def _lull(self) -> None:
        """All leave; nothing of them may be left, and who comes now is served."""
        for client in list(self._clients):
            self._drop(client)
        self._engine.end_pause()
        self._engine.reset(self._instant())
        self._settle()
        for kind, left in leftovers(self._engine).items():
            self.findings.note(f"left behind: {kind}", repr(left)[:500])
        self._serve_newcomers()
        if self._random.random() < 0.2 or len(self.findings.blocks) < 2 * WARM_UP:
            self._measure()

    def _serve_newcomers(self) -> None:
        engine = self._engine
        blocked, other = (engine.connect(self._instant()) for _ in range(2))
        engine.receive(blocked, encode("BLPOP", "newcomers", "0"), self._instant())
        engine.receive(other, encode("PING") + encode("RPUSH", "newcomers", "x"), self._instant())
        self._settle_newcomers(blocked, b"*2\r\n$9\r\nnewcomers\r\n$1\r\nx\r\n", other, b"+PONG\r\n:1\r\n")
        for session in (blocked, other):
            engine.disconnect(session, self._instant())

    def _settle_newcomers(self, blocked: Session, served: bytes, other: Session, answered: bytes) -> None:
        self._engine.settle(self._instant())
        if (got := (blocked.take_output(), other.take_output())) != (served, answered):
            self.findings.note("not served", repr(got))

    def _measure(self) -> None:
        gc.collect()
        self.findings.blocks.append(sys.getallocatedblocks())
        self.findings.resident.append(resident_bytes())

    def _judge_memory(self) -> None:
        self._measure()
        blocks, resident = self.findings.blocks[WARM_UP:], self.findings.resident[WARM_UP:]
        if blocks and blocks[-1] - blocks[0] > BLOCKS_LEFT:
            self.findings.note("memory grows", f"blocks in use: {blocks}")
        if resident and resident[-1] - resident[0] > BYTES_LEFT:
            self.findings.note("memory grows", f"resident bytes: {resident}")

    @staticmethod
    def _made_engine(seed: int) -> Engine:
        from miniredis.engine import Config, Engine, Environment, Instant
        from miniredis.scripting import new_interpreter

        config, now = Config({"proto-max-bulk-len": "1mb"}), Instant(1_000_000, 1_000_000)
        return Engine(config, now, seed, Environment(new_interpreter=new_interpreter))


def command_names() -> list[tuple[tuple[bytes, ...], int]]:
    """What to call: every command of miniredis that is not left out, as its words and its arity."""
    from miniredis.engine.declarations.registry import commands

    found = []
    for command in commands():
        inside = commands(command.subcommands) if command.subcommands else ()
        found += [(tuple(each.name.split(b"|")), each.arity) for each in (command, *inside)]
    return [each for each in found if b"|".join(each[0]) not in LEFT_OUT]


def leftovers(engine: Engine) -> dict[str, object]:
    """What clients that are gone and keys that are deleted have left in the engine."""
    databases = engine.keyspace.databases
    held: dict[str, object] = {
        "sessions": engine.sessions,
        "output": engine.outbox,
        "monitors": engine.conditions.monitors,
        "keys": [len(db) for db in databases if len(db)],
        "deadlines": [db.deadlines for db in databases if db.deadlines],
        "watched keys": [db.watchers for db in databases if db.watchers],
        "blocked clients": len(engine.waiting),
        "clients held up by a pause": engine.conditions.postponed,
    }
    return {kind: left for kind, left in held.items() if left}


def kind_of(fault: BaseException) -> str:
    """A fault by its type and place, so that each is told once."""
    places = traceback.extract_tb(fault.__traceback__)
    where = f" at {places[-1].filename}:{places[-1].lineno}" if places else ""
    return f"{type(fault).__name__}{where}"


def resident_bytes() -> int:
    """The process's memory, where the system shows it in a file; else 0."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * 4096
    except OSError:
        return 0


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raises ``Stuck`` in what runs too long, in seconds of this process alone: others may be busy, too.

    On the main thread only, where signals arrive.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise Stuck(f"no end after {seconds} s of CPU time")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
