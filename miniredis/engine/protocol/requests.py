"""Bytes to commands: RESP arrays and inline commands, with Redis's limits and protocol errors.

Two readers give the same results. The exact reader follows Redis's own, including what Redis does not check:
it skips the two bytes after an argument unseen, and a NUL hides the line end behind it. The fast parser uses
hiredis, which parses replies and so accepts more than requests. Its result is used only if the input cannot
mean anything else; it gets no input that announces more than it can hold. The exact reader reads the rest.

Requests are parsed only when they are asked for: a blocked client's input stays unparsed bytes.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection
from io import BytesIO
from itertools import chain
from typing import Final, TypeAlias

import hiredis

from ..numbers.numbers import parse_integer
from . import errors
from .errors import ProtocolError
from .replies import pack

__all__ = [
    "READ_SIZE",
    "REDACTED",
    "FastParser",
    "RequestParser",
    "are_written_as",
    "few_requests",
    "size_of",
    "split_arguments",
]

REDACTED: Final = b"(redacted)"
"""What stands in the place of a secret word where a request is shown: in the slow log, in a report."""

INLINE_LIMIT: Final = 64 * 1024
"""The most bytes of a line that may arrive without its line end."""

FAST_LIMIT: Final = 16 * 1024
"""The most bytes passed to the fast parser at once; it bounds the parsing done ahead of execution.

No more than ``UNKNOWN_BULK``, so that no argument is too long for an unauthenticated client.
"""

READ_SIZE: Final = 16 * 1024
"""How many bytes Redis reads from a client at a time; it checks limits after each read."""

LARGE_BULK: Final = 32 * 1024
"""An argument of at least this size is read by itself, up to its end and not beyond it."""

UNKNOWN_COUNT: Final = 10
UNKNOWN_BULK: Final = 16 * 1024
"""The most arguments, and the longest in bytes, before a client has authenticated."""

ANNOUNCES: Final = re.compile(rb"\*(?:[0-9]{2}|0)").search
ANNOUNCED: Final = re.compile(rb"[*>~|%]([0-9]{2,9})").findall
"""The sizes of larger arrays: hiredis allocates all elements that an array announces before they arrive."""

TYPED: Final = b"+(=>~|%"
"""First bytes of values that hiredis also reads as strings or lists, but that no request contains.

These include the RESP3 types that contain others: pushes, sets, attributes and maps.
"""

ORDINARY: Final = bytes(set(range(256)) - set(TYPED))
"""All bytes except those."""

END: Final = b":7\r\n"
END_READ: Final = 7
"""Appended to the fast parser's input; it is parsed as an integer only if all input before it is complete."""

SHORTEST_ARGUMENT: Final = len(b"$0\r\n\r\n")

ASTERISK: Final = ord("*")
MAX_ARGUMENTS: Final = (1 << 31) - 1

Request: TypeAlias = list[bytes]

LINES: Final = {b"*%d" % count: 2 * count + 1 for count in range(1, 9)}
"""The number of lines of a small request, by its first line."""

MOST_LINES: Final = max(LINES.values())

LITTLE: Final = 1024
"""The most bytes that are split into lines: Python splits byte by byte."""


class ArgumentHeaders(dict[int, bytes]):
    """The header of an argument, by its length; headers of short arguments are precomputed."""

    def __missing__(self, length: int) -> bytes:
        return b"$%d" % length


SAMPLE: Final = 512
FEW_LINES: Final = 16
"""Input with fewer line ends than this in so many of its first bytes is read by the lengths in it."""

COUNT: Final = re.compile(rb"\*([1-9][0-9]?)\r\n").match
LENGTH: Final = re.compile(rb"\$(0|[1-9][0-9]{0,4})\r\n").match
"""The headers of a small request, and of an argument no longer than ``FAST_LIMIT``."""

SHORT_COUNT: Final = {b"*%d\r\n" % count: count for count in range(1, 10)}.get
SHORT_LENGTH: Final = {b"$%d\r\n" % length: length for length in range(10)}.get
"""The same for headers of one digit, as most have: a look-up takes a third of the time of a match."""

MANY: Final = 8
"""From so many missing arguments on, it pays off to split the input at all line ends."""

announced: Final = ArgumentHeaders((length, b"$%d" % length) for length in range(256)).__getitem__


