"""Failures of a cluster, or of servers behind sentinels, that a seed decides."""

from __future__ import annotations

import pytest

import miniredis
from miniredis.replication.link import MasterLink
from miniredis.topologies import server_groups
from miniredis.topologies.failure_schedules import ScheduleStep
from tests.waiting import until

STEPS = 15


@pytest.mark.parametrize("seed", [1, 2])
def test_what_replicas_have_survives_a_schedule(seed: int) -> None:
    with miniredis.cluster(3, replicas=1) as cluster:
        with cluster.client() as client:
            for number in range(100):
                client.set(f"k{number}", number)
        schedule = cluster.schedule(seed)
        steps = [schedule.step() for _ in range(STEPS)]
        schedule.finish()
        assert all(node.is_up for node in cluster.nodes)
        assert len({step.what for step in steps}) > 2
        with cluster.client() as client:
            assert [client.get(f"k{number}") for number in range(100)] == [
                b"%d" % number for number in range(100)
            ]


def test_the_same_seed_does_the_same_and_another_one_something_else() -> None:
    def steps(seed: int) -> list[tuple[str, int, int]]:
        with miniredis.cluster(2, replicas=1) as cluster:
            schedule = cluster.schedule(seed)
            return [(*schedule.step(), len(cluster.nodes[0].slots)) for _ in range(STEPS)]

    first = steps(5)
    assert steps(5) == first
    assert steps(6) != first


def test_each_shard_keeps_a_node_that_is_up() -> None:
    with miniredis.cluster(2, replicas=2) as cluster:
        schedule = cluster.schedule(4)
        downs = 0
        for _ in range(STEPS):
            schedule.step()
            downs += any(not node.is_up for node in cluster.nodes)
            for primary in (each for each in cluster.primaries if each.slots):
                assert primary.is_up or any(each.primary is primary and each.is_up for each in cluster.nodes)
        assert downs


def test_a_node_that_is_alone_has_no_schedule() -> None:
    with miniredis.cluster(1) as cluster, pytest.raises(ValueError, match="one primary and no replica"):
        cluster.schedule(0).step()


def test_failovers_lose_what_no_replica_had_and_say_so(caplog: pytest.LogCaptureFixture) -> None:
    with miniredis.sentinel(replicas=2, sentinels=1) as servers:
        first, (kept, other) = servers.primary, servers.replicas
        with servers.primary.client() as client:
            client.set("a", 1)
            servers.cut_off(kept)
            client.rpush("b", 1, 2)
            servers.cut_off(other)
            until(lambda: caplog.text.count("the link is cut") >= 2, "both have tried to connect again")
            client.set("c", 1, ex=100)
            client.incr("d")
        servers.kill(first)
        assert servers.failover() is other
        assert [command[:2] for command in servers.lost] == [(b"SET", b"c"), (b"INCRBY", b"d")]
        servers.restart(first)
        assert [set(each.dump()) for each in servers.servers] == [{b"a", b"b"}] * 3  # nobody is cut off
        servers.cut_off(kept)
        with servers.primary.client() as client:
            client.set("e", 1)
        servers.reconnect(kept)
        assert set(kept.dump()) == {b"a", b"b", b"e"}
        servers.failover()
        assert len(servers.lost) == 2
        with pytest.raises(ValueError, match="no replica that is up"):
            servers.cut_off(servers.primary)


def test_who_cuts_a_replica_off_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    with miniredis.sentinel() as servers:
        (replica,) = servers.replicas
        monkeypatch.setattr(server_groups, "PATIENCE", 0)
        monkeypatch.setattr(MasterLink, "cut", lambda link: setattr(link, "is_cut", True))
        with pytest.raises(TimeoutError, match="was not cut off"):
            servers.cut_off(replica)
        monkeypatch.setattr(MasterLink, "cut", MasterLink.mend)  # as a failover does that comes in between
        servers.cut_off(replica)
        assert not replica.is_cut_off


def test_a_schedule_of_sentinels_is_that_of_its_seed_and_ends_with_all_servers() -> None:
    def steps(seed: int) -> list[ScheduleStep]:
        with miniredis.sentinel(replicas=2, sentinels=1) as servers:
            schedule = servers.schedule(seed)
            done = [schedule.step() for _ in range(STEPS)]
            schedule.finish()
            assert all(each.is_up and not each.is_cut_off for each in servers.servers)
            with servers.primary.client() as client:
                client.set("k", "v")
            assert all(each.dump() == {b"k": b"v"} for each in servers.servers)
            assert {step.what for step in done} == {"kill", "failover", "restart", "cut_off", "reconnect"}
            return done

    assert steps(1) == steps(1) != steps(2)
