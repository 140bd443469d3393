"""The helpers that the tests of ``pressure`` share."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis

from conformance.targets import Address
from pressure import Queue
from pressure.protocol.liveness import PROBE_INTERVAL
from tests.cases import exhaustive_but
from tests.conftest import SERVERS
from tests.servers import RealServer, start_redis
from tests.tools.forking import Forked, ForkServer
from tests.waiting import PATIENCE
from tests.waiting import until as until  # which the tests here take from this file

from .coroutines import play as play  # a fixture
from .runs import RUNS

if TYPE_CHECKING:
    from .sentinels_and_clusters import Cluster

DEADLINE = PATIENCE
ROOT = Path(__file__).parents[2]

FLAVOURS = {"sync", "plain", "aio", "trio"}
SERVER_NAMES = {"miniredis", "redis-server", "embedded_server", "real_server"}
#: Tests that are made for each flavour on each server, and take long: in the default run each flavour is tried
#: on one server only, and the rest is marked exhaustive. What a client does about a death is the same in every flavour:
#: of those there are two.
FEW = "test_dead_processes"
LONG = ("healing", "test_checkouts", "test_max_connections", "test_silent_servers")
PAIRS = (
    {"sync", "redis-server"}, {"plain", "miniredis"}, {"aio", "miniredis"}, {"trio", "redis-server"},
    {"sync", "real_server"}, {"aio", "embedded_server"}, {"trio", "real_server"},
)  # fmt: skip


@pytest.fixture
def probes_as_for_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two probes of a holder are as far apart as for users: for tests that do not wait for real."""
    monkeypatch.setattr("pressure.protocol.liveness.PROBE_INTERVAL", PROBE_INTERVAL)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what the default run leaves out of the tests in ``LONG``."""
    for item in items:
        if not {item.path.stem, item.path.parent.name}.isdisjoint(LONG) and hasattr(item, "callspec"):
            names = {each for each in item.callspec.params.values() if isinstance(each, str)}
            pairs = PAIRS[:2] if item.path.stem == FEW else PAIRS
            if names & FLAVOURS and names & SERVER_NAMES and not any(pair <= names for pair in pairs):
                item.add_marker("exhaustive")


OPERATIONS: dict[str, Callable[[Queue], object]] = {
    "put": lambda q: q.put(b"v"),
    "put_nowait": lambda q: q.put_nowait(b"v"),
    "get": lambda q: q.get(),
    "get_nowait": lambda q: q.get_nowait(),
    "close": lambda q: q.shutdown(),
    "delete": lambda q: q.delete(),
    "length": lambda q: q.length(),
    "closed": lambda q: q.closed(),
    "wait_closed": lambda q: q.wait_closed(),
    "qsize": lambda q: q.qsize(),
    "empty": lambda q: q.empty(),
    "full": lambda q: q.full(),
    "repair": lambda q: q.repair(),
    "iteration": lambda q: list(q),
}


def wait_long(queue: Any) -> None:
    """From now on no single wait of this queue object ends by itself."""
    queue._context = replace(queue._context, slice=1000.0)


def execute(client: Any, *words: str | int) -> Any:
    """A command without a method of its own (redis-py leaves ``execute_command`` without types)."""
    return client.execute_command(*words)


def server_fixture(*names: str, more: tuple[str, ...] = ()) -> Any:
    """The fixture ``server_address`` of a module whose tests run on these servers.

    Args:
        *names: Names in ``SERVERS``, or fixtures; what follows a comma is for other fixtures.
        more: More of them, for the exhaustive run.
    """

    @pytest.fixture(params=exhaustive_but(names, [*names, *more]))
    def server_address(request: pytest.FixtureRequest) -> Address:
        name = request.param.partition(",")[0]
        address: Address = request.getfixturevalue(SERVERS.get(name, name))
        return address

    return server_address


@pytest.fixture(params=["sync", "aio", "trio"])
def flavour(request: pytest.FixtureRequest) -> str:
    """The name of a flavour, as in ``loops.QUEUES``."""
    return str(request.param)


@pytest.fixture
def redis_url(empty_server: Address) -> str:
    """The URL of an empty server, miniredis or a real Redis."""
    return empty_server.url


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., RealServer]]:
    """Starts servers that a test may kill."""
    with contextlib.ExitStack() as stack:
        yield lambda *flags: stack.enter_context(start_redis(tmp_path, *flags))


@pytest.fixture(params=RUNS)
def run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Makes a queue of each flavour, and makes a call on it."""
    return RUNS[request.param]


@pytest.fixture
def raw(redis_url: str) -> Iterator[redis.Redis]:
    """A plain client, for looking at keys and for playing other clients."""
    with contextlib.closing(redis.Redis.from_url(redis_url)) as client:
        yield client


