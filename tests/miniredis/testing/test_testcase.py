"""The mixin for unittest: each test of a case has a server of its own, which ends with it."""

from __future__ import annotations

import io
import socket
import threading
import unittest
from typing import Any

import pytest

from miniredis.testcase import MiniredisMixin

SEEN: list[Any] = []


class Cases(MiniredisMixin, unittest.TestCase):
    miniredis_options = {"clock": "held", "databases": 2}  # noqa: RUF012  (as users write it)
    __test__ = False  # for the test below, not for pytest

    def test_first(self) -> None:
        self.redis_client.set("k", "v", ex=10)
        self.miniredis_server.fast_forward(11)
        assert self.miniredis_server.dump() == {}
        self.redis_client.set("k", "v")
        SEEN.append(self.miniredis_server)

    def test_second(self) -> None:
        assert self.redis_client.dbsize() == 0
        assert self.redis_client.config_get("databases") == {"databases": "2"}
        assert self.redis_url == self.miniredis_server.url
        assert self.redis_client is self.redis_client


class AsyncCases(MiniredisMixin, unittest.IsolatedAsyncioTestCase):
    __test__ = False

    async def test_asynchronous(self) -> None:
        async with self.miniredis_server.async_client() as client:
            await client.set("k", "v")
        assert self.miniredis_server.content("k") == b"v"


def test_a_set_up_that_does_not_call_super_is_told_to() -> None:
    class Own(Cases):
        def setUp(self) -> None:
            self.redis_client.flushall()

    with pytest.raises(RuntimeError, match=r"setUp of .*Own must call super\(\)\.setUp\(\)"):
        Own("test_first").debug()


@pytest.mark.parametrize(("kind", "count"), [(Cases, 2), (AsyncCases, 1)])
def test_the_tests_of_a_case_pass_and_leave_no_server(kind: type[unittest.TestCase], count: int) -> None:
    threads = {*threading.enumerate()}
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(kind)
    result = unittest.TextTestRunner(io.StringIO()).run(suite)
    assert (result.testsRun, result.failures, result.errors) == (count, [], [])
    assert {*threading.enumerate()} <= threads
    for server in SEEN:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((server.host, server.port))
