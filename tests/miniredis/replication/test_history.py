"""The history of the data: which replicas get a partial synchronization, and which need a full one."""

import itertools

import pytest

from miniredis.engine.replication.history import History


@pytest.fixture
def history() -> History:
    names = (b"%040d" % number for number in itertools.count(1))
    return History(lambda: next(names), lambda: 10)


def test_nothing_is_known_before_the_first_replica(history: History) -> None:
    assert not history.has(history.name, history.offset + 1)


@pytest.mark.parametrize("missing", range(11))
def test_a_replica_goes_on_if_what_it_missed_is_kept(history: History, missing: int) -> None:
    history.keep()
    history.append(b"abcdefghijklmno")
    start = history.offset - missing + 1
    assert history.has(history.name, start)
    assert history.since(start) == b"abcdefghijklmno"[15 - missing :]


def test_a_replica_that_missed_more_needs_everything(history: History) -> None:
    history.keep()
    history.append(b"abcdefghijklmno")
    assert not history.has(history.name, history.offset - 10)


def test_a_replica_from_the_future_or_of_another_history_needs_everything(history: History) -> None:
    history.keep()
    history.append(b"abc")
    assert not history.has(history.name, history.offset + 2)
    assert not history.has(b"9" * 40, history.offset + 1)


def test_a_replica_that_becomes_a_master_knows_its_masters_history_up_to_then(history: History) -> None:
    history.follow(b"a" * 40, 100)
    history.append(b"12345")
    history.branch_off()
    history.append(b"678")
    assert history.name != b"a" * 40
    assert history.has(b"a" * 40, 101)
    assert history.has(b"a" * 40, 106)
    assert not history.has(b"a" * 40, 107)
    assert history.since(104) == b"45678"
