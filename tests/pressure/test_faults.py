"""Every fault at every message of every operation: none is silent, and repair restores the queue.

After each:
    - An error that says that nothing was changed is right, and a lost connection is not opened again
      silently.
    - The invariant holds at once; or an error or a warning says that it may not, and repair restores it.
    - No value is there twice, and each value that is gone was returned, or an error says that it may be lost.
    - The client under test can go on without being made again.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from conformance.clients.flavours import FLAVOURS as CLIENTS
from conformance.wire.gate import Gate
from pressure import (
    ConnectionFailedError,
    OutcomeUnknownError,
    PressureError,
    PressureWarning,
    Queue,
    QueueDoesNotExistError,
)
from tests.cases import check_each, exhaustive

from .conftest import until
from .faults import COMMANDS, FAULTS, Fault, Patient, forbidden, patient, states
from .operation_cases import OPERATION_CASES, Boom, OperationCase

FLAVOURS: dict[str, Any] = {
    **CLIENTS,
    "leased": partial(Queue, lease=3000.0),
    "leased and plain": partial(Queue, lease=3000.0, scripts=False),
}
NAME = "{jobs}"
ROOT = "__pressure__:" + NAME
MOST_MESSAGES = 40


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Patient]:
    with patient(tmp_path_factory.mktemp("patient")) as made:
        yield made


@pytest.fixture(scope="module")
def gate(server: Patient) -> Iterator[Gate]:
    with Gate(server.address) as made:
        yield made


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits are looked after often."""
    monkeypatch.setattr("pressure.queue.SLICE", 0.02)


@dataclass
class Outcome:
    """What became of a call, and of another client's meanwhile."""

    taken: list[bytes] = field(default_factory=list)
    error: Exception | None = None
    other: Exception | None = None
    warned: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        errors = [each for each in (self.error, self.other) if each is not None]
        notes = [note for each in errors for note in getattr(each, "__notes__", [])]
        return "; ".join([*map(repr, errors), *notes, *self.warned])

    @property
    def is_unknown(self) -> bool:
        return "OutcomeUnknown" in self.words or "lost" in self.words

    @property
    def leaves_a_dead_hold(self) -> bool:
        """Whether it says that something could not be put back; whoever waits, or ``repair``, does so then."""
        return "repair" in self.words or "this failed, too" in self.words


