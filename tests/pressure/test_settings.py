"""Where a queue finds its server: arguments, the environment, URLs and given clients."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from pressure import (
    Queue,
)
from pressure.connections.arguments import settings
from tests.cases import for_each

from .conftest import (
    StartTask,
    waiting,
)

ARGUMENTS: list[tuple[dict[str, Any], dict[str, str], tuple[str, int, int, bytes]]] = [
    ({}, {}, ("127.0.0.1", 6379, 0, b"__pressure__")),
    ({"host": "h", "port": 1, "db": 2, "prefix": "p"}, {}, ("h", 1, 2, b"p")),
    ({"url": "redis://h:1/2"}, {"REDIS_URL": "redis://x", "REDIS_DB": "9"}, ("h", 1, 2, b"__pressure__")),
    ({}, {"REDIS_URL": "redis://h:1/2", "REDIS_SERVER": "x"}, ("h", 1, 2, b"__pressure__")),
    ({"db": 3}, {"REDIS_URL": "redis://h:1/2"}, ("h", 1, 3, b"__pressure__")),
    ({"host": "h"}, {"REDIS_URL": "redis://x:1/2", "REDIS_PORT": "7"}, ("h", 7, 0, b"__pressure__")),
    (
        {},
        {"REDIS_SERVER": "h", "REDIS_PORT": "1", "REDIS_DB": "2", "PRESSURE_PREFIX": "p"},
        ("h", 1, 2, b"p"),
    ),
    ({}, {"REDIS_PORT": "tcp://10.0.0.1:7000"}, ("10.0.0.1", 7000, 0, b"__pressure__")),
    ({}, {"REDIS_PORT": "tcp://[::1]:7000"}, ("::1", 7000, 0, b"__pressure__")),
    ({}, {"REDIS_SERVER": "h", "REDIS_PORT": "tcp://10.0.0.1:7000"}, ("h", 7000, 0, b"__pressure__")),
    ({"prefix": b""}, {"PRESSURE_PREFIX": "p"}, ("127.0.0.1", 6379, 0, b"")),
    ({}, {"REDIS_URL": "", "REDIS_PORT": "", "PRESSURE_PREFIX": ""}, ("127.0.0.1", 6379, 0, b"__pressure__")),
]


@for_each(("arguments", "environ", "expected"), ARGUMENTS)
def test_settings_come_from_arguments_then_environment_then_defaults(
    arguments: dict[str, Any], environ: dict[str, str], expected: tuple[str, int, int, bytes]
) -> None:
    found = settings(**arguments, environ=environ)
    kwargs = found.kwargs
    assert (kwargs["host"], kwargs["port"], kwargs.get("db", 0), found.prefix) == expected


@for_each(
    "arguments",
    [
        {"url": "redis://h", "host": "h"},
        {"url": "redis://h", "client": object()},
        {"url": "http://h"},
        {"port": 0},
        {"port": 65536},
        {"port": "x"},
        {"db": -1},
    ],
)
def test_contradictory_or_malformed_settings_are_value_errors(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Queue("jobs", **arguments)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("REDIS_URL", "foo", "not so 'foo'"),
        ("REDIS_PORT", "abc", "port must be a whole number, not 'abc'"),
        ("REDIS_PORT", "70000", "port must be from 1 to 65535, not '70000'"),
        ("REDIS_DB", "-1", "db must be 0 or more, not -1"),
    ],
)
def test_a_wrong_environment_variable_is_named(name: str, value: str, message: str) -> None:
    with pytest.raises(ValueError, match=rf"{message} \(from the environment variable {name}\)"):
        settings(environ={name: value})


def test_a_client_or_name_of_the_wrong_type_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"redis\.Redis"):
        Queue("jobs", client=object())
    with pytest.raises(TypeError, match="name"):
        Queue(1)  # type: ignore[call-overload]


@pytest.mark.parametrize("url", ["redis://h:1/0?client_name=a@b", "redis://[::1]/0?client_name=a@b"])
def test_an_option_of_a_url_may_have_an_at_sign(url: str) -> None:
    assert settings(url=url).kwargs["client_name"] == "a@b"


def test_the_path_of_a_socket_may_have_an_at_sign() -> None:
    assert settings(url="unix:///run/a@b").kwargs["path"] == "/run/a@b"


def test_making_a_queue_object_does_not_connect() -> None:
    assert repr(Queue("jobs", port=1)) == "<Queue 'jobs' at 127.0.0.1:1>"


@pytest.mark.parametrize("options", [{"decode_responses": True}, {"socket_timeout": 0.5}, {"protocol": 3}])
def test_only_the_settings_of_a_given_client_are_used(
    redis_url: str, raw: redis.Redis, task: StartTask, options: dict[str, Any]
) -> None:
    with redis.Redis.from_url(redis_url, **options) as client, Queue("jobs", client=client) as queue:
        queue.create()
        get = task(queue.get)
        waiting(raw)
        queue.put(b"v")
        assert get.result() == b"v"
        found = queue._driver.connections.settings
        assert found.reply_timeout == options.get("socket_timeout", 15)
        assert (found.kwargs["retry"], found.kwargs["decode_responses"]) == (None, False)
