"""The package's pytest fixtures, in another project's test run."""

import pytest

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
import pytest, redis

@pytest.mark.miniredis_fault(command="SET", then="OOM no")
def test_a_marked_test_meets_its_fault(redis_client):
    with pytest.raises(redis.OutOfMemoryError):
        redis_client.set("k", "v")

def test_another_does_not(redis_client):
    assert redis_client.set("k", "v")
"""


def test_a_marker_puts_a_fault_on_the_server_of_its_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(MARKED)
    pytester.runpytest("-W", "error", "--strict-markers").assert_outcomes(passed=2)


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


FAILING = """
def test_fails(redis_client):
    redis_client.set("k", "v")
    redis_client.rpush("jobs", "a", "b")
    assert redis_client.lpop("jobs") == b"b"
"""


def test_a_failed_test_shows_the_last_requests_if_it_is_asked_to(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILING)
    told = pytester.runpytest("-W", "error", "-o", "miniredis_report=2")
    told.stdout.fnmatch_lines(["*requests to miniredis*", "*: RPUSH jobs a b -> :2", "*: LPOP jobs -> $1 a"])
    told.stdout.no_fnmatch_line("*: SET k v*")
    told.assert_outcomes(failed=1)
