"""The notation for a command's arguments in its declaration, from which COMMAND DOCS is generated.

A declaration reads like a usage line: ``key#0 value [condition(NX|XX)] [EX seconds:integer] [field...]``.

===================  ===================================================================
``name``             an argument, a string unless ``:type`` follows
``name#0``           a key, found by key specification 0
``EX name``          an argument after a token; a token alone is an argument itself
``ALPHA~sorting``    a token whose argument has another name; signs work too: ``$~new_id``, ``""~none``
``name(A|B)``        one of several
``name{a b}``        several together
``[argument]``       optional
``argument...``      can be repeated; with ``...!`` its token is repeated too
``@7.0.0``           the version of Redis that added it, after the name
``@-7.0.0``          the version that deprecated it
===================  ===================================================================
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from ..protocol.replies import Map, Reply, Set, status

__all__ = ["Argument", "documented", "parse"]

WORDS: Final = re.compile(r"\.\.\.!?|[\[\](){}|]|[^\s\[\](){}|.]+(?:\.(?!\.\.)[^\s\[\](){}|.]+)*")
NAME: Final = re.compile(
    r"([^#@~]+?|~)(?:~([^#@]+))?(?::(integer|double|key|pattern|unix-time))?"
    r"(?:#([0-9]+))?(?:@([0-9.]+))?(?:@-([0-9.]+))?"
)


@dataclass(slots=True)
class Argument:
    """One argument of a command.

    Attributes:
        name: what COMMAND DOCS calls it.
        kind: string, integer, double, key, pattern, unix-time, pure-token, oneof or block.
        token: the word that precedes it, or that is the argument.
        key: the number of the key specification that finds it; None if it is not a key.
        since: the version of Redis that added it, if later than the command.
        deprecated: the version that deprecated it.
        flags: optional, multiple, multiple_token.
        parts: the arguments in a oneof or block.
    """

    name: str
    kind: str = "string"
    token: str = ""
    key: int | None = None
    since: str = ""
    deprecated: str = ""
    flags: list[str] = field(default_factory=list)
    parts: list[Argument] = field(default_factory=list)


def parse(text: str) -> list[Argument]:
    """Parses the arguments of a declaration."""
    words = WORDS.findall(text)
    arguments = read_list(words)
    assert not words, f"{text!r} has {words[-1]!r} too much"
    return arguments


def read_list(words: list[str]) -> list[Argument]:
    """Parses arguments up to a closing bracket or a bar; removes the parsed words from ``words``."""
    arguments: list[Argument] = []
    while words and words[0] not in {"]", ")", "}", "|"}:
        arguments.append(read_one(words))
    return arguments


def read_one(words: list[str]) -> Argument:
    if words[0] == "[":
        del words[0]
        argument = read_one(words)
        assert words.pop(0) == "]", "one argument stands between brackets"
        argument.flags.insert(0, "optional")
    else:
        argument = read_named(words)
    if words and words[0].startswith("..."):
        argument.flags += ["multiple", "multiple_token"] if words.pop(0).endswith("!") else ["multiple"]
    return argument


def read_named(words: list[str]) -> Argument:
    token = ""
    if words[0][0].isupper() and len(words) > 1 and words[1][0].islower():
        token = words.pop(0)
    argument = read_name(words.pop(0))
    argument.token = token or argument.token
    if words and words[0] == "(":
        argument.kind, argument.parts = "oneof", read_alternatives(words)
    elif words and words[0] == "{":
        del words[0]
        argument.kind, argument.parts = "block", read_list(words)
        del words[0]
    return argument


def read_alternatives(words: list[str]) -> list[Argument]:
    parts: list[Argument] = []
    while words.pop(0) != ")":
        parts += read_list(words)
    return parts


def read_name(word: str) -> Argument:
    match = NAME.fullmatch(word)
    assert match, f"{word!r} names no argument"
    name, alias, kind, key, since, deprecated = match.groups(default="")
    if not name[0].islower():
        return Argument(alias or name.lower(), "pure-token", token=name.strip('"'), since=since)
    kind = kind or ("key" if key else "string")
    return Argument(name, kind, key=int(key) if key else None, since=since, deprecated=deprecated)


def documented(argument: Argument) -> Map:
    """One argument as COMMAND DOCS shows it."""
    shown: dict[bytes, Reply] = {b"name": argument.name.encode(), b"type": argument.kind.encode()}
    if argument.key is not None:
        shown[b"key_spec_index"] = argument.key
    if argument.token or argument.kind == "pure-token":
        shown[b"token"] = argument.token.encode()
    if argument.since:
        shown[b"since"] = argument.since.encode()
    if argument.deprecated:
        shown[b"deprecated_since"] = argument.deprecated.encode()
    if argument.flags:
        shown[b"flags"] = Set(status(flag.encode()) for flag in argument.flags)
    if argument.parts:
        shown[b"arguments"] = [documented(part) for part in argument.parts]
    return Map(shown)
