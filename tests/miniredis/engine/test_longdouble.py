"""INCRBYFLOAT gives the same sums on both servers, for numbers of every size and form."""

from __future__ import annotations

import random

from conformance.targets import Address
from conformance.wire import RawConnection, encode
from miniredis.engine.numbers.long_doubles import LongDouble
from tests.cases import for_each

ODD = [
    "", " 1", "1 ", "inf", "-inf", "nan", "+inf", "infinity", "INF", "infinit", "nan(1)", "+", "-", ".", "1.", ".5",
    "+.5", "-.5e1", "1e", "1e+", "0x", "0x1p", "0x.p1", "0x1.8p-3", "0X1P5", "1_0", "0e99999999999", "1e99999999999",
    "0x1p-16445", "0x1p-16446", "0x1p16383", "0x1p16384", "-0", "-0.0", "1e-4951", "3.6e-4951", "1.8e-4951",
    "1.1e4932", "1.2e4932", "0x1p99999999999", "0.1", "0.2", "0.3", "3.0e3", "5e-18", "5.00000000000000001e-18",
    "4.9e-18", "1e17", "1e18", "1e19",
]  # fmt: skip


def number(rng: random.Random) -> str:
    """Some text that is a number, mostly."""
    digits = "".join(
        rng.choice("0123456789") for _ in range(rng.choice([5, 18, 19, 20, 40, 400, 5119, 5120]))
    )
    return rng.choice(
        [
            rng.choice(ODD),
            rng.choice(ODD),
            str(rng.randint(-100, 100)),
            f"{rng.uniform(-1000, 1000):.{rng.randint(0, 20)}f}",
            repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-30, 30)),
            f"{rng.randint(-999, 999)}e{rng.randint(-4960, 4940)}",
            digits,
            f"0.{digits}",
            f"{rng.randint(-(1 << 63), 1 << 63)}.25",
            f"{rng.uniform(-1e10, 1e10):.20e}",
            f"0x{rng.getrandbits(rng.randint(1, 80)):x}p{rng.randint(-16460, 16390)}",
        ]
    )


def test_incrbyfloat_gives_the_sums_of_a_real_server(embedded_server: Address, real_server: Address) -> None:
    rng = random.Random(80)  # noqa: S311
    with (
        RawConnection(embedded_server.host, embedded_server.port) as ours,
        RawConnection(real_server.host, real_server.port) as theirs,
    ):
        for _ in range(10):
            sums = [(number(rng), number(rng)) for _ in range(50)]
            data = b"".join(encode("SET", "f", a) + encode("INCRBYFLOAT", "f", b) for a, b in sums)
            for each in (ours, theirs):
                each.socket.sendall(data)
            for pair in sums:
                assert ours.reply() == theirs.reply()
                assert ours.reply() == theirs.reply(), pair


@for_each(
    ("text", "shown"),
    [("0.1", "0.1"), ("1e3", "1000"), ("-0", "0"), ("1e-18", "0"), ("0x1p-1", "0.5"), ("-2.50", "-2.5")],
)
def test_a_parsed_long_double_is_written_in_shortest_form(text: str, shown: str) -> None:
    assert str(LongDouble.parse(text.encode())) == shown


def test_one_tenth_plus_two_tenths_is_written_as_three_tenths() -> None:
    one, two = LongDouble.parse(b"0.1"), LongDouble.parse(b"0.2")
    assert one is not None
    assert two is not None
    assert str(one.plus(two)) == "0.3"
