"""Queues that sentinels or a cluster serve, and users that may do no more than the guide says; without Spark."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import redis

from conformance.targets import Address
from pressure import PressureError
from pressure.protocol.lua import Script
from pressure.spark import lua, sink_lua
from pressure.spark import rows as replies
from pressure.spark.kinds import COMMON
from pressure.spark.kinds import KINDS as FUNCTIONS
from pressure.spark.lua import Step
from pressure.spark.options import Options
from pressure.spark.peeking import Peek
from pressure.spark.sink import Sink
from pressure.spark.source import Source
from tests.cases import exhaustive_but
from tests.pressure.conftest import execute
from tests.pressure.kinds.reliable.conftest import has_module
from tests.pressure.sentinels_and_clusters import cluster, our_cluster, watched

from .conftest import KINDS, Place, some

ALL_KINDS = (*KINDS, "module")
GUIDE = Path(__file__).parents[2] / "pressure" / "spark" / "README.md"
GROUPS: dict[str, Callable[[Path], Any]] = {
    "miniredis_cluster": lambda _: our_cluster(3),
    "redis_cluster": lambda folder: cluster(folder, 3),
    "sentinels": watched,
}


@pytest.fixture(params=GROUPS)
def group(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    request.getfixturevalue("real_server")  # skips where there is none
    with GROUPS[request.param](tmp_path) as servers:
        yield servers


def url_of(group: Any) -> str:
    return str(group.url) if hasattr(group, "url") else f"redis+cluster://127.0.0.1:{group.nodes[0].port}"


def elsewhere(options: Options) -> Options:
    """The options as another machine gets them."""
    found: Options = pickle.loads(pickle.dumps(options))  # noqa: S301, our own
    return found


def looked_at(options: Options) -> list[bytes]:
    """The queue as a table: planned by one process, and read by others."""
    with Peek(options) as peek:
        parts = peek.plan()
    found = list[bytes]()
    for part in parts:
        with Peek(elsewhere(options)) as peek:
            found += [value for _, rows in peek.read(part) for value in rows.values]
    return found


def moved(source: Options, target: Options, batch: int = 0) -> list[bytes]:
    """A batch from one queue to another; returns its rows."""
    stream = Source(source)
    try:
        start = stream.state.first
        end = stream.advance(start, None)
        task = Source(elsewhere(source))
        rows = [rows.values for _, rows in task.read(stream.state, start, end)]
        task.close()
        with Sink(elsewhere(target)) as sink:
            staged = sink.stage(rows, 0, "writer")
        with Sink(target) as sink:
            sink.abandon("writer", [sink.stage([[b"of an attempt that failed"]], 0, "writer")])
            sink.commit("writer", batch, [staged])
        stream.acknowledge(end)
        assert stream.leave() == 0
    finally:
        stream.release()
    return [value for part in rows for value in part]


@pytest.mark.parametrize("kind", exhaustive_but(["reliable"], KINDS))
def test_rows_are_looked_at_and_moved_between_queues_of_a_group_of_servers(
    group: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        one, two = (Place(url_of(group), kind, stack, name=f"{{{name}}}") for name in ("a", "b"))
        one.put(*some(0, 2500))
        source, target = one.options(), two.options()
        monkeypatch.setenv("REDIS_URL", "redis://another:1")  # executors have other settings
        assert looked_at(source) == some(0, 2500)
        assert moved(source, target) == some(0, 2500)
        assert (one.look(), two.look()) == ([], some(0, 2500))


def test_a_stream_goes_on_at_the_new_primary_after_a_failover(tmp_path: Path, real_server: Address) -> None:
    with watched(tmp_path) as group, ExitStack() as stack:
        one, two = (Place(url_of(group), "pressure", stack) for _ in range(2))
        one.put(*some(0, 10))
        stream = Source(one.options(lease=30))
        assert stream.advance(0, 5) == 5
        group.fail_over()
        found = [value for _, rows in stream.read(stream.state, 0, 5) for value in rows.values]
        assert found == some(0, 5)
        stream.acknowledge(5)
        assert stream.leave() == 0
        assert moved(one.options(), two.options()) == some(5, 10)


#: What the table of the guide calls queues of a kind.
QUEUES = {
    "backup": "queues of kind `backup`",
    "reliable": "queues of kind `reliable`",
    "module": r"the same with RedisMQ's commands \(`backend=\"module\"`\)",
}


def rules(kind: str) -> list[str]:
    """The words of the guide for a user who works on queues of a kind."""
    (block,) = re.findall(r"^ACL SETUSER spark ((?:.*\\\n)*.*)$", GUIDE.read_text(), re.MULTILINE)
    (more,) = re.findall(rf"^\| `(~[^`]*)` \| {QUEUES.get(kind)} \|$", GUIDE.read_text(), re.MULTILINE) or [
        ""
    ]
    return [*block.replace("\\\n", " ").split(), *more.replace("\\|", "|").split()]


@pytest.fixture
def user(server: Address) -> Iterator[Callable[..., str]]:
    """Makes the user of the guide, without some words; their URL."""
    with redis.Redis.from_url(server.url) as admin:

        def make(kind: str, *without: str) -> str:
            words = [word for word in rules(kind) if word not in without]
            execute(admin, "ACL", "SETUSER", "spark", "reset", *words)
            return server.url.replace("redis://", "redis://spark:secret@")

        yield make
        execute(admin, "ACL", "DELUSER", "spark")


def worked(make: Callable[..., Place], kind: str, url: str) -> None:
    """All that Spark does with queues, as a user; the queues are made by another one."""
    one, two, dead = make(kind), make(kind), make()
    one.put(*some(0, 3))
    two.put(b"by its type it is known how a reliable queue is kept")
    source, target = (
        each.options(retry=0, dead=dead.name).but(where=each.options(url=url).where) for each in (one, two)
    )
    assert looked_at(source) == some(0, 3)
    assert moved(source, target.but(dead=None)) == some(0, 3)
    one.put(b"bad")
    stream = Source(source)
    end = stream.advance(stream.state.first, None)
    stream.divert(stream.state, end - 1, end, [end - 1])
    stream.acknowledge(end)
    stream.leave()
    with Sink(target) as sink:
        assert sink.settled("writer") == 0
        sink.push([[b"plain"]])
        sink._server.check(reading=True)
    assert dead.look() == [b"bad"]


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_the_rights_in_the_guide_are_enough(
    kind: str, make: Callable[..., Place], user: Callable[..., str], raw: redis.Redis
) -> None:
    if kind == "module" and not has_module(raw):
        pytest.skip("this server has no MQ.* commands")
    execute(raw, "ACL", "LOG", "RESET")
    worked(make, kind, user(kind))
    assert execute(raw, "ACL", "LOG") == []


def test_a_user_without_the_rights_for_keys_of_spark_is_refused(
    make: Callable[..., Place], user: Callable[..., str]
) -> None:
    with pytest.raises(PressureError, match="refuses them to this user"):
        worked(make, "pressure", user("pressure", "~__spark__:*"))


def test_a_user_who_may_not_ask_for_the_bytes_of_a_copy_reads_it_in_smaller_replies(
    make: Callable[..., Place], user: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replies, "UNKNOWN_TOGETHER", 50)
    place = make()
    place.put(*some(0, 500))
    with Peek(place.options(url=user("pressure", "+memory|usage"))) as peek:
        found = [rows.values for part in peek.plan() for _, rows in peek.read(part)]
    assert [value for values in found for value in values] == some(0, 500)
    assert max(map(len, found)) == 50


def test_the_rights_in_the_guide_are_those_of_the_commands_that_are_sent() -> None:
    defined = [*vars(lua).values(), *vars(sink_lua).values()]
    scripts = [
        COMMON, *FUNCTIONS.values(),
        *(each.text for each in defined if isinstance(each, Script)),
        *(each.of("backup").text for each in defined if isinstance(each, Step)),
    ]  # fmt: skip
    called = {
        name.decode().lower()
        for each in scripts
        for name in re.findall(rb"(?:call\(|ask = {)'([A-Z.]+)'", each)
    }
    sent = {
        name.lower()
        for file in GUIDE.parent.glob("*.py")
        for name in re.findall(r"\(b\"([A-Z.]+)\"", file.read_text())
    }
    granted = {
        word[1:].partition("|")[0] for kind in ALL_KINDS for word in rules(kind) if word.startswith("+")
    }
    apart = {"config", "object"}  # not needed, or of the command pressure
    by_the_client = {"eval", "evalsha", "multi", "exec", "client", "time", "zrem", "xlen"}
    assert granted - by_the_client == (called | sent) - by_the_client - apart
