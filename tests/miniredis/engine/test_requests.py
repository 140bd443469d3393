"""The parser gives the same result for a request whole, byte by byte, or with more behind it; the fast path too."""

import tracemalloc
from collections.abc import Iterable
from itertools import pairwise, product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from miniredis.engine.protocol.errors import ProtocolError
from miniredis.engine.protocol.requests import FAST_LIMIT, READ_SIZE, FastParser, RequestParser, few_requests
from tests.cases import for_each

from ...sizes import long_texts, sizes

MAX_BULK = 512 * 1024 * 1024


class NoFastParser(FastParser):
    """Leaves everything to the exact reader."""

    def read(self, data: bytes) -> tuple[list[list[bytes]], int]:
        return [], 0


class Singly(RequestParser):
    """Reads one argument after the other."""

    def _take_arguments(self) -> bool:
        return False


def parse(
    chunks: Iterable[bytes], fast_parser: FastParser | None = None, *, limited: bool = False
) -> tuple[list[list[bytes]], bytes]:
    """All requests in the chunks, and the error that ends them, if any."""
    kind = Singly if isinstance(fast_parser, NoFastParser) else RequestParser
    parser = kind(fast_parser or FastParser(), lambda: MAX_BULK, lambda: limited)
    requests = []
    for chunk in chunks:
        parser.feed(chunk)
        try:
            while (request := parser.next()) is not None:
                requests += [request] if request else []
        except ProtocolError as error:
            return requests, error.message.removeprefix(b"ERR Protocol error: ")
    return requests, b""


def encode(*arguments: bytes) -> bytes:
    return b"*%d\r\n" % len(arguments) + b"".join(b"$%d\r\n%b\r\n" % (len(each), each) for each in arguments)


CASES: dict[str, tuple[bytes, list[list[bytes]], bytes]] = {
    "one": (encode(b"PING"), [[b"PING"]], b""),
    "several": (encode(b"GET", b"k") + encode(b"PING"), [[b"GET", b"k"], [b"PING"]], b""),
    "an empty argument": (encode(b"ECHO", b""), [[b"ECHO", b""]], b""),
    "binary": (encode(b"ECHO", b"\x00\r\n$1\r\n*\xff"), [[b"ECHO", b"\x00\r\n$1\r\n*\xff"]], b""),
    "inline": (b"ECHO 'a b'\r\n", [[b"ECHO", b"a b"]], b""),
    "inline without a CR": (b"PING\n", [[b"PING"]], b""),
    "inline between arrays": (
        encode(b"A") + b"B\r\n" + encode(b"C"), [[b"A"], [b"B"], [b"C"]], b"",
    ),
    "nothing": (b"\r\n\n*0\r\n*-1\r\n", [], b""),
    "a plus sign": (b"*+1\r\n", [], b"invalid multibulk length"),
    "a leading zero": (b"*1\r\n$04\r\nPING\r\n", [], b"invalid bulk length"),
    "minus zero": (b"*1\r\n$-0\r\n\r\n", [], b"invalid bulk length"),
    "a null": (b"*1\r\n$-1\r\n", [], b"invalid bulk length"),
    "a status": (b"*1\r\n+PING\r\n", [], b"expected '$', got '+'"),
    "a verbatim string": (b"*1\r\n=8\r\ntxt:PING\r\n", [], b"expected '$', got '='"),
    "a big number": (b"*1\r\n(12\r\n", [], b"expected '$', got '('"),
    "a nested array": (b"*1\r\n*1\r\n$4\r\nPING\r\n", [], b"expected '$', got '*'"),
    "right before wrong": (encode(b"PING") + b"*1\r\n:1\r\n" + encode(b"PING"), [[b"PING"]], b"expected '$', got ':'"),
    "unbalanced quotes": (b"ECHO 'a\r\n", [], b"unbalanced quotes in request"),
    "a vertical tab within a word": (b"\x0bECHO a\x0bb \x0c'c'\x0bd\r\n", [[b"ECHO", b"a\x0bb", b"c", b"d"]], b""),
    "any two bytes behind an argument": (b"*1\r\n$4\r\nPING..", [[b"PING"]], b""),
    "any byte behind a CR": (b"*1\r.$4\r.PING..", [[b"PING"]], b""),
    "a status behind two wrong bytes": (b"*2\r\n$1\r\na..+b\r\n", [], b"expected '$', got '+'"),
    "too many arguments": (b"*2147483648\r\n", [], b"invalid multibulk length"),
    "too long an argument": (b"*1\r\n$536870913\r\n", [], b"invalid bulk length"),
}  # fmt: skip