def few_requests(data: bytes) -> list[Request]:
    """Parses a few small and complete requests, as most clients send; returns [] for any other input.

    No argument may contain a line end, except a large one at the end. Redis would write such requests as they
    came.
    """
    if len(data) > LITTLE:
        return large_request(data)
    lines = data.split(b"\r\n", MOST_LINES)
    if lines.pop() or not lines:
        return []
    end = len(lines)
    if LINES.get(lines[0]) == end:  # one request, as most often
        request = lines[2::2]
        return [request] if lines[1::2] == [*map(announced, map(len, request))] else []
    requests = []
    at = 0
    while at < end:
        behind = at + LINES.get(lines[at], end + 1)
        if behind > end:
            return []
        request = lines[at + 2 : behind : 2]
        if lines[at + 1 : behind : 2] != [*map(announced, map(len, request))]:
            return []
        requests.append(request)
        at = behind
    return requests


def large_request(data: bytes) -> list[Request]:
    """Parses bytes that are one complete request, else []. Only the last argument may hold a line end."""
    count = LINES.get(data[:2])
    if count is None or data[2:4] != b"\r\n":
        return []
    lines = data.split(b"\r\n", count - 1)
    if len(lines) != count or lines[-1][-2:] != b"\r\n":
        return []
    lines[-1] = lines[-1][:-2]
    request = lines[2::2]
    return [request] if lines[1::2] == [*map(announced, map(len, request))] else []


def are_written_as(requests: Collection[Request], data: bytes) -> bool:
    r"""Whether Redis would write requests as the very bytes that they were read from.

    It would, but for the two bytes behind each argument, which nobody looks at when they are read. Where no
    argument holds a ``\r``, each line has its end if there are as many ends as lines.
    """
    lines = len(requests) + 2 * sum(map(len, requests))
    return data.count(b"\r\n") == lines and b"\r" not in b"".join(chain.from_iterable(requests))


class FastParser:
    """Parses the well-formed requests at the start of some bytes. Parsers of one thread share one."""

    def __init__(self) -> None:
        self._reader = hiredis.Reader()

    def read(self, data: bytes) -> tuple[list[Request], int]:
        """Returns the requests and how many bytes they took; none and 0 if there is any doubt.

        Large arguments are read by their lengths: what follows here examines every byte.

        No request is empty: if one is, all are left to the exact reader.

        hiredis accepts no number that Redis would not. So each list it returns is an array of strings if no
        byte that begins another kind of string remains outside the strings.
        """
        if len(data) > LITTLE and data.count(b"\r", 0, SAMPLE) < FEW_LINES:
            return read_by_lengths(data)
        typed = data.translate(None, ORDINARY)
        announces = ANNOUNCES(data)
        if (announces or typed) and announces_more_than_it_holds(data):
            return [], 0
        reader = self._reader
        requests: list[Request] = []
        add, take = requests.append, reader.gets
        try:
            reader.feed(data + END)
            while type(request := take()) is list:
                add(request)
            strings = b"".join(chain.from_iterable(requests))
        except (hiredis.HiredisError, TypeError):
            request = None
        if request == END_READ and not reader.has_data():
            if announces and not all(requests):
                return [], 0
            if not typed or strings.translate(None, ORDINARY) == typed:
                return requests, len(data)
        self._reader = hiredis.Reader()  # the old reader holds an incomplete value
        return self._read_start(data)

    def _read_start(self, data: bytes) -> tuple[list[Request], int]:
        """Returns the requests if encoding them again gives exactly the bytes at the start of the input."""
        reader = hiredis.Reader()
        requests: list[Request] = []
        try:
            reader.feed(data)
            while (request := reader.gets()) is not False:
                requests.append(request)
            encoded = b"".join(map(pack, map(tuple, requests)))
        except (hiredis.HiredisError, TypeError):
            return [], 0
        return (requests, len(encoded)) if all(requests) and data.startswith(encoded) else ([], 0)


def read_by_lengths(data: bytes) -> tuple[list[Request], int]:
    """The requests at the start of some bytes, and how many bytes they took; looks only at the headers."""
    requests: list[Request] = []
    used, size = 0, len(data)
    while used < size:
        at = used + 4
        count = SHORT_COUNT(data[used:at])
        if count is None:
            if (head := COUNT(data, used)) is None:
                break
            count, at = int(head[1]), head.end()
        request: Request = []
        for _ in range(count):
            start = at + 4
            length = SHORT_LENGTH(data[at:start])
            if length is None:
                if (head := LENGTH(data, at)) is None:
                    return requests, used
                length, start = int(head[1]), head.end()
            at = start + length
            request.append(data[start:at])
            at += 2
        if at > size:
            break
        requests.append(request)
        used = at
    return requests, used


