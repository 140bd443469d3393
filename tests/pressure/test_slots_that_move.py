"""A slot moves before any command of any operation: the operation does what it does where no slot moves.

Each case runs once undisturbed, and once for each command that it sends: there the connection has executed all
commands before, and the next ones come to it when the slot has moved, or when the slot has moved by half and moves
on meanwhile.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import hiredis
import pytest
import redis

import miniredis
from conformance.clients.flavours import FLAVOURS
from pressure import PressureError, Queue
from pressure.aio import connection as aio
from pressure.execution.execution import PooledExecution
from pressure.sync.connection import Connection
from pressure.trio.connection import Connection as TrioConnection
from tests.cases import exhaustive

from .conftest import until
from .faults import states
from .operation_cases import OPERATION_CASES, Boom, OperationCase
from .sentinels_and_clusters import Cluster, cluster

NAME = "{jobs}"
MOST_COMMANDS = 200
Half = Callable[[], None]


def nothing() -> None:
    """Does nothing."""


class Place:
    """The command before which the slot moves; ``None`` for nowhere.

    Attributes:
        sent: how many commands the client under test has sent.
    """

    def __init__(self, at: int | None, act: Callable[[], Half]) -> None:
        self.sent = 0
        self._at, self._act = at, act
        self._rest: Half = nothing

    def parts(self, commands: int) -> tuple[int, ...]:
        """How many commands to send at once, and then."""
        before, self.sent = self.sent, self.sent + commands
        if self._at is None or not before < self._at <= self.sent:
            return (commands,)
        return (self._at - before - 1, commands - (self._at - before - 1))

    def between(self) -> None:
        """Between the two parts."""
        self._rest = self._act()

    def after(self) -> None:
        """Before the client sends more."""
        self._rest()
        self._rest = nothing


@pytest.fixture(autouse=True)
def cut(monkeypatch: pytest.MonkeyPatch) -> Callable[[Place | None], None]:
    """Has the client under test send in two parts, as a place says; other clients do not know it."""
    place: list[Place | None] = [None]
    packing: dict[int, list[bytes]] = {}
    pack = PooledExecution.packed

    def packed(self: Any, step: Any) -> tuple[bytes, int]:
        data, count = pack(self, step)
        packing[threading.get_ident()] = [hiredis.pack_command(command) for command in self._unsent]
        return data, count

    def parts(count: int) -> list[tuple[bytes, int]] | None:
        each = packing.pop(threading.get_ident(), None)
        if place[0] is None or each is None or threading.current_thread().name == "other":
            return None
        place[0].after()
        numbers = place[0].parts(count)
        return [(b"".join(each[: numbers[0]]), numbers[0]), (b"".join(each[numbers[0] :]), sum(numbers[1:]))]

    def cut_up(whole: Any, place_of_data: int) -> Any:
        def exchange(*args: Any) -> Any:
            cuts = parts(args[place_of_data + 1])
            if cuts is None or not cuts[1][1]:
                return whole(*args)
            first = whole(*args[:place_of_data], *cuts[0], *args[place_of_data + 2 :]) if cuts[0][1] else []
            place[0].between()  # type: ignore[union-attr]
            return [*first, *whole(*args[:place_of_data], *cuts[1], *args[place_of_data + 2 :])]

        return exchange

    def cut_up_awaiting(whole: Any) -> Any:
        async def exchange(connection: Any, data: bytes, count: int, *more: Any) -> Any:
            cuts = parts(count)
            if cuts is None or not cuts[1][1]:
                return await whole(connection, data, count, *more)
            first = await whole(connection, *cuts[0], *more) if cuts[0][1] else []
            place[0].between()  # type: ignore[union-attr]
            return [*first, *(await whole(connection, *cuts[1], *more))]

        return exchange

    monkeypatch.setattr("pressure.queue.SLICE", 0.02)
    monkeypatch.setattr("tests.pressure.operation_cases.LATER", 5.0)  # the other client always comes in time
    monkeypatch.setattr("pressure.execution.execution.MOVING", 0.005)
    for driver in ("pressure.sync.driver", "pressure.aio.driver", "pressure.trio.driver"):
        monkeypatch.setattr(f"{driver}.MOVING", 0.005)
    monkeypatch.setattr(PooledExecution, "packed", packed)
    monkeypatch.setattr(Connection, "exchange", cut_up(Connection.exchange, 1))
    monkeypatch.setattr("pressure.aio.driver.exchange", cut_up_awaiting(aio.exchange))
    monkeypatch.setattr(TrioConnection, "exchange", cut_up_awaiting(TrioConnection.exchange))
    return lambda new: place.__setitem__(0, new)


class Ours:
    """A cluster in this process."""

    def __init__(self, cluster: miniredis.Cluster) -> None:
        self.cluster, self.url = cluster, cluster.cluster_url
        self.slot = cluster.slot_of(NAME)

    def home(self) -> redis.Redis:
        return redis.Redis(port=self.cluster.node_of(NAME).port)

    def _begin(self) -> miniredis.SlotMove:
        home = self.cluster.node_of(NAME)
        return self.cluster.begin_move(
            [self.slot], next(node for node in self.cluster.primaries if node is not home)
        )

    def move(self) -> Half:
        self._begin().finish()
        return nothing

    def move_half(self) -> Half:
        begun = self._begin()
        begun.step(2)
        return lambda: begun.finish() and None


class Theirs:
    """A cluster of real servers."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.url = "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in cluster.nodes)
        self.slot, self.at = cluster.slot(NAME), cluster.home(NAME)

    def home(self) -> redis.Redis:
        return redis.Redis(port=self.cluster.nodes[self.at].port)

    def _carry(self, count: int, to: int) -> None:
        keys = self.cluster.ask(self.at, "CLUSTER", "GETKEYSINSLOT", self.slot, count)
        if keys:
            port = self.cluster.nodes[to].port
            self.cluster.ask(self.at, "MIGRATE", "127.0.0.1", port, "", 0, 5000, "KEYS", *keys)

    def move_half(self) -> Half:
        to = (self.at + 1) % len(self.cluster.nodes)
        source, target = (self.cluster.ask(number, "CLUSTER", "MYID") for number in (self.at, to))
        self.cluster.ask(to, "CLUSTER", "SETSLOT", self.slot, "IMPORTING", source)
        self.cluster.ask(self.at, "CLUSTER", "SETSLOT", self.slot, "MIGRATING", target)
        self._carry(2, to)

        def finish() -> None:
            self._carry(1000, to)
            for number in sorted(range(len(self.cluster.nodes)), key=lambda number: number != to):
                self.cluster.ask(number, "CLUSTER", "SETSLOT", self.slot, "NODE", target)
            self.at = to

        return finish

    def move(self) -> Half:
        self.move_half()()
        return nothing


