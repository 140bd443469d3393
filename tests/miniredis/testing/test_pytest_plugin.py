"""The package's pytest fixtures, in another project's test run."""

import sys

import pytest

from miniredis.testing.pytest_faults import servers_in

pytest_plugins = "pytester"

THEIR_TESTS = """
seen = []

def test_first(redis_client, redis_url, miniredis_server):
    assert redis_url == miniredis_server.url
    assert redis_client.set("k", "v")
    seen.append(miniredis_server)

def test_second_has_a_server_of_its_own(redis_client):
    assert redis_client.get("k") is None
    import socket, pytest
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((seen[0].host, seen[0].port))
"""


def test_each_test_gets_a_server_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(THEIR_TESTS)
    pytester.runpytest("-W", "error").assert_outcomes(passed=2)


MARKED = """
import miniredis, pytest, redis

@pytest.mark.miniredis_fault(command="SET", then="OOM no")
def test_a_marked_test_meets_its_fault(redis_client):
    with pytest.raises(redis.OutOfMemoryError):
        redis_client.set("k", "v")

def test_another_does_not(redis_client):
    assert redis_client.set("k", "v")

@pytest.fixture(scope="module")
def one_for_all():
    with miniredis.start(databases=2) as server:
        yield server

@pytest.fixture
def of_their_own():
    with miniredis.start(databases=2) as server:
        yield server

@pytest.fixture
def by_name(request):
    return request.getfixturevalue("of_their_own")

@pytest.mark.miniredis_fault(command="SET", times=1, then="OOM no")
def test_own_fixtures(of_their_own, by_name, one_for_all, miniredis_factory, miniredis_cluster):
    for server in [of_their_own, one_for_all, miniredis_factory(), *miniredis_cluster.nodes]:
        assert [rule.met for rule in server.faults] == [0]

@pytest.mark.miniredis_fault(command="SET", then="OOM no")
def test_by_name(by_name):
    assert len(by_name.faults) == 1

def test_the_next_test_of_a_wider_server(one_for_all):
    assert len(one_for_all.faults) == 0

@pytest.mark.miniredis_fault(command="SET", then="OOM no")
def test_sentinels(miniredis_sentinel):
    every = [*miniredis_sentinel.servers, *miniredis_sentinel.sentinels]
    assert [len(server.faults) for server in every] == [1, 1, 1, 1, 1]

@pytest.mark.miniredis_fault(command="SET", then="OOM no")
class TestClass:
    def test_with_a_server(self, redis_client):
        with pytest.raises(redis.OutOfMemoryError):
            redis_client.set("k", "v")

    def test_without_one(self):
        pass

@pytest.mark.miniredis_fault(command="SET", then="OOM no")
def test_without_a_server():
    pass

@pytest.mark.miniredis_fault("SET", "OOM no")
def test_arguments_without_names(redis_client):
    pass
"""


def test_a_marker_puts_a_fault_on_the_server_of_its_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(MARKED)
    told = pytester.runpytest("-W", "error", "--strict-markers")
    told.assert_outcomes(passed=8, failed=1, errors=1)
    told.stdout.fnmatch_lines(["the marker miniredis_fault met no server*"])
    told.stdout.fnmatch_lines(["*miniredis_fault takes keywords, as server.faults.add*"])


SHARED = """
import pytest, redis

seen = []

@pytest.mark.miniredis_fault(command="SET", then="OOM no")
def test_first(miniredis_session):
    with miniredis_session.client() as client:
        client.rpush("jobs", "a")
        with pytest.raises(redis.OutOfMemoryError):
            client.set("k", "v")
    seen.append(miniredis_session)

def test_second_has_the_same_server_without_keys_and_faults(miniredis_session):
    assert seen == [miniredis_session]
    assert miniredis_session.dump() == {}
    with miniredis_session.client() as client:
        assert client.set("k", "v")
"""


def test_tests_share_the_server_of_a_session_and_not_its_keys(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SHARED)
    pytester.runpytest("-W", "error", "--strict-markers").assert_outcomes(passed=2)


SEVERAL = """
import socket, pytest

seen = []

def test_first(miniredis_factory):
    one, other = miniredis_factory(databases=2), miniredis_factory(clock="held")
    assert one.port != other.port
    with one.client() as client:
        assert client.config_get("databases") == {"databases": "2"}
    seen.extend([one, other])

def test_second_finds_them_gone():
    for server in seen:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((server.host, server.port))
"""


