"""Requests cut in any way: to the engine at every place, to both servers over TCP in the middle."""

from __future__ import annotations

import pytest

from conformance.hostile.case import Case
from conformance.hostile.cases.frames import FRAMES
from conformance.hostile.cases.lines import LINES
from conformance.hostile.play import Stage
from conformance.targets import Address
from miniredis.engine import Engine, Instant

from .test_requests import CASES, encode

NOW = Instant(1, 1)
LONGEST = 400

SHORT = {
    case.name: data
    for case in (*FRAMES, *LINES)
    if len(data := b"".join(case.pieces)) <= LONGEST and not case.may_differ
} | {f"request: {name}": data for name, (data, _, _) in CASES.items()}  # fmt: skip

TRAILING = encode(b"ECHO", b"trailing\r\n") + b"PING\r\n*1\r\n$4\r\nPI"

Heard = tuple[bytes, bool]


def feed(engine: Engine, *pieces: bytes) -> Heard:
    """What a new client of the engine gets, and whether it is hung up on."""
    session = engine.connect(NOW)
    engine.reset(NOW)
    reply = b""
    for piece in pieces:
        engine.receive(session, piece, NOW)
        engine.settle(NOW)
        reply += session.take_output()
    assert not engine.take_faults()
    closing = session.closing
    engine.disconnect(session, NOW)
    return without_number(reply), closing


def without_number(reply: bytes) -> bytes:
    head, found, tail = reply.partition(b"$2\r\nid\r\n:")
    return head + found + tail.lstrip(b"0123456789")


@pytest.mark.parametrize("data", SHORT.values(), ids=SHORT.keys())
def test_the_engine_hears_the_same_however_it_is_cut(data: bytes) -> None:
    engine = Engine(now=NOW)
    for case in (data, data + TRAILING):
        whole = feed(engine, case)
        bytewise = feed(engine, *(case[at : at + 1] for at in range(len(case))))
        assert is_same(bytewise, whole), "byte by byte"
        for at in range(1, len(case)):
            assert is_same(feed(engine, case[:at], case[at:]), whole), f"cut at {at}"


def is_same(cut: Heard, whole: Heard) -> bool:
    """A client that says POST goes without the replies that were not sent yet; some were, if it was cut."""
    return cut == whole or (whole == (b"", True) and cut[1])


@pytest.mark.parametrize("data", SHORT.values(), ids=SHORT.keys())
def test_both_servers_say_the_same_to_halves(
    data: bytes, embedded_server: Address, real_server: Address
) -> None:
    middle = len(data) // 2
    case = Case("cut in the middle", (data[:middle], data[middle:]))
    with Stage(embedded_server.host, embedded_server.port) as ours:
        heard = ours.play(case)
    with Stage(real_server.host, real_server.port) as real:
        assert heard == real.play(case)
