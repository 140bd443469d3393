"""The package's fixtures in another project's test run, on a real Redis instead of miniredis."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import miniredis
from conformance.targets import Address
from conformance.targets.programs import find_real_redis
from miniredis.testing import pytest_real

from .test_inspection import fill

pytest_plugins = "pytester"

THEIR_TESTS = """
import pytest, redis

def test_first(redis_client, redis_url, miniredis_server, miniredis_real):
    assert redis_url == miniredis_server.url
    assert redis_client.info("server")["redis_version"] in miniredis_real.address.origin
    assert redis_client.set("k", "v")
    script = redis_client.script_load("return 1")
    assert redis_client.evalsha(script, 0) == 1

def test_second_has_no_keys_and_no_scripts(redis_client):
    assert redis_client.dbsize() == 0
    with pytest.raises(redis.exceptions.NoScriptError):
        redis_client.evalsha("e0e1f9fabfc9d4800c877a703b823ac0578ff8db", 0)

def test_third(miniredis_session, miniredis_real):
    assert miniredis_session is miniredis_real
    miniredis_session.set_content("k", "v")

def test_fourth(miniredis_session, redis_client):
    assert miniredis_session.dump() == {}
    assert redis_client.set("k", "v")
    assert miniredis_session.dump() == {}

def test_a_pause_is_over(redis_client):
    redis_client.client_pause(10 ** 6)

def test_fifth(redis_client):
    assert redis_client.dbsize() == 0

def test_an_asynchronous_client(async_redis_client, redis_client):
    import asyncio
    async def main():
        async with async_redis_client:
            assert await async_redis_client.set("k", "v")
    asyncio.run(main())
    assert redis_client.get("k") == b"v"

def test_time(miniredis_server):
    miniredis_server.fast_forward(10)

def test_more_servers(miniredis_factory):
    one, other = miniredis_factory(databases=2, appendonly=False), miniredis_factory()
    one.set_content("k", "v")
    assert other.dump() == {}
    with one.client() as client:
        assert client.config_get("databases") == {"databases": "2"}

def test_more_servers_with_what_it_lacks(miniredis_factory):
    miniredis_factory(clock="held")

def test_held_time(held_miniredis_server):
    raise AssertionError

@pytest.mark.miniredis_fault(command="GET", then="ERR no")
def test_fault(redis_client):
    raise AssertionError

def test_rule(miniredis_session):
    with miniredis_session.faults.add(command="GET", then="ERR no"):
        raise AssertionError

def test_that_fails(redis_client):
    assert redis_client.get("k") == b"v"
