"""Failures of a cluster that a seed decides."""

from __future__ import annotations

import pytest

import miniredis

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
