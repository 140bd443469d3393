"""Commands as usage lines, from the command table, and how a line is spelled as a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from miniredis.engine.commands import FOLDER, GROUPS
from miniredis.engine.declarations.registry import Command, commands
from miniredis.engine.declarations.syntax import Argument, parse

from .values import value

__all__ = ["LEFT_OUT", "Form", "Spelling", "forms", "routes"]

LEFT_OUT: Final[Mapping[str, str]] = {
    "client|pause": "it holds up every client, the one that measures too",
    "debug": "it is for tests, and off by default",
    "monitor": "it takes no arguments, and answers with what others do",
    "pfselftest": "it takes no arguments, and a real server seconds",
    "script|debug": "it makes a real server fork, and wait for a debugger",
    "shutdown": "it ends the server",
}
"""Commands that are not tried, each with the reason."""

MODULE: Final = "no redis-server has it; tests/miniredis/rqueues/test_rqueue_costs.py counts what it costs"

INSTEAD: Final[Mapping[str, tuple[str, ...]]] = {
    "command|getkeys": ("MSET key_value{key value}...", "EVAL script numkeys:integer key..."),
    "command|getkeysandflags": ("MSET key_value{key value}...", "SORT key [GET pattern]..."),
    "config|get": ("parameter...",),
    "quit": ("[message]...",),
    "client|reply": ("ON",),
    "client|tracking": ("ON [REDIRECT client-id:integer]", "ON BCAST PREFIX prefix...!", "OFF", "ON NOLOOP"),
    "client|kill": (
        "ID client-id:integer", "USER username", "ADDR ip:port", "LADDR ip:port", "TYPE PUBSUB",
        "ID client-id:integer SKIPME yes/no",
    ),
}  # fmt: skip
"""Usage lines in place of those of the table, where these leave out what can be sent, or are not safe."""

BESIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "zrange": (
        "key score-min score-max BYSCORE [LIMIT offset_count{offset:integer count:integer}] [WITHSCORES]",
        "key score-max score-min BYSCORE REV",
        "key lex-min lex-max BYLEX [LIMIT offset_count{offset:integer count:integer}]",
        "key lex-max lex-min BYLEX REV",
    ),
    "zrangestore": (
        "dst key score-min score-max BYSCORE [LIMIT offset_count{offset:integer count:integer}]",
        "dst key lex-min lex-max BYLEX [LIMIT offset_count{offset:integer count:integer}]",
    ),
    "xtrim": ("key MAXLEN ~ threshold LIMIT count:integer", "key MINID ~ id LIMIT count:integer"),
    "xadd": ("key MAXLEN ~ threshold LIMIT count:integer * field value",),
}
"""Usage lines beside it: what may only be said together."""

TOGETHER: Final[Mapping[str, frozenset[str]]] = {
    "weight": frozenset({"key"}),
    "id": frozenset({"key"}),
}
"""What is repeated as often as an argument that is repeated: they must be as many."""


@dataclass(frozen=True, slots=True)
class Form:
    """One way to say a command.

    Attributes:
        name: as COMMAND INFO has it, ``client|kill``.
        group: of Redis's commands.
        arguments: in order.
        writes: whether it changes keys.
    """

    name: str
    group: str
    arguments: tuple[Argument, ...]
    writes: bool


def forms() -> Iterator[tuple[Command, list[Form], str]]:
    """Every command of the table with its forms; or with none and the reason why it is left out."""
    for parent in commands():
        for command in (parent, *commands(parent.subcommands)):
            if command.handler is None:
                continue
            name = command.name.decode()
            reason = MODULE if "module" in command.flags else LEFT_OUT.get(name, "")
            yield command, [] if reason else forms_of(command), reason


def forms_of(command: Command) -> list[Form]:
    name = command.name.decode()
    group = GROUPS[command.docs.module.removeprefix(f"{FOLDER}.")]
    lines = [*INSTEAD.get(name, (command.docs.syntax,)), *BESIDE.get(name, ())]
    writes = "readonly" not in command.flags
    return [Form(name, group, tuple(parse(line)), writes) for line in lines]


def routes(arguments: tuple[Argument, ...] | list[Argument]) -> Iterator[tuple[Argument, ...]]:
    """The way to each argument that has no parts, from the outermost one on."""
    for argument in arguments:
        if not argument.parts:
            yield (argument,)
        for inner in routes(argument.parts):
            yield (argument, *inner)


@dataclass(slots=True)
class Spelling:
    """Spells a form as a request.

    Args:
        form: the command.
        route: what is said though it is optional, and which of several.
        size: the elements of the key.
        texts: what stands for an argument, instead of its own values.
        times: how often an argument is repeated.
    """

    form: Form
    route: tuple[Argument, ...]
    size: int
    texts: Mapping[int, bytes] = field(default_factory=dict)
    times: Mapping[int, int] = field(default_factory=dict)
    same: bool = False

    def words(self) -> list[bytes]:
        """The request."""
        name = [word.encode().upper() for word in self.form.name.split("|")]
        said = [pair for argument in self.form.arguments for pair in self._several(argument, 0)]
        return [*name, *with_count(said, self.texts)]

    def _several(self, argument: Argument, index: int) -> Iterator[tuple[Argument, bytes]]:
        if "optional" in argument.flags and not self._chosen(argument):
            return
        times = self.times.get(id(argument), 1)
        for turn in range(times):
            if argument.token and (turn == 0 or "multiple_token" in argument.flags):
                yield argument, argument.token.encode()
            if argument.kind != "pure-token":
                yield from self._one(argument, turn if times > 1 else index)

    def _one(self, argument: Argument, index: int) -> Iterator[tuple[Argument, bytes]]:
        if argument.kind == "oneof":
            yield from self._several(next(filter(self._chosen, argument.parts), argument.parts[0]), index)
        elif argument.parts:
            for part in argument.parts:
                yield from self._several(part, index)
        else:
            yield argument, self._text(argument, index)

    def _chosen(self, argument: Argument) -> bool:
        return any(argument is each for each in self.route)

    def _text(self, argument: Argument, index: int) -> bytes:
        text = self.texts.get(id(argument))
        if text is not None and not index:
            return text
        alone = id(argument) not in self.times and argument.kind != "key" and not index
        at = 0 if self.same else self.size // 2 if alone else index
        return value(argument, self.form.name, self.form.group, at, self.size)


def with_count(said: list[tuple[Argument, bytes]], texts: Mapping[int, bytes]) -> list[bytes]:
    """The words, of which ``numkeys`` is the number of keys behind it."""
    words = [word for _, word in said]
    for at, (argument, _) in enumerate(said):
        if argument.name == "numkeys" and id(argument) not in texts:
            count = at + 1
            while count < len(said) and said[count][0].kind == "key":
                count += 1
            words[at] = b"%d" % (count - at - 1)
    return words
