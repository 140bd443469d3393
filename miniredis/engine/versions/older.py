"""What 6.0 and 6.2 did not take yet: arguments that their commands got later.

The declarations say since when an argument is there (``@7.0.0`` in ``syntax``). In an older version its token
is a word that the command does not know: a question mark stands in for it, which the function refuses
once it has read what is before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ..commands.strings.strings import set_with_options
from ..declarations.registry import DECLARED, Command, Handler, Prepare, instead_of, prepared, prepared_in
from ..declarations.syntax import Argument, parse
from .version import OLD, Version, versions_in

if TYPE_CHECKING:
    from ..clients.session import Session

NEWER_WORDS: Final = {b"georadiusbymember": {b"ANY"}, b"georadiusbymember_ro": {b"ANY"}}
"""Words that 6.0 does not have although the declaration does not say so, as that of 7.0 does not."""

SPARED: Final[dict[bytes, Handler]] = {b"set": set_with_options}
"""What runs a command that has options: without them it is so common that this must not cost it anything."""


def tokens(arguments: Sequence[Argument]) -> Iterator[bytes]:
    """The words that stand for or before arguments."""
    for each in arguments:
        if each.token:
            yield each.token.encode()
        yield from tokens(each.parts)


def newer(arguments: Sequence[Argument], version: Version) -> Iterator[bytes]:
    """The tokens that a version does not have."""
    for each in arguments:
        if version.has(each.since):
            yield from newer(each.parts, version)
        else:
            yield from tokens([each])


def first_option(command: Command, arguments: Sequence[Argument]) -> int:
    """Where in a request options may begin: behind the arguments that always come first."""
    at = 1 + command.name.count(b"|")
    for each in arguments:
        if "optional" in each.flags or each.parts:
            break
        at += 1
    return at


def without_newer(unknown: set[bytes], first: int, known: set[bytes] | None) -> Prepare:
    """What puts a question mark for unknown words, from a place on.

    Words behind the options may be anything where ``known`` has all words of options.
    """

    def prepare(_: Session, args: list[bytes]) -> list[bytes]:
        end = len(args)
        if known is not None:
            end = next((at for at in range(first, end) if args[at].upper() not in known), end)
        options = [b"?" if word.upper() in unknown else word for word in args[first:end]]
        return [*args[:first], *options, *args[end:]]

    return prepare


for declared in tuple(DECLARED.values()):
    arguments = parse(declared.docs.syntax)
    for version in versions_in(OLD):
        unknown = set(newer(arguments, version))
        if version.name == "6.0":
            unknown |= NEWER_WORDS.get(declared.name, set())
        if unknown and declared.is_in(version):
            known = set(tokens(arguments)) if "multiple" in arguments[-1].flags else None
            prepare = without_newer(unknown, first_option(declared, arguments), known)
            if with_options := SPARED.get(declared.name):
                instead_of(with_options, version.name)(prepared(with_options, prepare))
            else:
                prepared_in(version.name, declared.name.decode())(prepare)