@for_each("case", CASES.values(), ids=CASES.keys())
def test_a_request_parses_the_same_wherever_it_is_cut(case: tuple[bytes, list[list[bytes]], bytes]) -> None:
    data, requests, error = case
    assert parse([data]) == (requests, error), "whole"
    assert parse(data[at : at + 1] for at in range(len(data))) == (requests, error), "byte by byte"
    for at in range(1, len(data)):
        assert parse([data[:at], data[at:]]) == (requests, error), f"cut at {at}"
    if not error:
        more = encode(b"MORE", b"x" * 100)
        assert parse([data + more]) == ([*requests, [b"MORE", b"x" * 100]], b""), "with more behind it"
        assert parse([data + b"*1\r\n"]) == (requests, b""), "with the beginning of another behind it"


LONG = 60_000
"""Under 64 KiB: whether a longer line is refused depends on how much of it has come, as on Redis."""

pieces = st.one_of(
    st.lists(long_texts(LONG), min_size=1, max_size=4),
    st.lists(st.binary(max_size=8), min_size=1, max_size=4),
    st.sampled_from([case[0] for case in CASES.values()]),
    st.sampled_from(
        [b"*", b"$", b"\r\n", b"\r", b"+", b":", b"1", b"2", b"-1", b"0", b"PING", b" ", b"'", b'"', b"\0"]
    ),
    st.binary(max_size=4),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(pieces, max_size=12), st.lists(sizes(200_000), max_size=6))
