"""Requests that arrive in pieces: cut at many places for the engine, in the middle for both servers."""

from __future__ import annotations

import pytest

from conformance.targets import Address
from miniredis.engine import Engine, Instant
from tests.cases import check_each, exhaustive
from tests.tools.hostile.case import Case
from tests.tools.hostile.cases.frames import FRAMES
from tests.tools.hostile.cases.lines import LINES
from tests.tools.hostile.play import Stage

from .test_requests import CASES, encode

NOW = Instant(1, 1)
LONGEST = 400
EVERYWHERE = 60
"""Requests of fewer bytes are cut at every place, longer ones at one in eight, and at each in the exhaustive run."""

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


def test_an_argument_that_looks_like_a_request_is_none_where_its_beginning_came_behind_whole_requests() -> (
    None
):
    text = b"*1\r\n$4\r\nPING\r\n"
    begun = encode(b"GET", b"missing") * 2 + b"*2\r\n$4\r\nECHO\r\n$%d\r\n" % len(text)
    reply, _ = feed(Engine(now=NOW), begun, text, b"\r\n")
    assert reply == b"$-1\r\n" * 2 + b"$%d\r\n%b\r\n" % (len(text), text)


@pytest.mark.parametrize("apart", [8, exhaustive(1)])
def test_the_engine_replies_the_same_wherever_a_request_is_cut(apart: int) -> None:
    check_each(SHORT, lambda data: cut_everywhere(data, apart))


def cut_everywhere(data: bytes, apart: int) -> None:
    engine = Engine(now=NOW)
    for case in (data, data + TRAILING):
        whole = feed(engine, case)
        bytewise = feed(engine, *(case[at : at + 1] for at in range(len(case))))
        assert is_same(bytewise, whole), "byte by byte"
        for at in range(1, len(case), 1 if len(case) < EVERYWHERE else apart):
            assert is_same(feed(engine, case[:at], case[at:]), whole), f"cut at {at}"


def is_same(cut: Heard, whole: Heard) -> bool:
    """A client that says POST goes without the replies that were not sent yet; some were, if it was cut."""
    return cut == whole or (whole == (b"", True) and cut[1])


@pytest.mark.parametrize("first", [0, exhaustive(1), exhaustive(2)])
def test_both_servers_reply_the_same_to_requests_in_two_pieces(
    first: int, embedded_server: Address, redis_7_0: Address
) -> None:
    """In the default run every third request."""

    def halve(data: bytes) -> None:
        middle = len(data) // 2
        case = Case("cut in the middle", (data[:middle], data[middle:]))
        assert ours.play(case) == real.play(case)

    with (
        Stage(embedded_server.host, embedded_server.port) as ours,
        Stage(redis_7_0.host, redis_7_0.port) as real,
    ):
        check_each(dict([*SHORT.items()][first::3]), halve)
