"""Random sequences of commands get the same replies from the engine and from a plain model of RedisMQ's README."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from conformance.wire import encode
from miniredis.engine import Session

from ...sizes import repeated, sizes
from ..engine.test_engine import BEGINNING, World
from .rqueue_model import Model, Queue, Refusal
from .rqueue_scenarios import encoded

KEYS = st.sampled_from(["p", "q", "r"])
COUNTS = st.integers(1, 4) | st.just((1 << 63) - 1)
PAYLOAD = st.text("xyz\n ", max_size=3) | sizes(10_000).map(lambda size: "x" * size)
PAYLOADS = repeated(st.lists(PAYLOAD, min_size=1, max_size=4), 10)
CLIENTS = st.integers(0, 3)
CHOICES = st.integers(0, 1 << 16)


class Both(RuleBasedStateMachine):
    """Four clients, one of them in RESP3; each is asked only while it waits for nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.clients = [self.world.client() for _ in range(4)]
        self.world.ask(self.clients[3], "HELLO 3")
        self.control = self.world.client()
        self.model = Model(BEGINNING.milliseconds)

    def asked(self, number: int) -> tuple[int, Session]:
        """One of the clients that are free, or would be if there were one."""
        busy = {waiter.client for waiter in self.model.waiters}
        free = [each for each in range(len(self.clients)) if each not in busy]
        chosen = free[number % len(free)]
        return chosen, self.clients[chosen]

    def all_wait(self) -> bool:
        return len(self.model.waiters) == len(self.clients)

    def on_the_wire(self, client: Session, value: Any) -> bytes:
        if value is True:
            return b"+OK\r\n"
        if isinstance(value, Refusal):
            return b"-%b\r\n" % str(value).encode()
        return encoded(value, b"_\r\n" if client.resp == 3 else b"$-1\r\n")

    def told(self) -> dict[int, bytes]:
        """What the model told clients that waited."""
        outputs: dict[int, bytes] = {}
        for number, value in self.model.told:
            client = self.clients[number]
            outputs[client.id] = outputs.get(client.id, b"") + self.on_the_wire(client, value)
        self.model.told.clear()
        return outputs

    def check(self, number: int, words: list[Any], expected: Callable[[], Any]) -> None:
        """A request and its reply, and what those get who waited."""
        client = self.clients[number]
        try:
            value = expected()
        except Refusal as refusal:
            value = refusal
        outputs = self.told()
        if not any(waiter.client == number for waiter in self.model.waiters):
            outputs[client.id] = outputs.get(client.id, b"") + self.on_the_wire(client, value)
        self.world.engine.receive(client, encode(*map(str, words)), self.world.now)
        assert self.world.settle() == outputs

    # Queues

    @precondition(lambda self: not self.all_wait())
    @rule(client=CLIENTS, key=KEYS, payloads=PAYLOADS)
    def push(self, client: int, key: str, payloads: list[str]) -> None:
        number, _ = self.asked(client)
        self.check(number, ["MQ.PUSH", key, *payloads], lambda: self.model.push(key, payloads))

    @precondition(lambda self: not self.all_wait())
    @rule(
        client=CLIENTS, count=COUNTS, keys=st.lists(KEYS, min_size=1, max_size=3),
        names=st.booleans(), block=st.none() | st.sampled_from([0, 1, 20]),
    )  # fmt: skip
    def pop(self, client: int, count: int, keys: list[str], names: bool, block: int | None) -> None:
        number, _ = self.asked(client)
        names = len(keys) > 1 and names
        keys = keys if names else keys[:1]
        more = ["KEYS", len(keys) - 1, *keys[1:]] if names else []
        waits = [] if block is None else ["BLOCK", block]

        def expected() -> Any:
            popped = self.model.pop(count, keys, names=names)
            if popped is None and block is not None:
                self.model.wait(number, count, keys, names, block)
            return popped

        self.check(number, ["MQ.POP", count, keys[0], *more, *waits], expected)

    @precondition(lambda self: not self.all_wait())
    @rule(client=CLIENTS, key=KEYS, choices=st.lists(CHOICES, min_size=1, max_size=4))
    def ack(self, client: int, key: str, choices: list[int]) -> None:
        number, _ = self.asked(client)
        ids = [self.some_id(key, choice) for choice in choices]
        self.check(number, ["MQ.ACK", key, *ids], lambda: self.model.ack(key, ids))

    def some_id(self, key: str, choice: int) -> str:
        """Mostly of a message there is, delivered or not."""
        queue = self.model.keys.get(key)
        known = [*queue.delivered, *queue.delivered, *queue.undelivered] if isinstance(queue, Queue) else []
        return [*(item.id for item in known), "1-1"][choice % (len(known) + 1)]

    @precondition(lambda self: not self.all_wait())
    @rule(client=CLIENTS, key=KEYS, count=COUNTS, elapsed=st.sampled_from([0, 1, 5, 30]))
    def recover(self, client: int, key: str, count: int, elapsed: int) -> None:
        number, _ = self.asked(client)
        self.check(
            number, ["MQ.RECOVER", key, count, elapsed], lambda: self.model.recover(key, count, elapsed)
        )

    @precondition(lambda self: not self.all_wait())
    @rule(client=CLIENTS, key=KEYS, pending=st.booleans(), start=st.integers(-5, 5), count=st.integers(1, 4))
    def inspect(self, client: int, key: str, pending: bool, start: int, count: int) -> None:
        number, _ = self.asked(client)
        words = ["MQ.INSPECT", key, *(["PENDING"] if pending else []), start, count]
        self.check(number, words, lambda: self.model.inspect(key, pending, start, count))

    @precondition(lambda self: not self.all_wait())
    @rule(client=CLIENTS, key=KEYS)
    def info(self, client: int, key: str) -> None:
        number, _ = self.asked(client)
        self.check(number, ["MQ.QINFO", key], lambda: self.model.info(key))

    # Keys

    @precondition(lambda self: not self.all_wait())
    @rule(client=CLIENTS, key=KEYS)
    def delete(self, client: int, key: str) -> None:
        number, _ = self.asked(client)
        self.check(number, ["DEL", key], lambda: self.model.drop(key))

    @precondition(lambda self: not self.all_wait())
    @rule(client=CLIENTS, old=KEYS, new=KEYS)
    def rename(self, client: int, old: str, new: str) -> None:
        number, _ = self.asked(client)
        self.check(number, ["RENAME", old, new], lambda: self.model.rename(old, new))

    @precondition(lambda self: not self.all_wait())
    @rule(client=CLIENTS, old=KEYS, new=KEYS)
    def copy(self, client: int, old: str, new: str) -> None:
        number, _ = self.asked(client)
        self.check(number, ["COPY", old, new, "REPLACE"], lambda: self.model.copy(old, new))

    @precondition(lambda self: not self.all_wait())
    @rule(client=CLIENTS, key=KEYS, milliseconds=st.sampled_from([-1, 1, 10]))
    def expire(self, client: int, key: str, milliseconds: int) -> None:
        number, _ = self.asked(client)
        self.check(number, ["PEXPIRE", key, milliseconds], lambda: self.model.expire(key, milliseconds))

    @precondition(lambda self: not self.all_wait())
    @rule(client=CLIENTS, key=KEYS)
    def be_a_string(self, client: int, key: str) -> None:
        number, _ = self.asked(client)

        def expected() -> Any:
            self.model.set_string(key)
            return True

        self.check(number, ["SET", key, "text"], expected)

    @precondition(lambda self: not self.all_wait())
    @rule(client=CLIENTS, key=KEYS)
    def dump_and_restore(self, client: int, key: str) -> None:
        """The same queue again, made of its payload, as the model need not know."""
        _, session = self.asked(client)
        if not isinstance(self.model.keys.get(key), Queue) or key in self.model.deadlines:
            return
        self.world.engine.receive(session, encode("DUMP", key), self.world.now)
        payload = self.world.settle()[session.id].partition(b"\r\n")[2][:-2]
        self.world.engine.receive(session, encode("RESTORE", key, "0", payload, "REPLACE"), self.world.now)
        assert self.world.settle() == {session.id: b"+OK\r\n"}

    # Clients

    @precondition(lambda self: self.model.waiters)
    @rule(choice=CHOICES)
    def unblock(self, choice: int) -> None:
        waiter = self.model.waiters.pop(choice % len(self.model.waiters))
        client = self.clients[waiter.client]
        self.world.send(self.control, f"CLIENT UNBLOCK {client.id}")
        null = self.on_the_wire(client, None)
        assert self.world.settle() == {self.control.id: b":1\r\n", client.id: null}

    @precondition(lambda self: self.model.waiters)
    @rule(choice=CHOICES)
    def leave(self, choice: int) -> None:
        waiter = self.model.waiters.pop(choice % len(self.model.waiters))
        self.world.engine.disconnect(self.clients[waiter.client], self.world.now)
        self.clients[waiter.client] = self.world.client()

    # Time

    @rule(passes=st.sampled_from([0, 1, 5, 20]), back=st.sampled_from([0, 0, 0, 3]))
    def pass_time(self, passes: int, back: int) -> None:
        self.model.pass_time(passes, passes - back)
        outputs = self.told()
        assert self.world.wait(passes / 1000, wall=(passes - back) / 1000) == outputs

    @invariant()
    def nothing_failed(self) -> None:
        assert not self.world.engine.faults
        waiting = {number for number, client in enumerate(self.clients) if client.waiter is not None}
        assert waiting == {waiter.client for waiter in self.model.waiters}
        assert self.world.engine.keyspace.databases[0].values.keys() == {
            key.encode() for key in self.model.keys
        }


Both.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestBoth = Both.TestCase


class More(Both):
    """The same with more examples."""


More.TestCase.settings = settings(Both.TestCase.settings, max_examples=80)
TestMore = pytest.mark.exhaustive(More.TestCase)