@example([b"*1\r\n$1\r\nxAB+OK\r\n"], [])
def test_the_fast_path_and_cuts_do_not_change_the_parsed_requests(
    parts: list[bytes | list[bytes]], cuts: list[int]
) -> None:
    data = b"".join(part if isinstance(part, bytes) else encode(*part) for part in parts)
    places = [0, *sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    chunks = [data[start:end] for start, end in pairwise(places)]
    exactly = parse([data], NoFastParser())
    assert parse([data]) == exactly
    assert parse(chunks) == exactly
    if len(data) < 200:
        assert parse(data[at : at + 1] for at in range(len(data))) == exactly


arguments = st.lists(
    st.sampled_from([b"", b"a", b"\r\n", b"\r", b"\n", b"$1\r\na\r\n", b"\0", b"x" * 300, b"x" * FAST_LIMIT]),
    max_size=30,
)
spoilt = st.sampled_from(
    [(b"$1\r\n", b"$01\r\n"), (b"a\r\n", b"a.."), (b"$1\r", b"+1\r"), (b"$0", b"$-0"), (b"", b"")]
)


@settings(max_examples=150, deadline=None)
@given(arguments, st.integers(0, 5), spoilt, st.lists(st.integers(0, 3000), max_size=4))
def test_arguments_read_in_bulk_are_the_same_as_read_one_by_one(
    words: list[bytes], more: int, change: tuple[bytes, bytes], cuts: list[int]
) -> None:
    request = encode(b"x" * FAST_LIMIT, *words)  # too long for the fast parser
    data = request.replace(*change, 1) if change[0] else request
    data += encode(b"PING") * more
    places = [0, *sorted({min(cut + FAST_LIMIT, len(data)) for cut in cuts}), len(data)]
    assert parse(data[start:end] for start, end in pairwise(places)) == parse([data], NoFastParser())


@settings(max_examples=150, deadline=None)
@given(st.lists(arguments, max_size=4), spoilt, st.lists(st.integers(0, 30_000), max_size=4))
@example([[b"a", b"b"]], (b"$1\r\n", b"$-1\r\n"), [])
@example([[b"a", b"b"]], (b"$1\r\n", b":1\r\n"), [])
def test_requests_read_by_their_lengths_are_the_same_as_read_exactly(
    requests: list[list[bytes]], change: tuple[bytes, bytes], cuts: list[int]
) -> None:
    data = b"".join(encode(b"x" * 2000, *words) for words in requests)
    data = data.replace(*change, 1) if change[0] else data
    places = [0, *sorted({min(cut, len(data)) for cut in cuts}), len(data)]
    assert parse(data[start:end] for start, end in pairwise(places)) == parse([data], NoFastParser())


@pytest.mark.parametrize("word", [b"e123", b""], ids=["short", "empty"])
def test_the_arguments_of_a_long_request_are_read_in_bulk(
    monkeypatch: pytest.MonkeyPatch, word: bytes
) -> None:
    read, exactly = 0, RequestParser._read_length

    def counted(self: RequestParser) -> bool:
        nonlocal read
        read += 1
        return exactly(self)

    monkeypatch.setattr(RequestParser, "_read_length", counted)
    data = encode(b"SADD", b"k", *[word] * 100_000)
    pieces = [data[at : at + READ_SIZE] for at in range(0, len(data), READ_SIZE)]
    assert parse(pieces) == ([[b"SADD", b"k", *[word] * 100_000]], b"")
    assert read <= 3 * len(pieces)


@pytest.mark.parametrize("value", [b"v", b"v" * 1000, b"\r\n" + b"*\r+" * 300])
def test_the_fast_path_takes_well_formed_requests(value: bytes) -> None:
    request = encode(b"SET", b"k", value)
    for rest in (b"*1\r\n$4\r\nPI", request[:-1]):
        assert FastParser().read(request * 10 + rest) == ([[b"SET", b"k", value]] * 10, 10 * len(request))


@pytest.mark.parametrize("size", [1, FAST_LIMIT - 100, FAST_LIMIT, FAST_LIMIT + 1, 1_000_000])
def test_large_values_and_long_pipelines_are_parsed(size: int) -> None:
    value = bytes(range(256)) * (size // 256 + 1)
    data = encode(b"SET", b"k", value[:size]) * 3 + encode(b"PING") * 5000
    expected = [[b"SET", b"k", value[:size]]] * 3 + [[b"PING"]] * 5000
    assert parse([data]) == (expected, b"")
    assert parse(data[at : at + 65536] for at in range(0, len(data), 65536)) == (expected, b"")


@pytest.mark.parametrize(
    "line", [b"*" + b"1" * 70_000, b"*1\r\n$" + b"1" * 70_000, b"a" * 70_000, b"\0" * 70_000]
)
def test_lines_that_never_end_are_refused(line: bytes) -> None:
    requests, error = parse([line])
    assert requests == []
    assert error in {b"too big mbulk count string", b"too big bulk count string", b"too big inline request"}
    assert parse([line[:60_000]]) == ([], b"")


@pytest.mark.parametrize(
    "data",
    [
        b"*1000000000\r\n$1\r\n",
        b"*999\r\n" * 5000,
        b"*1\r\n$536870912\r\n",
        b"*2147483647\r\n" + b"$0\r\n\r\n" * 100,
        b"*99\r\n*99\r\n*99\r\n*99\r\n*99\r\n*99\r\n*99\r\n",
    ],
)
def test_announced_lengths_take_no_memory_before_the_data_arrives(data: bytes) -> None:
    tracemalloc.start()
    try:
        parse([data])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 400_000 + 20 * len(data)


LIMITED: dict[str, tuple[bytes, list[list[bytes]], bytes]] = {
    "ten arguments": (encode(*[b"x"] * 10), [[b"x"] * 10], b""),
    "eleven arguments": (encode(*[b"x"] * 11), [], b"unauthenticated multibulk length"),
    "eleven arguments after another request": (
        encode(b"A") + encode(*[b"x"] * 11),
        [[b"A"]],
        b"unauthenticated multibulk length",
    ),
    "eleven announced": (b"*11\r\n", [], b"unauthenticated multibulk length"),
    "2^31 announced": (b"*2147483648\r\n", [], b"invalid multibulk length"),
    "eleven words in a line": (b"x " * 11 + b"\n", [[b"x"] * 11], b""),
    "16 KiB": (encode(b"x" * 16384), [[b"x" * 16384]], b""),
    "16 KiB and one byte": (encode(b"x" * 16385), [], b"unauthenticated bulk length"),
    "an argument beyond the general limit": (b"*1\r\n$536870913\r\n", [], b"invalid bulk length"),
}


@for_each("case", LIMITED.values(), ids=LIMITED.keys())
def test_requests_before_authentication_have_stricter_limits(
    case: tuple[bytes, list[list[bytes]], bytes],
) -> None:
    data, requests, error = case
    assert parse([data], limited=True) == (requests, error), "whole"
    assert parse((data[at : at + 1] for at in range(len(data))), limited=True) == (requests, error)
    assert parse([data], NoFastParser(), limited=True) == (requests, error), "without the fast parser"
    if error.startswith(b"unauthenticated"):
        assert parse([data])[1] == b"", "limits are for the unknown"


def test_limits_before_authentication_apply_to_requests_read_ahead_of_a_reset() -> None:
    limited = False
    parser = RequestParser(FastParser(), lambda: MAX_BULK, lambda: limited)
    parser.feed(encode(b"RESET") + encode(*[b"x"] * 11))
    assert parser.next() == [b"RESET"]
    limited = True
    with pytest.raises(ProtocolError, match="unauthenticated multibulk length"):
        parser.next()


def test_the_parser_asks_for_the_rest_of_a_large_argument() -> None:
    parser = RequestParser(FastParser(), lambda: MAX_BULK)
    assert parser.appetite == 16384
    parser.feed(b"*1\r\n$32768\r\n" + b"x" * 100)
    assert parser.next() is None
    assert parser.appetite == 32768 + 2 - 100
    parser.feed(b"x" * 32668 + b"\r\n")
    assert parser.next() == [b"x" * 32768]
    assert parser.appetite == 16384
    parser.feed(b"*1\r\n$32767\r\n")
    assert parser.next() is None
    assert parser.appetite == 16384


def test_requests_of_a_blocked_client_are_kept_unparsed() -> None:
    parser = RequestParser(FastParser(), lambda: MAX_BULK)
    data = encode(b"") * 100_000
    tracemalloc.start()
    try:
        parser.feed(data)
        for at in range(0, len(data), 65536):
            parser.feed(data[at : at + 65536])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * len(data)
    assert len(parser) == 2 * len(data)


LARGE = b"x" * 2000


def sent(*words: bytes) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)


@for_each(
    ("data", "requests"),
    [
        (sent(b"SET", b"k", b"v"), [[b"SET", b"k", b"v"]]),
        (sent(b"GET", b"k") + sent(b"GET", b"l"), [[b"GET", b"k"], [b"GET", b"l"]]),
        (sent(b"SET", b"k", b"\r\n"), []),
        (sent(b"SET", b"k", LARGE), [[b"SET", b"k", LARGE]]),
        (sent(b"SET", LARGE, b"k"), [[b"SET", LARGE, b"k"]]),
        (sent(b"SET", b"k", LARGE + b"\r\n"), [[b"SET", b"k", LARGE + b"\r\n"]]),
        (sent(LARGE), [[LARGE]]),
        (sent(b"SET", b"k", LARGE)[:-1], []),
        (sent(b"SET", b"k", LARGE)[:-2], []),
        (sent(b"SET", b"k", LARGE) + b"*", []),
        (sent(b"SET", b"k", LARGE) * 2, []),
        (sent(b"SET", b"k", LARGE).replace(b"2000", b"2001"), []),
        (sent(b"SET", b"k", LARGE).replace(b"$1", b"$2"), []),
        (b"*33\r\n$3\r\nSET\r\n$1\r\nk\r\n$2000\r\n" + LARGE + b"\r\n", []),
        (b"*0\r\n" + LARGE + b"\r\n", []),
        (b"*1\r\n" + LARGE + b"\r\n", []),
        (b"*2\r\n$3\r\nGET\r\n$-1\r\n" + LARGE + b"\r\n", []),
        (LARGE + b"\r\n", []),
    ],
)
def test_which_requests_the_fast_path_takes(data: bytes, requests: list[list[bytes]]) -> None:
    """What can be read so is what the parser reads; where there is any doubt, nothing is."""
    assert few_requests(data) == requests
    if requests:
        assert parse([data]) == (requests, b"")


PIECE = b"y" * (1 << 20)


def test_a_large_argument_that_has_arrived_whole_is_not_copied() -> None:
    parser = RequestParser(FastParser(), lambda: MAX_BULK)
    count = 32
    tracemalloc.start()
    try:
        parser.feed(b"*2\r\n$4\r\nECHO\r\n$%d\r\n" % (count * len(PIECE)))
        for _ in range(count):
            assert parser.next() is None
            parser.feed(PIECE)
        parser.feed(b"\r\n")
        _, argument = parser.next() or []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert argument == PIECE * count
    assert peak < 1.5 * len(argument)


@pytest.mark.parametrize("size", [32 * 1024 - 1, 32 * 1024, 100_000])
def test_a_large_argument_parses_the_same_wherever_it_is_cut(size: int) -> None:
    words = [b"SET", b"k" * size, bytes(range(250)) * (size // 250)]
    data = encode(*words) + encode(b"PING") + encode(*words)
    due = [words, [b"PING"], words]
    ends = {at + near for at in (0, size, len(data) // 2, len(data) - size) for near in range(-40, 41)}
    for at in sorted(each for each in ends if 0 < each < len(data)):
        assert parse([data[:at], data[at:]]) == (due, b""), at
        assert parse([data[:at], data[at : at + 1], data[at + 1 : at + 20], data[at + 20 :]]) == (due, b""), (
            at
        )


def test_the_received_part_of_a_large_argument_counts_as_unparsed_input() -> None:
    parser = RequestParser(FastParser(), lambda: MAX_BULK)
    parser.feed(b"*2\r\n$4\r\nECHO\r\n$100000\r\n" + b"x" * 1000)
    assert parser.next() is None
    parser.feed(b"x" * 60_000)
    assert len(parser) == 61_000
    assert parser.appetite == 100_002 - 61_000
    assert not parser.is_between
    parser.feed(b"x" * 39_000 + b"\r")
    assert parser.next() is None
    assert (len(parser), parser.appetite) == (100_001, 1)
    parser.feed(b"\nPI")
    assert parser.next() == [b"ECHO", b"x" * 100_000]
    assert len(parser) == 2


def test_few_requests_reads_only_what_redis_would_write_as_the_same_bytes() -> None:
    large = encode(b"SET", b"k", b"x\r\ny" * 300)
    read = 0
    for data in (large, encode(b"LPUSH", b"l", b"", b"x" * 12), encode(b"GET", b"k") * 3):
        for at, byte in product(range(min(len(data), 80)), b"\r\n\0$*019-+ lx"):
            for tried in (
                data[:at] + bytes((byte,)) + data[at + 1 :],
                data[:at] + bytes((byte,)) + data[at:],
            ):
                if requests := few_requests(tried):
                    assert b"".join(encode(*request) for request in requests) == tried
                    read += 1
    assert read