@pytest.fixture
def with_acl(raw: redis.Redis) -> None:
    """For tests that need users of the server's own."""
    try:
        execute(raw, "ACL", "WHOAMI")
    except redis.ResponseError as error:
        pytest.skip(f"this server has no ACL: {error}")


@pytest.fixture
def with_maxmemory(raw: redis.Redis) -> None:
    """For tests that need a server that can run out of memory."""
    try:
        raw.config_set("maxmemory", 0)
        raw.config_set("maxmemory", 1 << 40)
    except redis.ResponseError as error:
        pytest.skip(f"this server has no maxmemory: {error}")
    raw.config_set("maxmemory", 0)


@pytest.fixture
def scripts(request: pytest.FixtureRequest) -> bool:
    """Whether queues may run scripts; they are tested both ways where the server can."""
    return "plain" not in request.node.name


@pytest.fixture
def make(redis_url: str, scripts: bool) -> Iterator[Callable[..., Queue]]:
    """Makes queue objects, which are disconnected at the end."""
    with contextlib.ExitStack() as stack:
        yield lambda name="jobs", **options: stack.enter_context(
            Queue(name, url=redis_url, scripts=scripts, **options)
        )


@pytest.fixture
def queue(make: Callable[..., Queue]) -> Queue:
    """The queue ``jobs``, not created yet."""
    return make()


class Task:
    """A call on a thread of its own; its queue object can be told to stop."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._result: list[Any] = []
        self._error: BaseException | None = None
        self._call = call
        self._thread = threading.Thread(target=self._go)
        self._thread.start()

    def _go(self) -> None:
        try:
            self._result.append(self._call())
        except BaseException as error:
            self._error = error

    def done(self) -> bool:
        return not self._thread.is_alive()

    def result(self) -> Any:
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive(), "the call did not return"
        if self._error is not None:
            raise self._error
        return self._result[0]


StartTask = Callable[[Callable[[], Any]], Task]
"""Makes a call on a thread of its own; the fixture ``task``."""


@pytest.fixture
def task() -> Iterator[StartTask]:
    """Runs a call on a thread."""
    tasks: list[Task] = []

    def start(call: Callable[[], Any]) -> Task:
        tasks.append(Task(call))
        return tasks[-1]

    yield start
    for each in tasks:
        each._thread.join(DEADLINE)
        assert each.done(), "a thread was left behind"


def waiting(raw: redis.Redis, count: int = 1) -> None:
    """Wait until so many clients are blocked on the server."""
    until(lambda: raw.info("clients")["blocked_clients"] >= count, f"{count} blocked clients")


@pytest.fixture
def cli(redis_url: str, fork_server: ForkServer) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts ``pressure`` commands; what still runs at the end is killed."""
    running: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "REDIS_URL": redis_url, "PYTHONPATH": str(ROOT)}
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        line = [sys.executable, "-m", "pressure", *arguments]
        process = Forked(fork_server, line, env=environment, **{**pipes, **options})
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait(DEADLINE)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


PREFIX = "__pressure__:"
JOBS = PREFIX + "jobs"
"""The key of the queue ``jobs``; those of its roles and counters begin with it."""


DEAD = b"host:1:01234567/1/1"
"""The id of a holder that is dead: it has no connection."""


def take(raw: redis.Redis, role: str, holder: bytes | None = DEAD) -> None:
    """A role is held by a client with this id, or by one that has not written its id yet, for None."""
    raw.rpop(f"{JOBS}:{role}_free")
    if holder is not None:
        raw.set(f"{JOBS}:{role}", holder)


def roles_free(raw: redis.Redis, name: str = "jobs") -> bool:
    """Whether both roles are free, each with exactly one element."""
    return [raw.llen(f"{PREFIX}{name}:{role}_free") for role in ("producer", "consumer")] == [1, 1]


def invariant(raw: redis.Redis, name: str = "jobs") -> None:
    """Assert what holds between operations when only our clients are at work, over-filling apart."""
    root = PREFIX + name
    bound, length = int(raw.get(f"{root}:bound") or -1), raw.llen(root)
    counts = [int(raw.get(f"{root}:stats:{which}_messages") or 0) for which in ("produced", "consumed")]
    assert roles_free(raw, name)
    assert raw.llen(f"{root}:not_full") == (1 if bound == 0 or length < bound else 0)
    assert raw.llen(f"{root}:closed") in (0, 2)
    assert counts[0] - counts[1] == length


#: To a client, all loops of miniredis are the same.
server_address = server_fixture("miniredis", "redis-server", "redis-server, plain batches")


@pytest.fixture(scope="module", params=["miniredis", "redis-server"])
def nodes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of three, of each kind."""
    from .sentinels_and_clusters import cluster, our_cluster  # which take their servers from here

    with contextlib.ExitStack() as stack:
        if request.param == "miniredis":
            yield stack.enter_context(our_cluster(3))
            return
        yield stack.enter_context(cluster(tmp_path_factory.mktemp("cluster"), 3))