@pytest.fixture(scope="module")
def ours() -> Iterator[Ours]:
    with miniredis.cluster(2) as made:
        yield Ours(made)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory, redis_program: Path) -> Iterator[Theirs]:
    assert redis_program
    with cluster(tmp_path_factory.mktemp("cluster"), 3) as made:
        yield Theirs(made)


def play(servers: Any, make: Any, case: OperationCase, place: Place, cut: Any) -> dict[str, Any]:
    """What became of an operation, and what is there then."""
    with servers.home() as raw:
        raw.flushall()
    with contextlib.ExitStack() as stack:
        admin = Queue(NAME, url=servers.url)
        stack.callback(admin.disconnect)
        if case.bound is not None:
            admin.create(case.bound)
            admin.put_many(case.values, overfill=True)
        if case.more:
            with servers.home() as raw:
                case.more(admin, raw)
        queue = make(NAME, url=servers.url)
        stack.callback(queue.disconnect)
        queue.exists()
        over = threading.Event()
        helper = threading.Thread(target=help_out, args=(servers, case, over), name="other")
        told: dict[str, Any] = {"result": None, "error": None}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            helper.start()
            cut(place)
            try:
                told["result"] = case.call(queue)
            except (PressureError, Boom) as error:
                told["error"] = type(error).__name__
                told["words"] = repr(error)
            finally:
                cut(None)
                over.set()
                place.after()
                helper.join()
    with servers.home() as raw:
        told["keys"] = states(raw)
    return told


def help_out(servers: Any, case: OperationCase, over: threading.Event) -> None:
    """The other client acts when the one under test waits."""
    if case.other is None:
        return

    def waits() -> bool:
        with servers.home() as raw:
            return over.is_set() or bool(raw.info("clients")["blocked_clients"])

    until(waits, "was there a wait")
    with Queue(NAME, url=servers.url) as other:
        case.other(other)


def at_every_command(servers: Any, make: Any, case: OperationCase, act: Callable[[], Half], cut: Any) -> int:
    """At how many commands the slot has moved."""
    alone = play(servers, make, case, Place(None, act), cut)
    for at in range(1, MOST_COMMANDS):
        place = Place(at, act)
        found = play(servers, make, case, place, cut)
        for told in (alone, found):
            if isinstance(told["result"], list | str | int | bytes | type(None)) is False:
                told["result"] = type(told["result"]).__name__
        if place.sent < at:
            return at - 1
        words = found.pop("words", ""), alone.get("words", "")
        assert found == {key: value for key, value in alone.items() if key != "words"}, (
            f"at command {at}: {words}"
        )
    raise AssertionError("it never came to an end")


ALL: Final = [name for name in OPERATION_CASES if name != "delete, in use"]  # whose time may be over sooner
HOWS: Final = ("move", "move_half")
WAITING: Final = "get, empty at first"
USUAL: Final = {
    *product(("create", "put, to the bound", WAITING, "receive"), ["plain"], ["move_half"]),
    ("put, to the bound", "plain", "move"),
    *product([WAITING], FLAVOURS, ["move_half"]),
}
"""What the default run has: some operations with one flavour, and one with each, since each has a driver of its own."""


@pytest.mark.parametrize(
    ("operation", "flavour", "how"),
    [exhaustive(*each, when=each not in USUAL) for each in product(ALL, FLAVOURS, HOWS)],
)
def test_an_operation_does_the_same_whenever_its_slot_moves(
    operation: str, flavour: str, how: str, ours: Ours, cut: Any
) -> None:
    assert at_every_command(ours, FLAVOURS[flavour], OPERATION_CASES[operation], getattr(ours, how), cut)


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("flavour", ["sync", "plain"])
@pytest.mark.parametrize("operation", ALL)
def test_an_operation_does_the_same_in_a_real_cluster(
    operation: str, flavour: str, how: str, theirs: Theirs, cut: Any
) -> None:
    assert at_every_command(theirs, FLAVOURS[flavour], OPERATION_CASES[operation], getattr(theirs, how), cut)
