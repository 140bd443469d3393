"""How many bytecode instructions the engine executes for a request: a cost that no busy machine can blur.

A scenario is played on an engine in this process, without sockets, with a clock that is held. Counted are the
instructions of miniredis's own Python code, each alike; what C code does for them is not seen. For one minor
version of Python the numbers are always the same.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

from conformance.wire import encode
from miniredis.engine import Engine, Environment, Instant, Session

__all__ = ["SCENARIOS", "Scenario", "instructions"]

ENGINE: Final = str(Path(sys.modules["miniredis.engine"].__file__ or "").parent)

WARM_UP: Final = 5
ROUNDS: Final = 20
LONG_AGO: Final = Instant(1_700_000_000_000_000, 1_000_000)
TICK: Final = 50
"""Microseconds between two ticks."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is played again and again.

    Attributes:
        request: what one client sends in a tick.
        commands: what the count is divided by.
        elements: how long ``list`` is before.
        waiters: how many are blocked on ``queue``; whoever is served blocks again, in a tick of its own.
        bystanders: how many are blocked on other keys, each on one of its own.
    """

    request: bytes
    commands: int = 1
    elements: int = 100
    waiters: int = 0
    bystanders: int = 0


FIVE: Final[Mapping[str, tuple[str, ...]]] = {
    "lpush": ("LPUSH", "list", "xxx"),
    "rpop": ("RPOP", "list"),
    "set": ("SET", "key", "xxx"),
    "get": ("GET", "key"),
    "incr": ("INCR", "number"),
}

WAIT: Final = encode("BLPOP", "queue", "0")

SCENARIOS: Final[Mapping[str, Scenario]] = {
    **{name: Scenario(encode(*command)) for name, command in FIVE.items()},
    **{f"{name}-16": Scenario(encode(*command) * 16, commands=16) for name, command in FIVE.items()},
    "lrange-100": Scenario(encode("LRANGE", "list", "0", "99")),
    "hand-over": Scenario(encode("LPUSH", "queue", "xxx"), commands=2, waiters=1),
}
"""By name; the numbers accepted for them stand in ``accepted.json``."""


class Stage:
    """An engine with the clients of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self.now = LONG_AGO
        no_time_passes = Environment(stopwatch=float)  # so no command is ever slow
        self.engine = Engine(now=self.now, environment=no_time_passes)
        self.client = self.engine.connect(self.now)
        self.request = scenario.request
        self.tick(self.client, encode("RPUSH", "list", *["xxx"] * scenario.elements))
        for key in ["queue"] * scenario.waiters + [
            f"other:{number}" for number in range(scenario.bystanders)
        ]:
            self.tick(self.engine.connect(self.now), encode("BLPOP", key, "0"))

    def tick(self, session: Session, data: bytes) -> Collection[Session]:
        """One client is read from, and all output is taken; returns those who had any."""
        self.now = Instant(self.now.wall + TICK, self.now.monotonic + TICK)
        self.engine.receive(session, data, self.now)
        due = self.engine.settle(self.now)
        for each in due:
            each.take_output()
        return due

    def play(self) -> None:
        """The scenario, once."""
        for session in self.tick(self.client, self.request):
            if session is not self.client:
                self.tick(session, WAIT)


def instructions(scenario: Scenario) -> float:
    """Bytecode instructions for each command of a scenario."""
    stage = Stage(scenario)
    for _ in range(WARM_UP):
        stage.play()
    counter = Counter()
    with counter.at_work():
        for _ in range(ROUNDS):
            stage.play()
    return round(counter.count / ROUNDS / scenario.commands, 1)


class Counter:
    """Counts the instructions of the engine's code that this thread executes."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Counts; nothing is collected meanwhile, since that may run code, too."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            with self._monitored() if sys.version_info >= (3, 12) else self._traced():
                yield
        finally:
            if collecting:
                gc.enable()

    @contextmanager
    def _traced(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self._at_call)
        try:
            yield
        finally:
            sys.settrace(before)

    def _at_call(self, frame: FrameType, _event: str, _: Any) -> Any:
        if not is_engine(frame.f_code):
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return self._at_event

    def _at_event(self, _frame: FrameType, event: str, _: Any) -> Any:
        self.count += event == "opcode"
        return self._at_event

    @contextmanager
    def _monitored(self) -> Iterator[None]:
        """Since 3.12, where a trace of instructions that was ended does not always begin again."""
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        tool, instruction = monitoring.PROFILER_ID, monitoring.events.INSTRUCTION
        thread = threading.get_ident()

        def at_instruction(code: CodeType, _offset: int) -> Any:
            if not is_engine(code):
                return monitoring.DISABLE
            self.count += threading.get_ident() == thread
            return None

        monitoring.use_tool_id(tool, "tests.tools.instructions")
        monitoring.register_callback(tool, instruction, at_instruction)
        monitoring.set_events(tool, instruction)
        try:
            yield
        finally:
            monitoring.set_events(tool, 0)
            monitoring.register_callback(tool, instruction, None)
            monitoring.free_tool_id(tool)


def is_engine(code: CodeType) -> bool:
    """Whether it is code of the engine."""
    return code.co_filename.startswith(ENGINE)
