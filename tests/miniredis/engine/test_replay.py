"""A replay by shortcuts leaves the data that the commands themselves leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from random import Random

import pytest

from miniredis import Engine
from miniredis.engine import Instant
from miniredis.engine.effects import replay
from miniredis.engine.effects.replay import Replay
from miniredis.engine.effects.shortcuts import SHORTCUTS
from miniredis.engine.rdb import snapshot

NOW = Instant(1_700_000_000_000_000, 0)

FORMS = """
RPUSH k v|RPUSH k v v|rpush k v|LPUSH k v|LPUSH k v v|RPOP k|LPOP k|lpop k|RPOP k 2
SET k v|SET k n|SET k v PXAT 1800000000000|SET k v KEEPTTL|APPEND k v|INCR k
HSET k n v|HSET k v n|HSET k n v v v|HSET k n L|HDEL k n|SADD k n|SADD k v|SADD k n n|SREM k n
DEL k|PEXPIREAT k 1800000000000|PERSIST k|SELECT 1|SELECT 0|MULTI|EXEC
"""
"""Commands of a file, with words to fill in: a key, a value, a number, a long value."""


PART = 20
"""Commands between two looks at the data."""


def effects(random: Random, count: int) -> list[list[bytes]]:
    fillers: Mapping[str, Callable[[], str]] = {
        "k": lambda: random.choice("abcdef"),
        "v": lambda: random.choice("xyz"),
        "n": lambda: str(random.randrange(600)),
        "L": lambda: "x" * 65,
    }
    forms = FORMS.strip().replace("\n", "|").split("|")
    return [
        [fillers[word]().encode() if word in fillers else word.encode() for word in form.split()]
        for form in random.choices(forms, k=count)
    ]


def replayed(effects: list[list[bytes]]) -> list[bytes]:
    """All data during a replay of effects, as a file has them."""
    engine = Engine(now=NOW)
    played = Replay(engine)
    states = []
    for at in range(0, len(effects), PART):
        played.run(effects[at : at + PART])
        states.append(b"".join(snapshot.write(engine.keyspace, [])))
    return states


@pytest.mark.parametrize("seed", range(5))
def test_shortcuts_do_what_the_commands_do(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: Counter[tuple[bytes, bool]] = Counter()

    def counted(name: bytes, session: object, args: list[bytes]) -> bool:
        done = SHORTCUTS[name](session, args)  # type: ignore[arg-type]
        taken[name, done] += 1
        return done

    commands = effects(Random(seed), 20_000)  # noqa: S311  (not for secrets)
    counting = {name: lambda *what, name=name: counted(name, *what) for name in SHORTCUTS}
    monkeypatch.setattr(replay, "SHORTCUTS", counting)
    by_shortcuts = replayed(commands)
    monkeypatch.setattr(replay, "SHORTCUTS", {})
    assert by_shortcuts == replayed(commands)
    assert taken.keys() == {(name, done) for name in SHORTCUTS for done in (True, False)}


def test_a_replay_changes_a_watched_key_as_any_command_does() -> None:
    engine = Engine(now=NOW)
    played = Replay(engine)
    played.run([[b"RPUSH", b"list", b"a"]])
    session = engine.connect(NOW)
    engine.receive(session, b"WATCH list\r\nMULTI\r\nPING\r\n", NOW)
    played.run([[b"RPUSH", b"list", b"b"]])
    played.end()
    engine.receive(session, b"EXEC\r\n", NOW)
    assert session.take_output().endswith(b"*-1\r\n")
