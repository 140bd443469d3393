"""Finding the server by URL, sentinel or cluster: which node is asked what; nothing is connected here."""

from __future__ import annotations

from typing import Any

import pytest
import redis
import redis.sentinel

from pressure.connections.arguments import settings
from pressure.connections.discovery import Discovery
from pressure.errors import ClusterError, ConnectionFailedError, ServerReplyError
from pressure.keys import Keys
from tests.cases import for_each

SENTINELS = "redis+sentinel://a,b:7/jobs-master/3"
MOVED = ServerReplyError("MOVED 42 other:1")
GONE = ConnectionFailedError("nobody there")
WELL = [7, 0, 7]
MASTER = [7, 0, [b"master", 0, []]]
REPLICA = [7, 0, [b"slave", b"h", 1, b"connected", 0]]

#: What is known -> who is asked, and what each answers; and the number that is found, or the error.
SEARCHES: dict[str, tuple[str, list[tuple[str, Any]], int | str]] = {
    "a server": ("redis://h:1", [("h:1", WELL)], 7),
    "a server that is not there": ("redis://h:1", [("h:1", GONE)], "nobody there"),
    "a server that does not tell its number": ("redis://h:1", [("h:1", [ServerReplyError("ERR"), 0, 0])], -1),
    "a server where EXISTS is forbidden": ("redis://h:1", [("h:1", [7, ServerReplyError("NOPERM x"), 7])], 7),
    "a server that is loading": (
        "redis://h:1",
        [("h:1", [7, ServerReplyError("LOADING x"), 7])],
        "h:1: LOADING",
    ),
    "a replica without its master": (
        "redis://h:1",
        [("h:1", [7, ServerReplyError("MASTERDOWN"), 7])],
        "MASTERDOWN",
    ),
    "another node": ("redis://h:1", [("h:1", [7, MOVED, 7]), ("other:1", [8, 1, 8])], 8),
    "the same host, at another port": (
        "redis://h:1",
        [("h:1", [7, ServerReplyError("MOVED 42 :5"), 7]), ("h:5", [8, 1, 8])],
        8,
    ),
    "a host not known to the cluster": (
        "redis://h:1",
        [("h:1", [7, ServerReplyError("MOVED 42 ?:5"), 7]), ("h:5", [8, 1, 8])],
        8,
    ),
    "nodes that redirect to each other": (
        "redis://h:1",
        [("h:1", [7, MOVED, 7]), *[("other:1", [7, MOVED, 7])] * 4],
        "redirected us 5 times",
    ),
    "a cluster behind a Unix socket": (
        "unix:///x.sock",
        [("/x.sock", [7, MOVED, 7])],
        "connect to other:1 by a URL",
    ),
    "a cluster that is down": (
        "redis://h:1",
        [("h:1", [7, ServerReplyError("CLUSTERDOWN"), 7])],
        "CLUSTERDOWN",
    ),
    "the second node of a cluster": ("redis+cluster://a:1,b:2", [("a:1", GONE), ("b:2", WELL)], 7),
    "no node of a cluster": ("redis+cluster://a:1,b:2", [("a:1", GONE), ("b:2", GONE)], "a:1, b:2.*nobody"),
    "a master": (SENTINELS, [("a:26379", [[b"m", b"5"]]), ("m:5", MASTER)], 7),
    "a master by the second sentinel": (
        SENTINELS,
        [("a:26379", GONE), ("b:7", [[b"m", b"5"]]), ("m:5", MASTER)],
        7,
    ),
    "a sentinel that knows no such master": (
        SENTINELS,
        [("a:26379", [None]), ("b:7", [[b"m", b"5"]]), ("m:5", MASTER)],
        7,
    ),
    "a former master": (
        SENTINELS,
        [("a:26379", [[b"m", b"5"]]), ("m:5", REPLICA), ("b:7", [[b"n", b"6"]]), ("n:6", MASTER)],
        7,
    ),
    "two sentinels that name one dead master": (
        SENTINELS,
        [("a:26379", [[b"m", b"5"]]), ("m:5", GONE), ("b:7", [[b"m", b"5"]])],
        "nobody there",
    ),
    "a master where ROLE is forbidden": (
        SENTINELS,
        [("a:26379", [[b"m", b"5"]]), ("m:5", [7, 0, ServerReplyError("NOPERM x")])],
        7,
    ),
    "no master": (
        SENTINELS,
        [("a:26379", [None]), ("b:7", [ServerReplyError("NOAUTH x")])],
        r"'jobs-master' \(sentinels: a:26379, b:7\).*knows no master.*NOAUTH",
    ),
}


