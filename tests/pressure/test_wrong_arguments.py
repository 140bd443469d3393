"""Wrong arguments raise an error of the right type that names the argument."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pressure import BackupQueue, Queue, ReliableQueue, RingQueue

#: What is done with queues that are never asked for anything, and what the error says.
CALLS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "name": (lambda: Queue(5), TypeError, "a queue's name must be bytes or str, not int"),  # type: ignore[call-overload]
    **{
        f"empty name of a {kind.__name__}": (
            partial(kind, ""),
            ValueError,
            "a queue's name must not be empty; is a variable not set?",
        )
        for kind in (Queue, BackupQueue, RingQueue, ReliableQueue)
    },
    "prefix": (lambda: Queue("j", prefix=5), TypeError, "prefix must be bytes or str, not int"),  # type: ignore[call-overload]
    "host": (lambda: Queue("j", host=5), TypeError, "host must be a str, not int"),  # type: ignore[call-overload]
    "db": (lambda: Queue("j", db=-1), ValueError, "db must be 0 or more, not -1"),
    "url": (lambda: Queue("j", url=5), TypeError, "url must be a str, not int"),  # type: ignore[call-overload]
    "scheme": (
        lambda: Queue("j", url="redsi://me:secret@h"),
        ValueError,
        ("the URL of a Redis server must begin with one of redis://, rediss://, unix://, redis+sentinel://, "
        "redis+cluster://, miniredis:; not so 'h'"),
    ),
    "scheme, and a password with an @": (
        lambda: Queue("j", url="redsi://me:sec@ret@h"),
        ValueError,
        ("the URL of a Redis server must begin with one of redis://, rediss://, unix://, redis+sentinel://, "
        "redis+cluster://, miniredis:; not so 'h'"),
    ),
    "database": (
        lambda: Queue("j", url="redis://h/first"),
        ValueError,
        ("the URL of the Redis server is wrong: the database must be a number, as in redis://HOST:PORT/0, not "
        "'first'"),
    ),
    "option of a URL": (
        lambda: Queue("j", url="redis://h?tyop=1"),
        ValueError,
        "the URL of the Redis server is wrong: it has an option that is not known: 'tyop'",
    ),
    "value of an option": (
        lambda: Queue("j", url="rediss://h?ssl_cert_reqs=x"),
        ValueError,
        "the URL of the Redis server is wrong: Invalid SSL Certificate Requirements Flag: x",
    ),
    "url and host": (
        lambda: Queue("j", url="redis://h", host="h"),
        ValueError,
        "pass either url or host, port and db, not both",
    ),
    "lease": (lambda: Queue("j", lease="x"), TypeError, "lease must be a number of seconds, not 'x'"),  # type: ignore[call-overload]
    "endless lease": (
        lambda: Queue("j", lease=float("inf")),
        ValueError,
        "lease must be a finite number of seconds, not inf",
    ),
    "bound": (
        lambda: Queue("j").create(1 << 63),
        ValueError,
        "bound must be an integer from 0 to 9223372036854775807, not 9223372036854775808",
    ),
    "timeout": (lambda: Queue("j").get(timeout="abc"), TypeError, "timeout must be a number of seconds, not 'abc'"),  # type: ignore[arg-type]
    "negative timeout": (lambda: Queue("j").put("x", timeout=-1), ValueError, "timeout must be 0 or more seconds, not -1"),
    "max": (lambda: Queue("j").get_many(1.5), TypeError, "max must be an integer, not 1.5"),  # type: ignore[arg-type]
    "value": (
        lambda: Queue("j").put(5),  # type: ignore[arg-type]
        TypeError,
        "a value must be bytes-like or str, not int; codec='json' and others take more types",
    ),
    "maxlen": (lambda: BackupQueue("j", maxlen="x"), TypeError, "maxlen must be an integer, not 'x'"),  # type: ignore[arg-type]
    "item": (lambda: BackupQueue("j").requeue(None), TypeError, "an item is what claim returned, or its bytes, not NoneType"),  # type: ignore[arg-type]
    "locked item": (lambda: RingQueue("j").extend(b"x", 5), TypeError, "an item is what claim or claim_next returned, not bytes"),  # type: ignore[arg-type]
    "lock_ttl": (lambda: RingQueue("j").claim("x"), TypeError, "lock_ttl must be a number of seconds, not 'x'"),  # type: ignore[arg-type]
    "max_deliveries": (lambda: ReliableQueue("j", max_deliveries="x"), TypeError, "max_deliveries must be an integer, not 'x'"),  # type: ignore[arg-type]
    "message": (lambda: ReliableQueue("j").ack(5), TypeError, "a message is what pop or recover returned, or its id, not int"),  # type: ignore[arg-type]
    "retry": (lambda: ReliableQueue("j").retry(5), TypeError, "retry takes what pop or recover returned, not int"),  # type: ignore[arg-type]
    "start": (lambda: ReliableQueue("j").inspect("x"), TypeError, "start must be an integer, not 'x'"),  # type: ignore[arg-type]
    "handle": (lambda: ReliableQueue("j").work(None), TypeError, "handle must be a function of one message, not None"),  # type: ignore[arg-type]
    "heartbeat": (
        lambda: ReliableQueue("j").work(print, heartbeat=100),
        ValueError,
        "heartbeat must be more than 0 and less than min_idle (60.0), not 100",
    ),
    "backoff": (
        lambda: ReliableQueue("j").work(print, backoff=5),  # type: ignore[arg-type]
        TypeError,
        "backoff must be a function that takes how often a message was delivered, such as pressure.exponential(), not 5",
    ),
    "what backoff returns": (
        lambda: ReliableQueue("j").work(print, backoff=str),  # type: ignore[arg-type]
        TypeError,
        "what backoff returns must be a number of seconds, not '1'",
    ),
    "queue": (lambda: ReliableQueue("j").pop_any("x"), TypeError, "pop_any takes queues like this one, not str"),
    "server": (
        lambda: ReliableQueue("j").pop_any(ReliableQueue("k", port=1)),
        ValueError,
        "queue 'k' is not on the server of queue 'j'; pop_any asks one server",
    ),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_argument_is_named_in_the_error(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDIS_URL", raising=False)
    wrong, error, text = CALLS[call]
    with pytest.raises(error) as caught:
        wrong()
    assert str(caught.value) == text


def test_the_error_for_a_wrong_url_names_the_environment_variable_it_came_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REDIS_URL", "http://h")
    with pytest.raises(ValueError, match=r"not so 'http://h' \(from the environment variable REDIS_URL\)$"):
        Queue("j")


def test_a_value_that_json_does_not_have_is_an_error_before_anything_is_sent() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        Queue("j", codec="json", port=1).put({"price": float("nan")})
