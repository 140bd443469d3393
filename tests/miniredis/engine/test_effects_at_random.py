"""What random conversations propagate, command by command beside the append-only file of a real Redis.

For longer: ``pytest -n 0 -m slow tests/miniredis/engine/test_effects_at_random.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.differential.coverage import Coverage, all_names
from conformance.differential.grammar import LEFT_OUT, Form, read_forms
from conformance.differential.pair import Pair
from conformance.differential.rival import DEBUG, Rival
from conformance.differential.search import converse, of_seed
from conformance.differential.steps import Difference, Step
from conformance.targets import Address
from conformance.wire import RawConnection
from tests.miniredis.engine.effects import Effect, appended_to, commands_in, differences
from tests.servers import find_redis_7_0, start_redis


class Propagating(Pair):
    """Both servers; what they have propagated is compared at the end of a conversation."""

    def __init__(self, rival: Rival, file: Path) -> None:
        super().__init__(rival, Coverage(), Counter())
        self._file = file
        self._seen = 0
        self._database = b"0"
        self.compared = 0

    def _play(self, steps: list[Step], sent: list[tuple[str, Step]]) -> Difference | None:
        self.engine.recording.start()
        self._appended()
        before = self._changes()
        difference = super()._play(steps, sent)
        counted = [now - then for now, then in zip(self._changes(), before, strict=True)]
        if counted[0] != counted[1]:
            difference = difference or Difference("changes", *(b"%d" % each for each in counted))
        ours, theirs = commands_in(self.engine.recording.take()), self._appended()
        self.compared += len(ours)
        for text in differences(ours, theirs):
            difference = Difference("the file", text.encode("latin-1"), b"")
        return difference

    def _keys_may_end_unasked(self, steps: list[Step]) -> bool:
        """They may not: FLUSHDB counts a key whose time has come, unless the server has deleted it already."""
        return False

    def _changes(self) -> tuple[int, int]:
        """How many changes each of the two has counted."""
        told = self.control.command("INFO", "persistence")
        return self.engine.keyspace.changes, int(told.split(b"rdb_changes_since_last_save:")[1].split()[0])

    def _appended(self) -> list[Effect]:
        """What the real server has appended since it was asked last, with the database at the beginning."""
        effects = appended_to(self._file)
        new, self._seen = effects[self._seen :], len(effects)
        begin = [(b"SELECT", self._database)] if new and new[0][0].upper() != b"SELECT" else []
        chosen = [effect[1] for effect in new if effect[0].upper() == b"SELECT"]
        self._database = [self._database, *chosen][-1]
        return [*begin, *new]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Propagating]:
    folder = tmp_path_factory.mktemp("aof")
    flags = ("--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0", *DEBUG)
    with start_redis(folder, *flags, program=find_redis_7_0) as server:
        made = Propagating(Rival(Address(server.url, "redis-server")), folder / "appendonlydir")
        yield made
        made.close()


@pytest.fixture(scope="module")
def forms(pair: Propagating) -> list[Form]:
    with RawConnection.over(pair.rival.connect().socket) as server:
        return read_forms(server, [name for name in all_names() if name not in LEFT_OUT])


@pytest.mark.parametrize(
    ("seeds", "examples"),
    [(range(12), 2), pytest.param(range(1000), 20, marks=pytest.mark.slow)],
    ids=["some", "many"],
)
def test_random_conversations_propagate_what_redis_appends_to_its_file(
    seeds: range, examples: int, pair: Propagating, forms: list[Form]
) -> None:
    before = pair.compared
    for seed in seeds:
        found = converse(pair, *of_seed(forms, seed), examples=examples, shorten_for=30)
        assert found is None, f"{found.difference.ours.decode('latin-1')}\n" + "\n".join(
            map(str, found.steps)
        )
    assert pair.compared > before + 10 * len(seeds)


def test_keys_whose_time_has_come_are_counted_where_all_keys_are_deleted(pair: Propagating) -> None:
    steps = [
        Step(0, tuple(words.split()), words.split()[0].lower(), 0) for words in ("SET k v PXAT 1", "FLUSHDB")
    ]
    for _ in range(20):
        assert pair.play(steps)[1] is None
