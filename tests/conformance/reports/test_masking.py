"""Passwords that clients send are masked in reports."""

from __future__ import annotations

from conformance.failure import Evidence
from conformance.judging.runner import Outcome
from conformance.reports.reporting import without_secrets
from conformance.wire import encode
from conformance.wire.masking import masked
from tests.cases import for_each

from .sample import PUSH


def whole(stream: bytes, secret: str | None = None) -> bytes:
    (said,) = masked(stream, [(0, len(stream))], secret)
    return said


@for_each(
    ("words", "shown"),
    [
        (("AUTH", "sesame"), ("AUTH", "***")),
        (("auth", "me", "sesame"), ("auth", "***", "***")),
        (("HELLO", "3", "AUTH", "me", "sesame"), ("HELLO", "3", "AUTH", "***", "***")),
        (("CONFIG", "SET", "requirepass", "sesame"), ("CONFIG", "SET", "requirepass", "***")),
        (
            ("CONFIG", "SET", "appendonly", "no", "tls-key-file-pass", "sesame"),
            ("CONFIG", "SET", "appendonly", "no", "tls-key-file-pass", "***"),
        ),
        (("ACL", "SETUSER", "me", ">sesame"), ("ACL", "SETUSER", "***", "***")),
        (("SET", "AUTH", "sesame"), ("SET", "AUTH", "sesame")),
    ],
)
def test_passwords_in_commands_are_masked(words: tuple[str, ...], shown: tuple[str, ...]) -> None:
    before, behind = encode("PING"), encode("GET", "k")
    assert whole(before + encode(*words) + behind) == before + encode(*shown) + behind


def test_a_password_in_an_inline_command_is_masked() -> None:
    assert whole(b"AUTH sesame\r\nPING\r\n") == b"AUTH ***\r\nPING\r\n"


def test_a_password_split_over_two_reads_is_masked() -> None:
    stream = encode("AUTH", "sesame") + encode("PING")
    cut = stream.index(b"same")
    said = b"".join(masked(stream, [(0, cut), (cut, len(stream))], None))
    assert b"sesame" not in said
    assert b"se" not in said.replace(b"sesame", b"")
    assert said.endswith(encode("PING"))


def test_a_password_in_an_incomplete_request_is_masked() -> None:
    assert b"sesame" not in whole(encode("AUTH", "sesame")[:-2])


def test_a_known_password_is_hidden_however_it_is_spelt() -> None:
    secret = "open:se\\same&"  # noqa: S105
    texts = [secret, "open%3Ase%5Csame%26", repr(secret), repr(secret.encode()), "open:se\\same&amp;"]
    outcome = Outcome(PUSH, "violated", " ".join(texts), (Evidence(secret, *texts[1:3]),))
    shown = without_secrets(outcome, secret)
    assert "same" not in repr(shown)
    assert shown.reason.count("***") == len(texts)
