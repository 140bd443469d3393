"""Inline commands, and what reaches a Redis port by mistake."""

from __future__ import annotations

from typing import Final

from ..case import Case, from_bytes

__all__ = ["LINES"]

QUOTES: Final[dict[str, bytes | tuple[bytes, ...]]] = {
    "a quote not closed": b"ECHO 'a\r\n",
    "a double quote not closed": b'ECHO "a\r\n',
    "a quote alone": b"'\r\n",
    "a double quote alone": b'"\r\n',
    "a quote closed by the other": b"ECHO 'a\"\r\n",
    "a letter behind a closing quote": b"ECHO 'a'b\r\n",
    "a letter behind a closing double quote": b'ECHO "a"b\r\n',
    "two quoted pieces in a row": b"ECHO 'a''b'\r\n",
    "a quote within a word": b"ECHO a'b c'\r\n",
    "a double quote within a word": b'ECHO a"b c"\r\n',
    "a quote within a word, not closed": b"ECHO don't\r\n",
    "an empty quoted name": b"''\r\n",
    "an empty quoted argument": b"ECHO ''\r\n",
    "a backslash that ends the line": b'ECHO "a\\\r\n',
    "a backslash before the closing quote": b'ECHO "a\\"\r\n',
    "a backslash before the closing single quote": b"ECHO 'a\\'\r\n",
    "two backslashes before a closing single quote": b"ECHO 'a\\\\'\r\n",
    "hexadecimal escapes": b'ECHO "\\x00\\xff\\x0d\\x0a"\r\n',
    "a hexadecimal escape of one digit": b'ECHO "\\x0"\r\n',
    "a hexadecimal escape of no digits": b'ECHO "\\xzz"\r\n',
    "escapes by letter": b'ECHO "\\n\\r\\t\\b\\a\\v\\q\\0"\r\n',
    "escapes in single quotes": b"ECHO '\\n\\x41'\r\n",
    "escapes without quotes": b"ECHO \\n\\x41\r\n",
    "a protocol error behind replies": b"PING\r\nPING\r\nECHO '\r\nPING\r\n",
    "ten thousand quoted words": b"PING" + b" ''" * 10_000 + b"\r\n",
    "sixty thousand backslashes": b'ECHO "' + b"\\\\" * 30_000 + b'"\r\n',
    "sixty thousand backslashes, not closed": b'ECHO "' + b"\\" * 60_000 + b'"\r\n',
    "sixty thousand quotes": b"ECHO " + b"'" * 60_000 + b"\r\n",
}

ENDS: Final[dict[str, bytes | tuple[bytes, ...]]] = {
    "nothing": b"\r\n",
    "a line feed": b"\n",
    "ten thousand empty lines": b"\r\n" * 10_000 + b"PING\r\n",
    "spaces": b"     \r\nPING\r\n",
    "spaces around": b"   PING   \r\n",
    "tabs between": b"ECHO\ta\r\n",
    "a vertical tab within a word": b"ECHO a\x0bb\r\n",
    "a form feed within a word": b"ECHO a\x0cb\r\n",
    "a vertical tab before a word": b"\x0bECHO \x0b\x0ca\r\n",
    "a vertical tab behind a quoted word": b'MGET "a"\x0b"b"\x0cc\r\n',
    "a carriage return within": b"ECHO a\rb\r\n",
    "two carriage returns at the end": b"ECHO a\r\r\n",
    "a carriage return, then silence": b"PING\r",
    "no end": b"PING",
    "no end, and then one": (b"PI", b"NG", b"\r", b"\n"),
    "a NUL within": (b"ECHO a\x00b\r\n", b"PING\r\n"),
    "a NUL first": (b"\x00PING\r\n", b"PING\r\n"),
    "a NUL, and 64 KiB": b"\x00" * 70_000,
    "64 KiB": b"x" * 65_536,
    "64 KiB, then one byte": (b"x" * 65_536, b"x"),
    "64 KiB, then its end": (b"x" * 65_536, b"\n"),
    "one byte more than 64 KiB": b"x" * 65_537,
    "a megabyte": b"x" * (1 << 20),
    "a reply, then 64 KiB": b"PING\r\n" + b"x" * 70_000,
    "a line of 65 000 bytes": b"ECHO " + b"a" * 65_000 + b"\r\n",
    "a line of 70 000 bytes at once": b"ECHO " + b"a" * 70_000 + b"\r\n",
    "twenty thousand words": b"MGET" + b" a" * 20_000 + b"\r\n",
    "bytes above ASCII": b"ECHO \xff\xfe\xc3\xa9\r\n",
    "a byte order mark": b"\xef\xbb\xbfPING\r\n",
    "UTF-16": "PING\r\n".encode("utf-16-le"),
    "a control character in a name": b"\x01\x02PING\r\n",
    "a number as a name": b"123\r\n",
    "a comma as a separator": b"ECHO,a\r\n",
    "a semicolon": b"PING; FLUSHALL\r\n",
    "arrays within lines": b"PING *1\r\n$4\r\nPING\r\n",
}

STRANGERS: Final[dict[str, bytes | tuple[bytes, ...]]] = {
    "a GET of HTTP": b"GET / HTTP/1.1\r\nAccept: */*\r\n\r\n",
    "a GET of HTTP that says Host": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nFLUSHALL\r\n",
    "a POST of HTTP": b"POST / HTTP/1.1\r\nContent-Length: 8\r\n\r\nFLUSHALL",
    "a POST behind a reply": b"PING\r\nPOST /\r\nPING\r\n",
    "a POST within a transaction": b"MULTI\r\nPING\r\nPOST / HTTP/1.1\r\n",
    "a POST as an array": b"*1\r\n$4\r\npOsT\r\n",
    "a POST, then a NUL": b"*1\r\n$6\r\nPOST\x00x\r\n",
    "a POST and a letter": b"POSTS\r\n",
    "a Host of HTTP": b"Host: localhost\r\n",
    "a Host without its colon": b"Host\r\n",
    "a Host where replies are off": b"CLIENT REPLY OFF\r\nhost: x\r\n",
    "the beginning of TLS": bytes.fromhex("16030100f8010000f40303") + b"\x7f" * 32 + b"\r\n",
    "the beginning of SSH": b"SSH-2.0-OpenSSH_9.6\r\n",
    "a mail server's greeting": b"EHLO example.org\r\nMAIL FROM:<a@b>\r\nQUIT\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "telnet's negotiations": b"\xff\xfd\x18\xff\xfd\x20\xff\xfb\x03PING\r\n",
    "JSON": b'{"jsonrpc": "2.0", "method": "ping"}\r\n',
    "JSON over lines": b'{\r\n  "method": "ping"\r\n}\r\n',
    "memcached's set": b"set k 0 0 1\r\nx\r\n",
    "memcached's version": b"version\r\nstats\r\n",
}

LINES: Final[list[Case]] = [
    *from_bytes("inline", QUOTES | ENDS),
    *from_bytes("stranger", STRANGERS),
]
