"""The ACL rules that the guide gives are enough for a user, and none of them is superfluous."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from conformance.clients.flavours import FLAVOURS as CLIENTS
from pressure import PressureError, PressureWarning, Queue, QueueEmptyError, QueueFullError
from tests.servers import RealServer, start_redis

from .conftest import ROOT, execute, until

FLAVOURS: dict[str, Any] = {**CLIENTS}


def least() -> list[str]:
    """The line of the guide, as words."""
    guide = (ROOT / "pressure" / "REDIS.md").read_text()
    (line,) = re.findall(r"^ACL SETUSER ((?:.*\\\n)*.*)$", guide, re.MULTILINE)
    return str(line).replace("\\\n", " ").split()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    folder: Path = tmp_path_factory.mktemp("acl")
    with start_redis(folder) as made:
        yield made


@pytest.fixture
def user(server: RealServer) -> Iterator[Callable[..., str]]:
    """Makes the user ``worker`` with what the guide gives but some words; its URL."""
    with redis.Redis(port=server.port) as admin:

        def make(*without: str) -> str:
            admin.flushall()
            admin.script_flush()
            name, *words = (word for word in least() if word not in without)
            execute(admin, "ACL", "SETUSER", name, "reset", *words)
            return f"redis://worker:secret@127.0.0.1:{server.port}/0"

        yield make
        execute(admin, "ACL", "DELUSER", "worker")


def whole_life(queue: Any) -> None:
    """Everything that can be done with a queue."""
    queue.create(2)
    queue.put(b"1")
    queue.put_many([b"2"])
    with pytest.raises(QueueFullError):
        queue.put(b"3", timeout=0.02)
    queue.put(b"3", overfill=True)
    assert queue.peek() == b"1"
    assert (queue.exists(), queue.length(), queue.full(), queue.closed()) == (True, 3, True, False)
    assert (queue.stats().length, queue.holder("producer")) == (3, None)
    assert queue.get() == b"1"
    assert queue.get_many(1) == [b"2"]
    with queue.receive() as message:
        assert message.data == b"3"
        message.reject()
    assert queue.redrive(1) == 1
    assert queue.get() == b"3"
    with pytest.raises(QueueEmptyError):
        queue.get(timeout=0.02)
    with pytest.raises(QueueEmptyError):
        queue.receive(timeout=0.02).__enter__()
    assert not queue.wait_closed(0.02)
    assert queue.repair(force=True).left == ()
    assert queue.doctor().problems == ()
    queue.shutdown()
    queue.delete()


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("prefix", ["__pressure__", "__pressure__:team"])
def test_the_documented_acl_rules_are_enough(user: Callable[..., str], flavour: str, prefix: str) -> None:
    queue = FLAVOURS[flavour]("jobs", url=user(), prefix=prefix)
    try:
        whole_life(queue)
    finally:
        queue.disconnect()


def test_the_documented_acl_rules_and_two_more_are_enough_for_leases(
    user: Callable[..., str], server: RealServer, recwarn: pytest.WarningsRecorder
) -> None:
    def renewals() -> int:
        told: Any = admin.info("commandstats")
        return int(told.get("cmdstat_pexpire", {"calls": 0})["calls"])

    url = user()
    with redis.Redis(port=server.port) as admin, Queue("jobs", url=url, lease=3) as queue:
        execute(admin, "ACL", "SETUSER", "worker", "+pexpire", "+pttl")
        whole_life(queue)
        queue.create()
        queue.put(b"v")
        with queue.receive():
            before = renewals()
            until(lambda: renewals() > before, "the lease is renewed")
            found = queue.doctor().consumer.lease
            assert found is not None
            assert found > 0
        assert queue.stats().consumed_messages == 1
    assert not recwarn.list


def test_the_documented_acl_rules_allow_no_other_keys(user: Callable[..., str]) -> None:
    with (
        Queue("jobs", url=user(), prefix="other") as queue,
        pytest.raises(PressureError, match=r"NOPERM|EXECABORT"),
    ):
        queue.create()


def commands() -> list[str]:
    """All but those without which only a race, or the end of a wait that is stopped, goes another way."""
    unseen = ("+client|id", "+client|unblock", "+multi", "+unwatch")
    return [word for word in least() if word.startswith("+") and word not in unseen]


@pytest.mark.parametrize("word", commands())
def test_no_documented_acl_rule_is_superfluous(user: Callable[..., str], word: str) -> None:
    """Without it something fails, or is done in another way."""
    url = user(word)
    failed = []
    for flavour in ("sync", "plain"):
        with Queue("jobs", url=url, scripts=flavour == "sync") as queue:
            try:
                whole_life(queue)
            except (PressureError, PressureWarning, AssertionError, pytest.fail.Exception) as error:
                failed.append(error)
            if not queue._context.server.scripts and flavour == "sync":
                failed.append(PressureError("scripts are not run"))
        user(word)
    assert failed