def test_a_factory_starts_more_servers_which_end_with_their_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SEVERAL)
    pytester.runpytest("-W", "error").assert_outcomes(passed=2)


ASYNCHRONOUS = """
import asyncio, gc, pytest

def test_in_two_event_loops(async_redis_client):
    assert asyncio.run(async_redis_client.set("k", "v"))
    async def main():
        waiting = asyncio.create_task(async_redis_client.blpop("jobs"))
        await async_redis_client.rpush("jobs", "a")
        assert await waiting == (b"jobs", b"a")
        async with async_redis_client.pubsub() as listener:
            await listener.subscribe("news")
            assert await async_redis_client.get("k") == b"v"
    asyncio.run(main())

def test_nothing_is_left_open():
    gc.collect()

def test_closed_by_the_test(async_redis_client):
    async def main():
        async with async_redis_client:
            assert await async_redis_client.get("k") is None
    asyncio.run(main())
"""

WITH_ANYIO = """
import pytest

pytestmark = pytest.mark.anyio

@pytest.fixture(params=["first", "second"])
def anyio_backend():
    return "asyncio"

async def test_each_test_gets_a_client_of_its_own_server(async_redis_client, redis_url):
    assert await async_redis_client.get("k") is None
    await async_redis_client.set("k", "v")
"""


def test_an_asynchronous_client_needs_no_plugin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(ASYNCHRONOUS)
    pytester.runpytest("-W", "error", "-p", "no:anyio").assert_outcomes(passed=3)


def test_an_asynchronous_client_works_with_anyio(pytester: pytest.Pytester) -> None:
    pytest.importorskip("anyio", reason="anyio is not installed")
    pytester.makepyfile(WITH_ANYIO)
    pytester.runpytest("-W", "error").assert_outcomes(passed=2)


FAILING = """
import miniredis, pytest

@pytest.fixture
def miniredis_server():
    with miniredis.start(databases=2) as server:
        yield server

def test_fails(redis_client):
    redis_client.set("k", "v")
    redis_client.rpush("jobs", "a", "b")
    assert redis_client.lpop("jobs") == b"b"
"""


REQUESTS = ["*: SET k v -> +OK", "*: RPUSH jobs a b -> :2", "*: LPOP jobs -> $1 a"]


@pytest.mark.parametrize(("options", "shown"), [([], 3), (["-o", "miniredis_report=2"], 2)], ids=str)
def test_a_failed_test_shows_the_last_requests(
    pytester: pytest.Pytester, options: list[str], shown: int
) -> None:
    pytester.makepyfile(FAILING)
    told = pytester.runpytest("-W", "error", *options)
    told.stdout.fnmatch_lines(["*requests to miniredis call*", *REQUESTS[-shown:]])
    for line in REQUESTS[:-shown]:
        told.stdout.no_fnmatch_line(line)
    told.assert_outcomes(failed=1)


SILENT = """
import pytest

def test_passes(redis_client):
    redis_client.set("k", "v")

def test_is_skipped(redis_client):
    redis_client.set("k", "v")
    pytest.skip("for a reason")

def test_asks_nothing(redis_client):
    assert False
"""


def test_nothing_is_shown_without_a_failure_or_requests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SILENT)
    told = pytester.runpytest("-W", "error", "-rA")
    told.stdout.no_fnmatch_line("*requests to miniredis*")
    told.assert_outcomes(passed=1, skipped=1, failed=1)


KEPT = """
import gc, weakref

seen = []

def test_first(miniredis_server):
    seen.append(weakref.ref(miniredis_server))

def test_second():
    gc.collect()
    assert seen[0]() is None
"""


def test_the_server_of_a_test_that_is_over_is_not_kept(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(KEPT)
    pytester.runpytest("-W", "error").assert_outcomes(passed=2)


def test_nothing_is_recorded_where_nothing_is_to_be_shown(pytester: pytest.Pytester) -> None:
    check = "    assert not miniredis_server._runner.engine.recorders.are_on\n"
    head = "def test_one(miniredis_server, redis_client):\n    redis_client.get('k')\n"
    pytester.makepyfile(head + check)
    pytester.runpytest("-W", "error", "-o", "miniredis_report=0").assert_outcomes(passed=1)


def test_looking_for_servers_imports_no_kind_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ["miniredis.topologies.clusters", "miniredis.processes.spawning"]
    for name in kinds:
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert servers_in(object()) == []
    assert not sys.modules.keys() & kinds
