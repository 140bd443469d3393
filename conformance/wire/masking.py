"""Which bytes of what clients say are secrets, and what stands in their place.

``miniredis.redaction`` says which words of a command are secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple
from urllib.parse import quote

from miniredis.redaction import secret_places

from .connections import reply_end

__all__ = ["Span", "masked", "secret_spans", "without", "without_secret"]

STARS: Final = b"***"
SHORTEST: Final = 4
"""Bytes that a known secret has to have to be hidden wherever it stands; shorter ones are parts of words."""


class Span(NamedTuple):
    """Where a word stands, with the line that tells its length if it has one."""

    begin: int
    end: int
    word: bytes


def secret_spans(stream: bytes) -> Iterator[Span]:
    """The secrets in all that one client said, requests and inline commands, whole or not."""
    at = 0
    while at < len(stream):
        end = frame_end(stream, at)
        spans = list(words_of(stream, at, end))
        secret = secret_places([span.word for span in spans])
        yield from (span for number, span in enumerate(spans) if number in secret)
        at = end


def frame_end(stream: bytes, at: int) -> int:
    """Where a request ends; what is none, or not whole, goes on to the end of the line or of everything."""
    try:
        end = reply_end(stream, at)
    except (ValueError, RecursionError):
        return stream.find(b"\n", at) + 1 or len(stream)
    return len(stream) if end is None else end


LENGTH: Final = re.compile(rb"\$(\d+)\r\n")


def words_of(stream: bytes, begin: int, end: int) -> Iterator[Span]:
    """The words of a request, or of an inline command."""
    if stream[begin : begin + 1] != b"*":
        for found in re.compile(rb"\S+").finditer(stream, begin, end):
            yield Span(found.start(), found.end(), found[0])
        return
    while begin < end and (length := LENGTH.search(stream, begin, end)):
        begin = min(length.end() + int(length[1]), end)
        yield Span(length.start(), begin, stream[length.end() : begin])


def masked(stream: bytes, parts: Sequence[tuple[int, int]], secret: str | None) -> Iterator[bytes]:
    """Parts of what a client said, from where to where, without secrets; ``secret`` is one that is known."""
    spans = list(secret_spans(stream))
    for begin, end in parts:
        done, at = b"", begin
        for span in spans:
            if span.begin < end and span.end > at:
                done += stream[at : span.begin] if span.begin > at else b""
                done += starred(span) if span.begin >= begin else b""
                at = span.end
        yield without(done + stream[at:end], secret)


def starred(span: Span) -> bytes:
    counted = span.end - span.begin > len(span.word)
    return b"$%d\r\n%b" % (len(STARS), STARS) if counted else STARS


def without(data: bytes, secret: str | None) -> bytes:
    """The bytes without a secret that is known."""
    word = (secret or "").encode()
    return data.replace(word, STARS) if len(word) >= SHORTEST else data


def without_secret(text: str, secret: str | None) -> str:
    """The text without a password that is known, however it is spelt."""
    for spelling in sorted(spellings(secret or ""), key=len, reverse=True):
        text = text.replace(spelling, STARS.decode())
    return text


def spellings(secret: str) -> set[str]:
    """A password as it is, as in URLs, as Python shows it (as text and as bytes), and these in HTML."""
    if len(secret) < SHORTEST:
        return set()
    found = {secret, quote(secret, safe=""), repr(secret)[1:-1], repr(secret.encode())[2:-1]}
    return found | {escape(each) for each in found}
