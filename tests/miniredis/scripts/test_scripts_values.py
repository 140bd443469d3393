"""Conversion of values in scripts: replies, JSON, MessagePack and struct, the same as on a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from conformance.wire import RawConnection

from ...sizes import long_texts

pytest.importorskip("lupa")

MODESTLY = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Both:
    """A client of miniredis, and one of a real server."""

    def __init__(self, ours: tuple[str, int], theirs: tuple[str, int]) -> None:
        self.clients = [RawConnection(*ours), RawConnection(*theirs)]

    def agree(self, script: str, *arguments: bytes) -> None:
        ours, theirs = (client.command("EVAL", script, "0", *arguments) for client in self.clients)
        assert ours == theirs, script


@pytest.fixture(scope="module")
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    ours, theirs = (request.getfixturevalue(name) for name in ("embedded_server", "redis_7_0"))
    both = Both((ours.host, ours.port), (theirs.host, theirs.port))
    yield both
    for client in both.clients:
        client.close()


def quoted(text: bytes) -> str:
    return "'" + "".join(f"\\{byte:03d}" for byte in text) + "'"


NUMBERS = st.one_of(
    st.integers(-(2**63), 2**64),
    st.integers(-300, 70000),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([2.0**53, 2.0**31, -(2.0**31), 0.1, 1e15, 1e16, 123456789012345.6]),
).map(repr)
STRINGS = (st.binary(max_size=40) | long_texts(10_000)).map(quoted)
NAMES = st.binary(max_size=20).map(quoted)
"""Redis's own Lua orders tables with longer keys in a way of its own."""
PLAIN = st.one_of(st.just("nil"), st.sampled_from(["true", "false"]), NUMBERS, STRINGS)
VALUES = st.recursive(
    PLAIN,
    lambda values: st.one_of(
        st.lists(values, max_size=5).map(lambda parts: "{" + ",".join(parts) + "}"),
        st.dictionaries(st.one_of(NAMES, NUMBERS), values, max_size=4).map(
            lambda pairs: "{" + ",".join(f"[{key}]={value}" for key, value in pairs.items()) + "}"
        ),
        st.tuples(st.sampled_from(["err", "ok", "double", "map", "set", "big_number"]), values).map(
            lambda pair: "{{{}={}}}".format(*pair)
        ),
    ),
    max_leaves=12,
)


@MODESTLY
@given(value=VALUES, version=st.sampled_from("23"))
@example(value="{1, {err='a\\000b'}, {ok='a\\000b'}, 'a\\000b'}", version="2")
@example(value="{err='a\\000b'}", version="2")
def test_script_values_become_the_same_replies(both: Both, value: str, version: str) -> None:
    both.agree(f"redis.setresp({version}) return {value}")


def test_script_errors_end_at_a_nul_byte(both: Both) -> None:
    both.agree("error('a\\000b')")
    both.agree("error({err='CODE a\\000b'})")


@MODESTLY
@given(value=VALUES)
def test_cjson_encodes_and_decodes_values_as_on_redis(both: Both, value: str) -> None:
    both.agree(f"return cjson.encode({value})")
    both.agree(f"return cjson.encode(cjson.decode(cjson.encode({value})))")


FRAGMENTS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                b"{",
                b"}",
                b"[",
                b"]",
                b":",
                b",",
                b'"a"',
                b'"\\u00e9"',
                b'"\\ud83d\\ude00"',
                b'"\\n\\q"',
                b"null",
                b"true",
                b"false",
                b"nan",
                b"inf",
                b"-",
                b"1",
                b"-2.5e3",
                b"0x1F",
                b"01",
                b" ",
                b"\n",
                b'"',
                b"\x00",
            ]
        ),
        st.binary(max_size=3),
    ),
    max_size=9,
).map(b"".join)


@MODESTLY
@given(text=FRAGMENTS)
def test_cjson_decodes_or_refuses_any_text_as_on_redis(both: Both, text: bytes) -> None:
    both.agree("local v = cjson.decode(ARGV[1]) return {type(v), cjson.encode(v)}", text)


@MODESTLY
@given(value=VALUES)
def test_cmsgpack_packs_and_unpacks_values_as_on_redis(both: Both, value: str) -> None:
    both.agree(f"return cmsgpack.pack({value})")
    both.agree(f"return {{cmsgpack.unpack(cmsgpack.pack({value}))}}")


HEADS = st.sampled_from([bytes([head]) for head in range(0x80, 0x100)])


@MODESTLY
@given(text=st.lists(st.one_of(HEADS, st.binary(max_size=3)), max_size=8).map(b"".join))
def test_cmsgpack_unpacks_or_refuses_any_bytes_as_on_redis(both: Both, text: bytes) -> None:
    both.agree("return {cmsgpack.unpack(ARGV[1])}", text)
    both.agree("return {cmsgpack.unpack_limit(ARGV[1], 1, 1)}", text)


FORMATS = st.lists(
    st.sampled_from(
        [
            "b",
            "B",
            "h",
            "H",
            "l",
            "L",
            "i",
            "I",
            "i1",
            "I3",
            "i8",
            "i16",
            "f",
            "d",
            "s",
            "c0",
            "c3",
            "x",
            ">",
            "<",
            "!",
            "!4",
            "!1",
            " ",
            "T",
            "z",
        ]
    ),
    max_size=6,
).map("".join)


@MODESTLY
@given(form=FORMATS, values=st.lists(st.one_of(NUMBERS, STRINGS), max_size=6))
def test_struct_packs_and_unpacks_values_as_on_redis(both: Both, form: str, values: list[str]) -> None:
    arguments = "".join(f", {value}" for value in values)
    both.agree(f"return struct.pack('{form}'{arguments})")
    both.agree(f"return {{struct.unpack('{form}', struct.pack('{form}'{arguments}))}}")
    both.agree(f"return struct.size('{form}')")


@MODESTLY
@given(form=FORMATS, text=st.binary(max_size=30), offset=st.integers(-2, 33))
def test_struct_unpacks_or_refuses_any_bytes_as_on_redis(
    both: Both, form: str, text: bytes, offset: int
) -> None:
    both.agree(f"return {{struct.unpack('{form}', ARGV[1], {offset})}}", text)


@MODESTLY
@given(values=st.lists(NUMBERS, min_size=1, max_size=3), places=st.integers(-40, 70))
def test_bit_operations_give_the_results_of_redis(both: Both, values: list[str], places: int) -> None:
    several, first = ",".join(values), values[0]
    for name in ("band", "bor", "bxor"):
        both.agree(f"return bit.{name}({several})")
    for name in ("lshift", "rshift", "arshift", "rol", "ror", "tohex"):
        both.agree(f"return bit.{name}({first},{places})")
    for name in ("bnot", "bswap", "tobit", "tohex"):
        both.agree(f"return bit.{name}({first})")