def announces_more_than_it_holds(data: bytes) -> bool:
    """Whether arrays announce more elements than the bytes can hold; argument data can look so, too."""
    room = len(data) // SHORTEST_ARGUMENT
    return sum(map(int, ANNOUNCED(data))) > room


class RequestParser:
    """One client's requests: ``feed`` it bytes, then take requests with ``next`` until there is none.

    Args:
        fast_parser: the fast parser, shared by all parsers that run on one thread.
        max_bulk: returns the length in bytes of the longest argument allowed (``proto-max-bulk-len``).
        limited: whether the client has not authenticated yet; then its requests must be small.

    Attributes:
        input: the bytes received and not parsed; it may begin with bytes that were.
        ready: requests that were parsed ahead; ``next`` applies ``limited`` to them, ``take_ready`` does not.
    """

    __slots__ = (
        "_arguments", "_at", "_bulk", "_fast_parser", "_large", "_limited", "_max_bulk", "_measured",
        "_missing", "_ready_data", "_singly", "_try_fast", "input", "ready",
    )  # fmt: skip

    def __init__(
        self,
        fast_parser: FastParser,
        max_bulk: Callable[[], int],
        limited: Callable[[], bool] = lambda: False,
    ) -> None:
        self._fast_parser = fast_parser
        self._max_bulk = max_bulk
        self._limited = limited
        self.input: bytes | bytearray = b""
        self._at = 0  # the position of the exact reader in ``input``
        self.ready: deque[Request] = deque()
        self._ready_data = b""  # the bytes of ``ready``, unless some of these requests were taken already
        self._arguments: Request = []  # the arguments read so far of the current request
        self._measured = 0, 0  # how many of these ``unread`` has measured, and their size
        self._missing = 0  # the number of arguments still to come
        self._bulk: int | None = None  # the announced length of the next argument
        self._large: BytesIO | None = None  # the received part of a large argument
        self._singly = 0  # how many of the arguments must be read one by one
        self._try_fast = False  # whether there is input that the fast parser has not seen

    def feed(self, data: bytes) -> None:
        """Adds bytes that the client sent, of any length, split anywhere."""
        if self._large is not None:
            data = self._feed_large(data)
        if not self.input:
            self.input = data
        else:
            if isinstance(self.input, bytes):
                self.input = bytearray(self.input)
            self.input += data
        self._try_fast = True

    def __len__(self) -> int:
        """The number of bytes not parsed yet."""
        return len(self.input) - self._at + (0 if self._large is None else self._large.tell())

    @property
    def begun(self) -> int:
        """The size in bytes of the arguments parsed so far of an incomplete request."""
        return sum(map(len, self._arguments))

    @property
    def unread(self) -> int:
        """The size in bytes of the requests fed and not taken yet, in Redis's encoding."""
        size = len(self) + sum(map(size_of, self.ready))
        if self._missing:
            size += len(b"*%d\r\n" % (len(self._arguments) + self._missing)) + self._measure()
            size += 0 if self._bulk is None else len(b"$%d\r\n" % self._bulk)
        return size

    def _measure(self) -> int:
        """The size of the arguments parsed so far; each is measured once, however often this is asked."""
        count, size = self._measured
        size += sum(len(b"$%d\r\n\r\n" % len(each)) + len(each) for each in self._arguments[count:])
        self._measured = len(self._arguments), size
        return size

    def _feed_large(self, data: bytes) -> bytes:
        """Adds to a large argument what it still lacks; returns the remaining bytes."""
        assert self._large is not None
        assert self._bulk is not None
        missing = self._bulk - self._large.tell()
        if len(data) <= missing:
            self._large.write(data)
            return b""
        self._large.write(memoryview(data)[:missing])
        return data[missing:]

    @property
    def appetite(self) -> int:
        """The number of bytes that Redis would read next: the rest of a large argument, or ``READ_SIZE``."""
        if self._bulk is None or self._bulk < LARGE_BULK:
            return READ_SIZE
        return max(self._bulk + 2 - len(self), 0) or READ_SIZE

    @property
    def is_between(self) -> bool:
        """Whether all input was parsed, and no request is incomplete."""
        return not (self.ready or self.input or self._missing)

    def read_ahead(self) -> bool:
        """Parses what the fast parser can; returns whether there are requests in ``ready``."""
        if self._try_fast and not self.ready and not self._missing:
            self._parse_fast()
        return bool(self.ready)

    def take_ready(self) -> tuple[list[Request], bytes]:
        """Removes and returns the requests that were parsed ahead, and their bytes."""
        ready, data = [*self.ready], self._ready_data
        self.ready.clear()
        self._ready_data = b""
        return ready, data

    def next(self) -> Request | None:
        """The next request, or None if it is not complete. It may be empty, such as a blank line.

        Raises:
            ProtocolError: the input is not a request; nothing after it can be parsed.
        """
        if not self.ready and not self.read_ahead():
            return self._read_exactly()
        request = self.ready.popleft()
        self._ready_data = b""
        if len(request) > UNKNOWN_COUNT and self._limited():
            raise ProtocolError(errors.UNKNOWN_CLIENTS_COUNT)
        return request

    def _parse_fast(self) -> None:
        """Passes the input to the fast parser, once for each feed, so that no byte is parsed repeatedly."""
        self._try_fast = False
        data = bytes(self.input[self._at : self._at + FAST_LIMIT])
        if not data or data[0] != ASTERISK:
            return
        requests, used = self._fast_parser.read(data)
        self.ready.extend(requests)
        self._ready_data = data[:used]
        if used == len(self.input):
            self.input = b""
            return
        self._at += used
        self._try_fast = used > 0 and len(data) == FAST_LIMIT
        self._forget_read()

    def _forget_read(self) -> None:
        if self._at == len(self.input):
            self.input = b""
            self._at = 0
        elif self._at > FAST_LIMIT:
            if isinstance(self.input, bytes):
                self.input = bytearray(self.input)
            del self.input[: self._at]  # moves the start of the buffer, copies nothing
            self._at = 0

    def _read_exactly(self) -> Request | None:
        while self._at < len(self.input):
            if self._missing:
                request = self._read_arguments()
            elif self.input[self._at] != ASTERISK:
                request = self._read_inline()
            elif not self._read_count():
                return None
            elif self._missing:
                continue
            else:
                request = []
            self._forget_read()
            return request
        return None

    def _read_count(self) -> bool:
        line = self._line(errors.BIG_COUNT)
        if line is None:
            return False
        count = parse_integer(line[1:])
        if count is None or count > MAX_ARGUMENTS:
            raise ProtocolError(errors.INVALID_MULTIBULK)
        if count > UNKNOWN_COUNT and self._limited():
            raise ProtocolError(errors.UNKNOWN_CLIENTS_COUNT)
        self._missing = max(count, 0)
        self._forget_read()
        return True

    def _read_arguments(self) -> Request | None:
        while self._missing:
            many = self._bulk is None and not self._singly and self._missing >= MANY
            if many and self._take_arguments():
                continue
            if self._bulk is None and not self._read_length():
                return None
            argument = self._argument()
            if argument is None:
                return None
            self._arguments.append(argument)
            self._missing -= 1
            self._singly = max(self._singly - 1, 0)
        request, self._arguments = self._arguments, []
        self._measured = 0, 0
        return request

    def _take_arguments(self) -> bool:
        """Parses the next arguments at once if they have the usual encoding; returns whether it parsed any.

        If one has another encoding or contains a line end, the arguments examined here are then read one by
        one, so that no byte is examined repeatedly.
        """
        data = bytes(self.input[self._at : self._at + FAST_LIMIT])
        lines = data.split(b"\r\n", 2 * self._missing)
        arguments = lines[1:-1:2]
        headers = [*map(announced, map(len, arguments))]
        if lines[: 2 * len(headers) : 2] != headers:
            good = next(at for at, header in enumerate(headers) if header != lines[2 * at])
            self._singly = len(headers) - good
            del headers[good:], arguments[good:]
        self._arguments += arguments
        self._missing -= len(arguments)
        self._at += sum(map(len, arguments)) + sum(map(len, headers)) + 4 * len(arguments)
        return bool(arguments)

    def _read_length(self) -> bool:
        length: int | None
        if usual := LENGTH(self.input, self._at):
            length = int(usual[1])
            self._at = usual.end()
        else:
            line = self._line(errors.BIG_BULK_COUNT)
            if line is None:
                return False
            if line[:1] != b"$":
                raise ProtocolError(errors.expected_dollar(line[:1] or b"\r"))
            length = parse_integer(line[1:])
        if length is None or not 0 <= length <= self._max_bulk():
            raise ProtocolError(errors.INVALID_BULK)
        if length > UNKNOWN_BULK and self._limited():
            raise ProtocolError(errors.UNKNOWN_CLIENTS_BULK)
        self._bulk = length
        return True

    def _argument(self) -> bytes | None:
        assert self._bulk is not None
        if self._large is not None:
            return self._large_argument(self._large)
        end = self._at + self._bulk
        if len(self.input) < end + 2:
            if self._bulk >= LARGE_BULK:
                self._begin_large()
            return None
        argument = bytes(self.input[self._at : end])
        self._at = end + 2
        self._bulk = None
        return argument

    def _begin_large(self) -> None:
        """Starts a separate buffer for a large argument, so that completing it does not copy it again."""
        data = bytes(self.input[self._at :])
        self._large, self.input, self._at = BytesIO(), b"", 0
        self.input = self._feed_large(data)

    def _large_argument(self, large: BytesIO) -> bytes | None:
        if large.tell() != self._bulk or len(self.input) < self._at + 2:
            return None
        self._at += 2
        self._bulk = self._large = None
        return large.getvalue()  # its bytes are not copied

    def _line(self, too_long: bytes) -> bytes | None:
        """Takes the current header line without its end, which is a CR and any one byte."""
        end = self._visible(b"\r")
        if end is None:
            if len(self) > INLINE_LIMIT:
                raise ProtocolError(too_long)
            return None
        if end + 2 > len(self.input):
            return None
        line = bytes(self.input[self._at : end])
        self._at = end + 2
        return line

    def _visible(self, byte: bytes) -> int | None:
        """The position of a byte; None behind a NUL, where C's string functions do not look."""
        end = self.input.find(byte, self._at)
        if end < 0 or self.input.find(b"\0", self._at, end) >= 0:
            return None
        return end

    def _read_inline(self) -> Request | None:
        end = self._visible(b"\n")
        if end is None:
            if len(self) > INLINE_LIMIT:
                raise ProtocolError(errors.BIG_INLINE)
            return None
        line = bytes(self.input[self._at : end])
        self._at = end + 1
        return self.words_of(line.removesuffix(b"\r"))

    def words_of(self, line: bytes) -> Request:
        """The words of an inline command; raises ``ProtocolError`` if it is none."""
        arguments = split_arguments(line)
        if arguments is None:
            raise ProtocolError(errors.UNBALANCED_QUOTES)
        return arguments


