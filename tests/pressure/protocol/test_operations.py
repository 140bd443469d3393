"""Operations are generators without I/O, on the keys and by the ids that the protocol documents."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pressure.protocol
from pressure import (
    protocol,
)
from pressure.connections.identity import connection_in, is_released, released
from pressure.connections.pool import HOLDS
from pressure.keys import SUFFIXES, Keys
from pressure.protocol import Batch, Deadline, Operation
from pressure.protocol.operation import with_taken

from .play import (
    KEYS,
    ME,
    OK,
    Play,
    context,
)


class StopError(Exception):
    """Why an operation is to stop."""


def test_with_taken_adds_its_values_to_each_batch_and_passes_on_errors_and_close() -> None:
    log: list[str] = []

    def body(steps: int) -> Operation[int]:
        try:
            for _ in range(steps):
                yield Batch((), taken=(b"2",))
        except StopError:
            log.append("stopped")
            yield Batch(((b"UNWATCH",),))
        finally:
            log.append("over")
        return steps

    with pytest.raises(StopIteration) as stop:
        next(with_taken([b"1"], body(0)))
    assert stop.value.value == 0
    play = Play(with_taken([b"1"], body(1)))
    assert play.step == Batch((), taken=(b"1", b"2"))
    play.throw(StopError())
    assert play.step == Batch(((b"UNWATCH",),), taken=(b"1",))
    assert play.reply(OK).result == 1
    carried = with_taken([], body(1))
    next(carried)
    carried.close()
    assert log == ["over", "stopped", "over", "over"]


def test_operations_are_documented() -> None:
    assert protocol.get_many(context(), Deadline.of(context()), 1)
    assert "Raises:" in str(protocol.get_many.__doc__)


def test_the_operations_do_no_io_and_read_no_clock() -> None:
    folder = Path(pressure.protocol.__file__).parent
    allowed = set(
        "pressure collections dataclasses enum functools hashlib itertools re typing warnings __future__".split()
    )
    for module in folder.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name.partition(".")[0] for name in names} <= allowed, module


def test_a_queue_has_the_twelve_documented_keys() -> None:
    beyond = ("unacked", "rejected", "suspect_producer", "suspect_consumer", "suspect_token", "closing")
    assert [key.decode() for key in Keys.of(b"q", b"p").twelve] == [
        "p:q" + suffix.decode() for field, suffix in SUFFIXES.items() if field not in beyond
    ]
    assert len(KEYS.twelve) == 12
    assert KEYS.produced_bytes == b"p:q:stats:produced_bytes"


def test_hold_ids_of_this_package_are_recognized_and_no_others() -> None:
    name = HOLDS.connection_name()
    hold = HOLDS.begin(name)
    assert connection_in(hold) == name
    assert connection_in(b"web-1.example:77:0123abcd/4/5") == b"web-1.example:77:0123abcd/4"
    others = (
        b"",
        b"host:1",
        b"host:1:0123abcd",
        b"host:1:0123abcd/1",
        b"host:1:0123/1/1",
        b"a b:1:0123abcd/1/1",
    )
    for other in (*others, b"host:1/main/0123abcd", released(hold)):
        assert connection_in(other) is None
    assert is_released(released(hold))
    for other in (*others, hold, b"somebody/released"):
        assert not is_released(other)


def test_a_hold_of_this_process_is_dead_when_it_is_over_and_those_of_others_are_not_known() -> None:
    hold = HOLDS.begin(HOLDS.connection_name())
    assert not HOLDS.is_dead(hold)
    HOLDS.end(hold)
    assert HOLDS.is_dead(hold)
    assert not HOLDS.is_dead(released(hold))
    assert not HOLDS.is_dead(ME)
    assert not HOLDS.is_dead(None)
