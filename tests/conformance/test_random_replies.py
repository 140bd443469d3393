"""The differential sends no request whose reply is random, and leaves out nothing else."""

from __future__ import annotations

import pytest

from conformance.differential.luck import is_luck
from conformance.wire import encode
from miniredis.engine import Config, Engine, Instant, Session

NOW = Instant(0, 0)
DIRECTIVES = {"zset-max-listpack-entries": "2", "set-max-intset-entries": "2"}
KEYS = (
    "SADD packed 1 2", "SADD table a b c", "SADD nul a\0 b", "RPUSH list a b", "ZADD pair 1 a 2 b",
    "ZADD skips 1 c 2 b 3 a", "ZADD equals 0 a 0 b 0 c", "ZADD znul 1 a\0",
)  # fmt: skip


@pytest.fixture
def client() -> Session:
    engine = Engine(Config(DIRECTIVES), NOW)
    client = engine.connect(NOW)
    for line in KEYS:
        say(client, line)
    return client


def say(client: Session, line: str) -> bytes:
    client.engine.receive(client, encode(*line.split(" ")), NOW)
    client.engine.settle(NOW)
    return client.take_output()


def reply_is_random(client: Session, line: str) -> bool:
    return is_luck(client.engine, client, line.encode().split(b" "))


@pytest.mark.parametrize(
    "line",
    [
        "SPOP table", "spop table 2", "SORT table BY w_*", "SORT_RO pair BY nosort", "SORT nul ALPHA", "SORT znul ALPHA DESC",
        "ZRANGEBYLEX skips - +", "zrange skips - + BYLEX", "ZRANGESTORE d skips - + BYLEX", "ZREMRANGEBYLEX skips [a [b",
    ],
)  # fmt: skip
def test_requests_with_a_random_outcome_are_left_out(client: Session, line: str) -> None:
    assert reply_is_random(client, line)


@pytest.mark.parametrize(
    "line",
    [
        "SPOP table 3", "SPOP table 0", "SPOP table x", "SPOP list", "SPOP none", "SPOP", "SORT packed BY w_*", "SORT list BY w_*",
        "SORT table ALPHA", "SORT pair", "ZRANGEBYLEX equals - +", "ZRANGEBYLEX pair - +", "ZRANGE skips 0 -1", "ZRANGESTORE",
        "SRANDMEMBER table 2", "EXEC",
    ],
)  # fmt: skip
def test_requests_whose_replies_can_be_compared_are_not_left_out(client: Session, line: str) -> None:
    assert not reply_is_random(client, line)


@pytest.mark.parametrize(
    ("queued", "is_random"),
    [
        (["SPOP list"], True),  # another key has what it could be: who knows where it will be by then
        (["GET a", "SPOP table 3"], False),
        (["SADD table d", "SPOP table 3"], True),
        (["RPUSH l a", "ZRANGE skips 0 -1"], False),
    ],
)
def test_a_reply_in_a_transaction_may_be_random(
    client: Session, queued: list[str], *, is_random: bool
) -> None:
    say(client, "MULTI")
    for line in queued:
        assert not reply_is_random(client, line)
        assert say(client, line) == b"+QUEUED\r\n"
    assert reply_is_random(client, "EXEC") is is_random


def test_a_request_that_chooses_at_random_is_left_out_while_commands_are_paused(client: Session) -> None:
    assert not reply_is_random(client, "SPOP none")
    say(client, "CLIENT PAUSE 1000 WRITE")
    assert reply_is_random(client, "SPOP none")
    assert not reply_is_random(client, "SADD table d")