@contextmanager
def warned(found: Outcome) -> Iterator[None]:
    """Hears the warnings, of which only ours are expected."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for each in caught:
        assert each.category is PressureWarning, str(each.message)
        found.warned.append(str(each.message))


class Case:
    """One fault at one message of one operation."""

    def __init__(self, server: Patient, gate: Gate, flavour: str, operation: OperationCase) -> None:
        self.server, self.gate, self.operation = server, gate, operation
        self.raw = server.raw
        self.raw.flushall()
        self.admin = Queue(NAME, url=server.server.url)
        if operation.bound is not None:
            self.admin.create(operation.bound)
            self.admin.put_many(operation.values, overfill=True)
        if operation.more:
            operation.more(self.admin, self.raw)
        self.queue = FLAVOURS[flavour](NAME, url=gate.url)
        self.queue.exists()  # it is connected
        self.before = states(self.raw)

    def play(self, fault: Fault, at: int, *, lasts: bool) -> bool:
        """Whether the operation got as far as the message."""
        fault.arm(self.gate, self.server, at, lasts=lasts)
        found, over = Outcome(), threading.Event()
        helper = threading.Thread(target=self._help, args=(found, over))
        with warned(found):
            helper.start()
            try:
                self._call(found)
            finally:
                sent = self.gate.disarm()
                over.set()
                helper.join()
                fault.over(self.server)
        self.check(found, fault, at, sent)
        return sent >= at

    def _call(self, found: Outcome) -> None:
        """Make the call, which may only fail in ways that are documented."""
        try:
            result = self.operation.call(self.queue)
            found.taken = result if isinstance(result, list) else []
        except (PressureError, Boom) as error:
            found.error = error

    def _help(self, found: Outcome, over: threading.Event) -> None:
        """The other client acts when the one under test waits; the fault may hit it, too."""
        if self.operation.other is None:
            return
        until(lambda: over.is_set() or self.raw.info("clients")["blocked_clients"], "was there a wait")
        with Queue(NAME, url=self.server.server.url) as other:
            try:
                self.operation.other(other)
            except PressureError as error:
                found.other = error

    def check(self, found: Outcome, fault: Fault, at: int, sent: int) -> None:
        of_two = "not acknowledged" in found.words  # the first of two operations was done
        if isinstance(found.error, ConnectionFailedError) and self.operation.other is None and not of_two:
            assert states(self.raw) == self.before, "something was changed"
        if fault.lost and sent >= at:
            assert isinstance(found.error, ConnectionError | Boom), f"not told: {found.words}"
            assert sent == at, f"sent again: {found.words}"
        if not fault.lost:
            assert not isinstance(found.error, OutcomeUnknownError), f"it is known: {found.words}"
        if found.leaves_a_dead_hold or self.operation.more:
            self._repair()
        self._invariant(found)
        self._values(found)
        self._goes_on(found)

    def _repair(self) -> None:
        try:
            self.admin.repair()
        except QueueDoesNotExistError:
            assert self.raw.keys() in ([], [f"{ROOT}:bound".encode()])

    def _invariant(self, found: Outcome) -> None:
        raw: Any = self.raw
        told = found.words
        if not raw.exists(ROOT + ":bound"):
            assert raw.keys() == [], f"keys are left: {told}"
            return
        bound, length = int(raw.get(ROOT + ":bound")), raw.llen(ROOT)
        lists = {name: raw.llen(f"{ROOT}:{name}") for name in ("producer_free", "consumer_free", "unacked")}
        assert lists == {"producer_free": 1, "consumer_free": 1, "unacked": 0}, told
        assert raw.llen(ROOT + ":not_full") == (1 if bound == 0 or length < bound else 0), told
        assert raw.llen(ROOT + ":closed") in (0, 2), told
        counts = [int(raw.get(f"{ROOT}:stats:{name}") or 0) for name in COUNTERS]
        assert counts[0] - counts[1] == length, f"{counts}, {length} there: {told}"
        size = sum(map(len, raw.lrange(ROOT, 0, -1)))
        assert counts[2] - counts[3] == size, f"{counts}, {size} bytes there: {told}"

    def _values(self, found: Outcome) -> None:
        if self.operation.bound is None or not self.raw.exists(ROOT + ":bound"):
            return
        there = self.raw.lrange(ROOT, 0, -1)[::-1]
        if self.operation.other is not None:  # whose own put may or may not have been stored
            assert len(there) <= len(self.operation.values) + len(self.operation.puts)
            return
        whole = [*self.operation.values, *self.operation.puts]
        had = [*found.taken, *there]
        assert had == whole[len(whole) - len(had) :] or had == whole[: len(had)], f"{had}: {found.words}"
        if not found.is_unknown:
            assert had[: len(self.operation.values)] == [*self.operation.values], (
                f"lost: {had}: {found.words}"
            )
        if found.error is None:
            assert had == whole, f"{had}: {found.words}"

    def _goes_on(self, found: Outcome) -> None:
        """The same object, without a restart."""
        if not self.raw.exists(ROOT + ":bound"):
            self.queue.create(4)
        if self.raw.exists(ROOT + ":closed"):
            return
        self.queue.put(b"later", overfill=True)
        assert self.queue.get_many(9)[-1] == b"later", found.words

    def end(self) -> None:
        self.queue.disconnect()
        self.admin.disconnect()


COUNTERS = ("produced_messages", "consumed_messages", "produced_bytes", "consumed_bytes")


def at_every_message(
    server: Patient, gate: Gate, flavour: str, operation: OperationCase, fault: Fault, *, lasts: bool
) -> int:
    """At how many messages the fault was tried."""
    for at in range(1, MOST_MESSAGES):
        case = Case(server, gate, flavour, operation)
        try:
            if not case.play(fault, at, lasts=lasts):
                return at - 1
        except Exception as error:
            error.add_note(f"at message {at}, lasts={lasts}")
            raise
        finally:
            case.end()
    raise AssertionError("it never came to an end")


def both_ways(fault: Fault) -> tuple[bool, ...]:
    """Over at the next message, and not before the operation is."""
    return (False, True) if fault.end else (False,)


FEW = ("put, to the bound", "get", "get, empty at first", "receive", "delete")
A_FEW: list[Any] = [
    *(
        exhaustive("sync", fault, operation, when=operation not in FEW[at::3])
        for at, fault in enumerate(("message lost", "out of memory", "no transactions"))
        for operation in FEW
    ),
    *(
        exhaustive("plain", fault, operation, when=fault == "disk full" or operation not in FEW[at::3])
        for at, fault in enumerate(("reply lost", "disk full", "no reading"))
        for operation in FEW
    ),
    *(
        exhaustive(
            "leased and plain", fault, operation, when=fault == "no transactions" or operation not in FEW[::2]
        )
        for fault in ("out of memory", "no transactions")
        for operation in FEW
    ),
    ("plain", "no names", "receive"),
    ("sync", "message cut", "put, large"),
    ("plain", "reply cut", "get many, large"),
    ("plain", "message lost", "receive, large"),
    ("sync", "no trimming", "get"),
    *(
        (flavour, fault, "get")
        for flavour in ("aio", "trio")
        for fault in ("reply lost", "replica", "loading")
    ),
]


@pytest.mark.parametrize(("flavour", "fault", "operation"), A_FEW)
def test_some_faults_at_every_message_are_neither_silent_nor_beyond_repair(
    server: Patient, gate: Gate, flavour: str, fault: str, operation: str
) -> None:
    for lasts in both_ways(FAULTS[fault]):
        assert at_every_message(server, gate, flavour, OPERATION_CASES[operation], FAULTS[fault], lasts=lasts)


#: A client may send one command no more, for one message: what it had taken, or counted, is as it must be.
FORBIDDEN = [
    ("plain", "get", "get many, empty at first"),
    ("plain", "multi", "get"),
    ("plain", "@all", "get"),
    ("sync", "lpush", "put"),
    ("sync", "del", "put, to the bound"),
]


@pytest.mark.parametrize(("flavour", "command", "operation"), FORBIDDEN)
def test_some_forbidden_commands_are_neither_silent_nor_beyond_repair(
    server: Patient, gate: Gate, flavour: str, command: str, operation: str
) -> None:
    case, fault = OPERATION_CASES[operation], forbidden(f"-{command}")
    assert at_every_message(server, gate, flavour, case, fault, lasts=False)


@pytest.mark.faults
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_no_fault_at_any_message_is_silent_or_beyond_repair(
    server: Patient, gate: Gate, flavour: str, fault: str
) -> None:
    def check(operation: OperationCase) -> None:
        for lasts in both_ways(FAULTS[fault]):
            assert at_every_message(server, gate, flavour, operation, FAULTS[fault], lasts=lasts)

    check_each(OPERATION_CASES, check)


@pytest.mark.faults
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flavour", ["sync", "plain"])
def test_no_forbidden_command_at_any_message_is_silent_or_beyond_repair(
    server: Patient, gate: Gate, flavour: str, command: str
) -> None:
    fault = forbidden(f"-{command}")
    for operation in OPERATION_CASES.values():
        for lasts in (False, True):
            assert at_every_message(server, gate, flavour, operation, fault, lasts=lasts)