"""


@pytest.fixture
def real(real_server: Address) -> Iterator[Any]:
    """The handle of a real server."""
    with pytest_real.RealServer(real_server) as server:
        server.reset()
        yield server
        server.reset()


def test_the_same_tests_run_on_a_program_and_what_it_lacks_is_skipped_with_a_reason(
    pytester: pytest.Pytester, real_server: Address
) -> None:
    pytester.makepyfile(THEIR_TESTS)
    program = find_real_redis()
    told = pytester.runpytest("-W", "error", "--strict-markers", f"--miniredis-real={program}")
    told.assert_outcomes(passed=8, skipped=5, failed=1)
    told.stdout.fnmatch_lines(
        ["miniredis: replaced by redis-server", "*skipped, as a real Redis does not have it*"]
    )
    told.stdout.fnmatch_lines_random(
        [
            "    2 it has no faults on demand",
            "    1 its time cannot be moved",
            "    1 its clock cannot be held",
            "    1 it does not take the argument clock",
        ]
    )


def test_a_server_at_a_url_is_emptied_and_not_used_if_it_has_keys(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(redis_client): assert redis_client.set('k', 'v')
        def test_it_again(redis_client): assert redis_client.get('k') is None
        def test_two_servers(redis_client, miniredis_session): raise AssertionError
        def test_more_servers(miniredis_factory): miniredis_factory()
        """
    )
    with miniredis.start(requirepass="secret") as server, server.client() as client:
        told = pytester.runpytest(f"--miniredis-real={server.url}")
        told.assert_outcomes(passed=2, skipped=2)
        told.stdout.fnmatch_lines(["    2 there is only one, the one at the URL"])
        assert client.dbsize() == 0
        client.set("precious", "v")
        told = pytester.runpytest(f"--miniredis-real={server.url}")
        assert told.ret == pytest.ExitCode.USAGE_ERROR
        told.stdout.fnmatch_lines([f"*{server.public_url} has keys, and each test would delete all keys;*"])
        assert client.dbsize() == 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--miniredis-real=no/such"], "*no/such*that can be run*"),
        (["--miniredis-real=nosuch"], "*no program nosuch that can be run*"),
        (["--miniredis-real=redis://127.0.0.1:1"], "*cannot use redis://127.0.0.1:1: *refused*"),
        (
            ["--miniredis-real=rediss://:secret@host:1"],
            "*cannot use rediss://:[*][*][*]@host:1: only redis://*",
        ),
        (["--miniredis-real=redis://127.0.0.1:port"], "*redis://127.0.0.1:port is no URL of a Redis: *"),
        (["--miniredis-real=redis://127.0.0.1:1/3"], "*tests use all databases, so give redis://HOST:PORT*"),
        (["--miniredis-real=redis://127.0.0.1:1?db=3"], "*tests use all databases*"),
        (["-o", "miniredis_report=many"], "*miniredis_report: the number of requests to show, not 'many'"),
        (["--miniredis-real=redis://127.0.0.1:1", "-n", "1"], "*would delete each other's keys*"),
    ],
)
def test_what_cannot_be_used_ends_the_run_with_a_reason(
    pytester: pytest.Pytester, words: list[str], text: str
) -> None:
    pytester.makepyfile("def test_it(redis_client): pass")
    told = pytester.runpytest_inprocess(*words)
    assert told.ret == pytest.ExitCode.USAGE_ERROR
    pytest.LineMatcher(told.outlines + told.errlines).fnmatch_lines([text])


def test_its_keys_are_seen_and_restored(real: Any) -> None:
    with real.client() as client, real.client(db=1) as other:
        client.execute_command = without_queues(client.execute_command)
        expected = fill(client)
        del expected[b"queue"]
        other.set("k", "v", ex=1000)
        assert real.dump() == expected
        assert {key: real.content(key) for key in expected} == expected
        assert real.content("nosuch") is None
        snapshot = real.snapshot()
        real.reset()
        client.set("new", "v")
        real.restore(snapshot)
        assert real.dump() == expected
        assert real.dump(1) == {b"k": b"v"}
        assert 900 < other.ttl("k") <= 1000


def without_queues(execute: Any) -> Any:
    return lambda *words, **options: None if words[0] == "MQ.PUSH" else execute(*words, **options)


def test_its_blocked_clients_are_waited_for(real: Any) -> None:
    with real.client(client_name="ann") as waiter, real.client() as client:
        thread = threading.Thread(target=waiter.blpop, args=["jobs"])
        thread.start()
        real.wait_until(real.blocked_clients)
        (blocked,) = real.blocked_clients()
        (connected,) = real.connected_clients()
        assert (connected.id, connected.name, connected.command) == (blocked.id, "ann", "blpop")
        assert (blocked.name, blocked.command, blocked.database) == ("ann", "blpop", 0)
        with pytest.raises(pytest.skip.Exception, match="does not tell on which key"):
            real.blocked_clients("jobs")
        with pytest.raises(TimeoutError, match="'name': 'ann'"):
            real.wait_until(lambda: False, timeout=0.01)
        client.rpush("jobs", "a")
        thread.join()


def test_each_name_of_the_handle_is_there_or_has_a_reason_not_to_be() -> None:
    wanted = {name for name in dir(miniredis.EmbeddedServer) if not name.startswith("_")} | {"faults"}
    lacking = {name for name in wanted if not hasattr(pytest_real.RealServer, name)}
    assert lacking == set(pytest_real.ONLY_MINIREDIS)