@for_each("name", SEARCHES)
def test_each_search_asks_the_right_nodes(name: str) -> None:
    url, story, found = SEARCHES[name]
    discovery = Discovery(settings(url=url), Keys.of("{jobs}"))

    def play() -> int:
        for address, result in story:
            assert discovery.query is not None
            assert discovery.query.where.address == address
            discovery.receive(result)
        assert discovery.query is None
        return -1 if discovery.number is None else discovery.number

    if isinstance(found, int):
        assert play() == found
        return
    with pytest.raises(ConnectionFailedError, match=found):
        play()


def test_keys_in_several_slots_are_an_error_that_suggests_a_hash_tag() -> None:
    for reply in ("CROSSSLOT x", "MOVED 1 h:1"):
        discovery = Discovery(settings(url="redis://h"), Keys.of("jobs"))
        with pytest.raises(ClusterError, match=r"such as '\{jobs\}'"):  # noqa: PT012
            discovery.receive([7, ServerReplyError(reply), 7])
            discovery.receive([7, ServerReplyError("CROSSSLOT x"), 7])  # a node that has one of the keys


def test_only_the_necessary_commands_are_sent_to_find_a_server() -> None:
    keys = Keys.of("jobs")
    asked = {
        url: [command[0] for command in Discovery(settings(url=url), keys).query.ask]  # type: ignore[union-attr]
        for url in ("redis://h", SENTINELS)
    }
    assert asked == {"redis://h": [b"CLIENT", b"EXISTS", b"CLIENT"], SENTINELS: [b"SENTINEL"]}


def test_sentinel_urls_give_service_nodes_users_and_passwords() -> None:
    found = settings(
        url="rediss+sentinel://me:p%3Aw@a:1,[::1]:2/my%20own/3?sentinel_password=s%2Fs&protocol=3"
    )
    assert (found.service, found.kwargs["db"]) == ("my own", 3)
    assert (found.kwargs["username"], found.kwargs["password"]) == ("me", "p:w")
    assert [(node.kwargs["host"], node.kwargs["port"]) for node in found.nodes] == [("a", 1), ("::1", 2)]
    for node in found.nodes:
        assert (node.kwargs.get("username"), node.kwargs["password"]) == (None, "s/s")
        assert node.kwargs["socket_connect_timeout"] < found.kwargs["socket_connect_timeout"]
        assert "db" not in node.kwargs
    assert {each.connection_class for each in (found, *found.nodes)} == {redis.SSLConnection}
    assert {each.kwargs["protocol"] for each in (found, *found.nodes)} == {3}


@pytest.mark.parametrize(
    "url", ["redis+sentinel://a", "redis+sentinel://a/", "unix+sentinel://a/b", "redis+other://a", "http://a"]
)
def test_a_malformed_url_is_a_value_error(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL|scheme"):
        settings(url=url)


def test_the_environment_can_name_sentinels() -> None:
    found = settings(environ={"REDIS_URL": SENTINELS, "PRESSURE_PREFIX": "p"}, db=5)
    assert (found.service, found.kwargs["db"], found.prefix) == ("jobs-master", 5, b"p")


def test_settings_are_taken_from_a_client_made_by_sentinels() -> None:
    hosts = [("a", 1), ("b", 2)]
    words: dict[str, Any] = {"sentinel_kwargs": {"password": "s"}, "password": "p"}
    made: Any = redis.sentinel.Sentinel
    sentinel = made(hosts, **words)
    found = settings(client=sentinel.master_for("m", db=4))
    assert found.address == "'m' (sentinels: a:1, b:2)"
    assert (found.connection_class, found.kwargs["password"]) == (redis.Connection, "p")
    assert {node.kwargs["password"] for node in found.nodes} == {"s"}
    with pytest.raises(ValueError, match="master_for"):
        settings(client=sentinel.slave_for("m"))
