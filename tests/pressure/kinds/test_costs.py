"""The number of round trips of each method is what the README and the docstrings say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance.clients.flavours import FLAVOURS
from conformance.judging.environment import Environment
from conformance.targets import Address
from conformance.wire.gate import Gate

Call = Callable[[Any, Any], object]


def nothing(_: Any) -> None:
    """Nothing is done before."""


COSTS: dict[str, tuple[str, Callable[[Any], Any], Call, int, int]] = {
    "backup push": ("BackupQueue", nothing, lambda q, _: q.push(b"v"), 1, 1),
    "backup claim": ("BackupQueue", nothing, lambda q, _: q.claim(), 1, 2),
    "backup complete": ("BackupQueue", lambda q: q.claim(), lambda q, i: q.complete(i), 1, 1),
    "backup requeue": ("BackupQueue", lambda q: q.claim(), lambda q, i: q.requeue(i), 1, 2),
    "backup discard": ("BackupQueue", lambda q: q.claim(), lambda q, i: q.discard(i), 1, 1),
    "backup requeue_stale": ("BackupQueue", lambda q: q.claim(), lambda q, _: q.requeue_stale(0), 1, 2),
    "backup in_progress": ("BackupQueue", lambda q: q.claim(), lambda q, _: q.in_progress(), 1, 1),
    "backup length": ("BackupQueue", nothing, lambda q, _: q.length(), 1, 1),
    "backup peek": ("BackupQueue", nothing, lambda q, _: q.peek(2), 1, 1),
    "ring push": ("RingQueue", nothing, lambda q, _: q.push(b"v"), 1, 1),
    "ring claim": ("RingQueue", nothing, lambda q, _: q.claim(9), 1, 2),
    "ring claim_next": ("RingQueue", nothing, lambda q, _: q.claim_next(9), 1, 2),
    "ring claim_next, the second": ("RingQueue", lambda q: q.claim_next(9), lambda q, _: q.claim_next(9), 1, 2),
    "ring complete": ("RingQueue", lambda q: q.claim(9), lambda q, i: q.complete(i), 1, 2),
    "ring extend": ("RingQueue", lambda q: q.claim(9), lambda q, i: q.extend(i, 9), 1, 2),
    "ring release": ("RingQueue", lambda q: q.claim(9), lambda q, i: q.release(i), 1, 2),
    "ring peek": ("RingQueue", nothing, lambda q, _: q.peek(2), 1, 1),
    "ring items": ("RingQueue", nothing, lambda q, _: q.items(), 2, 2),
    "reliable push": ("ReliableQueue", nothing, lambda q, _: q.push(b"v", b"w"), 1, 1),
    "reliable push later": ("ReliableQueue", nothing, lambda q, _: q.push(b"v", delay=9), 2, 2),
    "reliable cancel": ("ReliableQueue", lambda q: q.push(b"v", delay=9), lambda q, i: q.cancel(*i), 1, 2),
    "reliable dead": ("ReliableQueue", nothing, lambda q, _: q.dead(), 1, 1),
    "reliable pop": ("ReliableQueue", lambda q: q.pop(), lambda q, _: q.pop(), 1, 1),
    "reliable ack": ("ReliableQueue", lambda q: q.pop(), lambda q, m: q.ack(*m), 1, 2),
    "reliable retry": ("ReliableQueue", lambda q: q.pop(), lambda q, m: q.retry(m[0], 9), 1, 2),
    "reliable recover": ("ReliableQueue", lambda q: q.pop(), lambda q, _: q.recover(0), 2, 2),
    "reliable heartbeat": ("ReliableQueue", lambda q: q.pop(), lambda q, m: q.heartbeat(*m), 1, 1),
    "reliable move_due": ("ReliableQueue", lambda q: q.push(b"v", delay=0.001), lambda q, _: q.move_due(), 1, 2),
    "reliable inspect": ("ReliableQueue", lambda q: q.pop(), lambda q, _: q.inspect(), 2, 2),
    "reliable pending": ("ReliableQueue", lambda q: q.pop(), lambda q, _: q.pending(), 3, 3),
    "reliable info": ("ReliableQueue", lambda q: q.pop(), lambda q, _: q.info(), 4, 4),
}  # fmt: skip
"""Kind, what is done before, what is counted, what it costs with scripts and without; messages on a stream."""


@pytest.fixture(params=["sync", "plain"])
def env(real_server: Address, request: pytest.FixtureRequest) -> Iterator[Environment]:
    with Environment(real_server, FLAVOURS[request.param]) as made:
        yield made


@pytest.mark.parametrize("method", COSTS)
def test_each_method_takes_the_documented_number_of_round_trips(
    env: Environment, method: str, request: pytest.FixtureRequest
) -> None:
    kind, begin, call, scripted, plain = COSTS[method]
    with Gate(env.address) as gate:
        for counted in (False, True):  # the first time scripts are sent, and the server is asked what it has
            queue = env.kind(kind, "counted" if counted else "jobs", url=gate.url)
            queue.push(b"1", b"2", b"3")
            taken = begin(queue)
            gate.arm(0, lambda: None)
            call(queue, taken)
        assert gate.messages == (plain if "plain" in request.node.name else scripted)
