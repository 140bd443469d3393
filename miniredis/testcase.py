"""For tests with unittest: a fresh server for each test, under the names of the fixtures for pytest."""

from __future__ import annotations

import unittest
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from .embedded import EmbeddedServer, start

if TYPE_CHECKING:
    import redis

__all__ = ["MiniredisMixin"]


class MiniredisMixin(unittest.TestCase):
    """Gives each test a fresh server.

    Put it before ``unittest.TestCase``, or another kind of it, among the bases of a test case::

        class JobTests(MiniredisMixin, unittest.TestCase):
            miniredis_options = {"clock": "held"}

            def test_a_job_is_kept(self):
                self.redis_client.rpush("jobs", "resize")
                self.assertEqual(self.miniredis_server.content("jobs"), [b"resize"])

    The server starts in ``setUp``; one of your own calls ``super().setUp()`` first.

    Attributes:
        miniredis_options: arguments of ``miniredis.start``.
    """

    miniredis_options: ClassVar[dict[str, Any]] = {}

    @cached_property
    def miniredis_server(self) -> EmbeddedServer:
        """The server; it ends after the test."""
        raise RuntimeError(
            f"setUp of {type(self).__qualname__} must call super().setUp(), which starts the server"
        )

    def setUp(self) -> None:
        """Starts the server."""
        super().setUp()
        self.miniredis_server = self.enterContext(start(**self.miniredis_options))

    @property
    def redis_url(self) -> str:
        """The server's URL."""
        return self.miniredis_server.url

    @cached_property
    def redis_client(self) -> redis.Redis:
        """A client of it, without a socket; it is closed after the test."""
        client: redis.Redis = self.enterContext(self.miniredis_server.client())
        return client
