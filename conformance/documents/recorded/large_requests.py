"""Requests beyond the buffers of servers, many at once and in pieces: a reply is what the request says, whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, product
from typing import Final

from ...judging.environment import Environment, expect
from ...wire import encode
from ..large import gist
from ..model import Clause
from ..registry import check, declare

CLAUSE: Final = "recorded.large-requests"

declare(
    Clause(
        CLAUSE,
        ("recorded",),
        "Redis 7.0.15",
        "decided",
        "Requests of any size are read whole, many at once or in pieces, whatever bytes are in them.",
        ("redis-7.0",),
    )
)

EDGES: Final = tuple(
    edge + beside for edge in (256, 512, 1024, 16384, 32768, 65536) for beside in (-30, -1, 0, 1)
)
"""Around the sizes of what servers read and keep at a time."""

FILLS: Final = (b"x", b"-\r\n", b"*2\r\n$1\r\n", b":7\r\n+(=>~|%", b"\r\x00\n")
"""Bytes that look like the end of a line, like another request or like another type of reply."""


def argument(size: int, fill: bytes = b"x") -> bytes:
    """So many bytes."""
    return (fill * (size // len(fill) + 1))[:size]


def expect_echoed(env: Environment, requests: Iterable[bytes], arguments: Iterable[bytes], what: str) -> None:
    """Fails unless the requests, each sent when what came before is answered, echo these arguments."""
    connection = env.connect()
    wanted = [b"$%d\r\n%s\r\n" % (len(each), each) for each in arguments]
    for request in requests:
        connection.socket.sendall(request)
    seen = [connection.reply() for _ in wanted]
    expect(list(map(gist, seen)), list(map(gist, wanted)), f"replies to {what}")


@check(CLAUSE)
def one_after_the_other_and_all_at_once(env: Environment) -> None:
    for fill in FILLS:
        some = [argument(size, fill) for size in (*range(12), *EDGES)]
        requests = [encode("ECHO", each) for each in some]
        for each, request in zip(some, requests, strict=True):
            expect_echoed(env, [request], [each], f"an ECHO of {len(each)} bytes of {fill!r}")
        expect_echoed(env, [b"".join(requests)], some, f"ECHOs of many sizes of {fill!r} at once")
        small = [argument(size % 40, fill) for size in range(3000)]
        expect_echoed(
            env, [b"".join(encode("ECHO", each) for each in small)], small, f"small ones of {fill!r}"
        )


@check(CLAUSE)
def of_many_arguments(env: Environment) -> None:
    """Of which one is odd, in any place."""
    connection, key = env.connect(), env.key("many")
    for count, size, fill in product((1, 8, 9, 20, 200), (1, 100), FILLS):
        for odd in {0, count // 2, count - 1}:
            values = [argument(size, fill if place == odd else b"x") for place in range(count)]
            connection.socket.sendall(
                encode("RPUSH", key, *values) + encode("LRANGE", key, "0", "-1") + encode("DEL", key)
            )
            expect(connection.reply(), b":%d\r\n" % count, f"an RPUSH of {count} elements of {size} bytes")
            wanted = b"*%d\r\n" % count + b"".join(b"$%d\r\n%s\r\n" % (size, each) for each in values)
            what = f"{count} elements of {size} bytes, number {odd} of {fill!r}"
            expect(gist(connection.reply()), gist(wanted), what)
            expect(connection.reply(), b":1\r\n", "a DEL")


@check(CLAUSE)
def in_pieces(env: Environment) -> None:
    """What comes behind another request is a part of one, and its rest comes later."""
    connection = env.connect()
    for size, fill in product((12, 1024, 16384, 32768, 65536), FILLS[:2]):
        words = [argument(size, fill), argument(3), argument(size // 2, fill)]
        request = encode("LPUSH", env.key("list"), *words)
        for cut in cuts(request):
            connection.socket.sendall(encode("ECHO", "first") + request[:cut])
            expect(connection.reply(), b"$5\r\nfirst\r\n", "an ECHO before a part of a request")
            connection.socket.sendall(
                request[cut:] + encode("LRANGE", env.key("list"), "0", "-1") + encode("DEL", env.key("list"))
            )
            expect(connection.reply(), b":3\r\n", f"an LPUSH of {size} bytes of {fill!r}, cut behind {cut}")
            wanted = b"*3\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(each), each) for each in reversed(words))
            expect(
                gist(connection.reply()),
                gist(wanted),
                f"elements of {size} bytes of {fill!r}, cut behind {cut}",
            )
            expect(connection.reply(), b":1\r\n", "a DEL")


def cuts(request: bytes) -> Iterator[int]:
    """Places where a request is cut: around its first and last bytes, and around the ends of its longer parts."""
    places = {1, 2, 3, 4, 5, 6, len(request) // 2, *(len(request) - back for back in range(1, 8))}
    ends = accumulate(
        len(part) + 2 for part in request.split(b"\r\n") if len(request) < 100 or len(part) > 20
    )
    yield from sorted(
        place
        for place in {*places, *(end - back for end in ends for back in range(4))}
        if 0 < place < len(request)
    )


@check(CLAUSE)
def lines(env: Environment) -> None:
    """Inline commands, of which a part may have come before."""
    for size in (1, 10, *(each - 10 for each in EDGES)):
        line = b"ECHO " + argument(size) + b"\r\n"
        for cut in (0, 3, len(line) // 2, len(line) - 1):
            connection = env.connect()
            connection.socket.sendall(encode("ECHO", "first") + line[:cut])
            expect(connection.reply(), b"$5\r\nfirst\r\n", "an ECHO before a part of a line")
            connection.socket.sendall(line[cut:] + encode("ECHO", "last"))
            wanted = b"$%d\r\n%s\r\n" % (size, argument(size))
            expect(gist(connection.reply()), gist(wanted), f"a line with {size} bytes, cut behind {cut}")
            expect(connection.reply(), b"$4\r\nlast\r\n", "an ECHO behind a line")