SPACE: Final = b" \t\n\v\f\r"
"""Allowed before a word and required after a closing quote; ``\\v`` and ``\\f`` do not end a bare word."""

WORD_END: Final = b" \t\n\r"
BARE: Final = re.compile(rb"[^ \t\n\r\"']++").match
DOUBLE_QUOTED: Final = re.compile(rb'"((?:[^"\\]++|\\.)*+)"', re.DOTALL).match
SINGLE_QUOTED: Final = re.compile(rb"'((?:[^'\\]++|\\'?)*+)'", re.DOTALL).match
ESCAPE: Final = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
ESCAPES: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"a": b"\a"}


def size_of(request: Request) -> int:
    """The size of a request in bytes, in Redis's encoding."""
    return len(pack(tuple(request)))


def split_arguments(line: bytes) -> Request | None:
    """The words of an inline command, with redis-cli's quoting; None if a quote is unbalanced."""
    arguments: Request = []
    at = 0
    while True:
        while at < len(line) and line[at] in SPACE:
            at += 1
        if at == len(line):
            return arguments
        word = read_word(line, at)
        if word is None:
            return None
        argument, at = word
        arguments.append(argument)


def read_word(line: bytes, at: int) -> tuple[bytes, int] | None:
    """Reads a word of bare and quoted parts. A closing quote ends it and must be followed by white space."""
    word = b""
    while at < len(line) and line[at] not in WORD_END:
        if bare := BARE(line, at):
            word += bare[0]
            at = bare.end()
            continue
        quoted = DOUBLE_QUOTED(line, at) or SINGLE_QUOTED(line, at)
        if quoted is None:
            return None
        at = quoted.end()
        if at < len(line) and line[at] not in SPACE:
            return None
        word += unescape(quoted[1]) if quoted[0][:1] == b'"' else quoted[1].replace(b"\\'", b"'")
        break
    return word, at


def unescape(text: bytes) -> bytes:
    def meaning(escape: re.Match[bytes]) -> bytes:
        name = escape[1]
        return bytes([int(name[1:], 16)]) if len(name) == 3 else ESCAPES.get(name, name)

    return ESCAPE.sub(meaning, text)
