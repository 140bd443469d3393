"""Talks to a node of a cluster, and compares what nodes answer."""

from __future__ import annotations

import re

import hiredis

from conformance.documents.recorded.player import RawClient

__all__ = ["ask", "replies", "without_names"]


def ask(client: RawClient, words: list[bytes]) -> bytes:
    """The bytes of the reply to a request."""
    client.send(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words))
    reader, data = hiredis.Reader(), b""
    while reader.gets() is False:
        more = client.socket.recv(1 << 16)
        assert more, "the server has hung up"
        data += more
        reader.feed(more)
    return data


def replies(address: tuple[str, int], requests: list[list[bytes]]) -> list[bytes]:
    """The replies to the requests of one client."""
    client = RawClient(address)
    try:
        return [ask(client, words) for words in requests]
    finally:
        client.close()


def without_names(reply: bytes) -> bytes:
    """A reply without what differs between two servers: names of nodes, ports, numbers of clients, lengths."""
    for pattern, instead in (
        (rb"\b[0-9a-f]{40}\b", b"<name>"),
        (rb":\d{4,5}@\d{4,5}", b":<port>@<port>"),
        (rb"port\r\n:\d+", b"port\r\n:<port>"),
        (rb"\$0\r\n\r\n:\d+\r\n", b"$0\r\n\r\n:<port>\r\n"),
        (rb"(\bid\r\n):\d+", rb"\1:<number>"),
        (rb"([$=])\d+\r\n(txt:)?<name>", rb"\1<size>\r\n\2<name>"),
    ):
        reply = re.sub(pattern, instead, reply)
    return reply
