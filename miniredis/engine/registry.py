"""What a command is, and the table of all of them.

A command stands in one place: its name, arity, flags, key positions and code, as one decorated function in a
module of ``commands/``. Everything else (the gate, COMMAND, key extraction) reads the table built here.
Declarations use the words of Redis's COMMAND reply; a test compares them with a real server's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from .replies import Reply
    from .session import Session

__all__ = [
    "REST",
    "Command",
    "CountedKeys",
    "KeySpecification",
    "Keys",
    "KeywordCountedKeys",
    "KeywordKeys",
    "UnknownKeys",
    "command",
    "commands",
    "container",
    "declare_rest",
    "find",
]

Handler: TypeAlias = "Callable[[Session, list[bytes]], Reply]"

MOST_ARGUMENTS: Final = 1 << 31

CATEGORIES: Final = (
    "keyspace read write set sortedset list hash string bitmap hyperloglog geo stream pubsub admin fast slow "
    "blocking dangerous connection transaction scripting"
).split()
"""The ACL categories, in the order in which Redis lists them."""

IMPLIED: Final = {
    "write": ("write",),
    "readonly": ("read",),
    "admin": ("admin", "dangerous"),
    "pubsub": ("pubsub",),
    "fast": ("fast",),
    "blocking": ("blocking",),
}
"""The categories that follow from a command's flags."""


class Keys(NamedTuple):
    """Where a command's keys are.

    Attributes:
        first: the index of the first one; the command's name is 0.
        flags: what is done with them, in the words of COMMAND's key specifications.
        last: the last one, counted from the first, or from the end of the request when negative.
        step: the distance from one to the next.
        notes: a remark COMMAND gives with them.
    """

    first: int
    flags: str
    last: int = 0
    step: int = 1
    notes: str = ""


class CountedKeys(NamedTuple):
    """Keys behind an argument that tells how many there are.

    Attributes:
        count_at: the index of that argument; the first key is next to it.
        flags: as in ``Keys``.
    """

    count_at: int
    flags: str
    notes: str = ""


class KeywordKeys(NamedTuple):
    """Keys behind a word, if the word is there.

    Attributes:
        word: in capitals.
        start: the index from which on to look for it.
        flags: as in ``Keys``.
        last: the last one, counted from the first, or from the end of their part when negative.
        limit: their part is one of so many of what stands behind the word: 2 for half of it.
        notes: a remark COMMAND gives with them.
    """

    word: str
    start: int
    flags: str
    last: int = 0
    limit: int = 0
    notes: str = ""


class KeywordCountedKeys(NamedTuple):
    """Keys behind a word and an argument that tells how many there are, if the word is there.

    Attributes:
        word: in capitals.
        start: the index from which on to look for it.
        flags: as in ``Keys``.
    """

    word: str
    start: int
    flags: str
    notes: str = ""


class UnknownKeys(NamedTuple):
    """Keys that cannot be told from the request's shape alone."""

    flags: str
    notes: str = ""


KeySpecification: TypeAlias = Keys | CountedKeys | KeywordKeys | KeywordCountedKeys | UnknownKeys


class Docs(NamedTuple):
    """What COMMAND DOCS tells of a command.

    Attributes:
        summary: what it does, in one line.
        module: of the function that runs it, which tells its group.
        since: the first version of Redis that has it.
        syntax: its arguments, in the notation of ``syntax.py``.
        deprecated: the version of Redis that advised against it.
        replaced_by: what to use instead.
        flags: Redis's other words about it, such as ``syscmd``.
    """

    summary: str = ""
    module: str = ""
    since: str = ""
    syntax: str = ""
    deprecated: str = ""
    replaced_by: str = ""
    flags: str = ""


@dataclass(slots=True, eq=False)
class Command:
    """One command, or one subcommand, as declared.

    Attributes:
        name: in lower case, ``client|kill`` for a subcommand.
        arity: how many arguments, its name included; a negative one means at least so many.
        flags: in Redis's words and order; ``module`` for what Redis itself has not.
        categories: ACL categories beyond those that the flags imply.
        handler: runs it; None for a container, which has subcommands only.
        allowed_by: the directive that must say yes before it runs.
        docs: for COMMAND DOCS and HELP.
        least: the fewest arguments it takes, its name included.
        most: the most.
    """

    name: bytes
    arity: int
    flags: tuple[str, ...]
    categories: tuple[str, ...]
    keys: tuple[KeySpecification, ...]
    tips: tuple[str, ...]
    handler: Handler | None
    subcommands: dict[bytes, Command] = field(default_factory=dict)
    in_transaction: str = "queue"
    allowed_by: str = ""
    docs: Docs = field(default_factory=lambda: Docs())
    least: int = field(init=False)
    most: int = field(init=False)

    def __post_init__(self) -> None:
        self.least = abs(self.arity)
        self.most = self.arity if self.arity > 0 else MOST_ARGUMENTS

    @property
    def is_plain(self) -> bool:
        """It reads or writes data, and nothing else: not what its client is, nor how others are served."""
        flags = set(self.flags)
        does_data = {"write", "readonly"} & flags and "skip_monitor" not in flags  # which a script has
        return bool(does_data) and not self.subcommands and not self.allowed_by

    @property
    def acl_categories(self) -> list[str]:
        """All ACL categories, in Redis's order."""
        implied = {name for flag in self.flags for name in IMPLIED.get(flag, ())}
        if "scripting" in self.categories:
            implied -= {"read"}  # scripts read what they like
        speed = set() if "fast" in self.flags else {"slow"}
        return [name for name in CATEGORIES if name in implied | speed | set(self.categories)]

    @property
    def key_range(self) -> tuple[int, int, int]:
        """First key, last key and step, as COMMAND gives them beside the key specifications."""
        ranges = [keys for keys in self.keys if isinstance(keys, Keys)]
        if not ranges:
            return 0, 0, 0
        first, final = ranges[0], ranges[-1]
        last = final.first + final.last if final.last >= 0 else final.last
        return first.first, last, first.step


LOOKUP: Final[dict[bytes, Command]] = {}
"""Every command by its name in lower and in upper case, the two that clients send."""

PLAIN: Final[dict[bytes, Command]] = {}
"""Those of them that are plain."""

AT_ONCE: Final = "at once"
"""For ``in_transaction``: the command runs inside MULTI instead of being queued."""


def command(
    name: str,
    arity: int,
    flags: str = "",
    *,
    acl: str,
    keys: tuple[KeySpecification, ...] | KeySpecification = (),
    tips: str = "",
    in_transaction: str = "queue",
    allowed_by: str = "",
    since: str = "",
    syntax: str = "",
    deprecated: str = "",
    replaced_by: str = "",
    doc_flags: str = "",
) -> Callable[[Handler], Handler]:
    """Declares a command; the decorated function runs it.

    Args:
        name: as clients send it, ``CLIENT KILL`` for a subcommand (its container is declared before it).
        arity: how many arguments, names included; a negative one means at least so many.
        flags: Redis's words, in Redis's order, separated by spaces.
        acl: the ACL categories that the flags do not imply.
        keys: where the keys are.
        tips: COMMAND's tips, separated by spaces.
        in_transaction: ``queue``, or ``AT_ONCE`` for the commands that MULTI does not hold back.
        allowed_by: the directive that must say yes before it runs, ``enable-debug-command``.
        since: the first version of Redis that has it.
        syntax: its arguments, in the notation of ``syntax.py``.
        deprecated: the version of Redis that advised against it.
        replaced_by: what to use instead.
        doc_flags: Redis's other words about it.
    """

    def declare(handler: Handler) -> Handler:
        positions = (keys,) if isinstance(keys, KeySpecification) else keys
        summary = (handler.__doc__ or "").partition("\n")[0]
        docs = Docs(summary, handler.__module__, since, syntax, deprecated, replaced_by, doc_flags)
        register(
            Command(
                name=name.lower().replace(" ", "|").encode(),
                arity=arity,
                flags=tuple(flags.split()),
                categories=tuple(acl.split()),
                keys=positions,
                tips=tuple(tips.split()),
                handler=handler,
                in_transaction=in_transaction,
                allowed_by=allowed_by,
                docs=docs,
            )
        )
        return handler

    return declare


def container(
    name: str, arity: int, flags: str = "", *, acl: str = "", module: str, summary: str, since: str = ""
) -> None:
    """Declares a command that only has subcommands; ``module`` is the one it is declared in."""
    docs = Docs(summary, module, since)
    register(
        Command(
            name.lower().encode(), arity, tuple(flags.split()), tuple(acl.split()), (), (), None, docs=docs
        )
    )


def register(declared: Command) -> None:
    parent, _, part = declared.name.partition(b"|")
    table = LOOKUP[parent].subcommands if part else LOOKUP
    name = part or parent
    before = table.get(name)
    assert before is None or before.docs == declared.docs, f"{declared.name!r} is declared twice"
    table[name] = table[name.upper()] = declared
    if declared.is_plain and not part:
        PLAIN[name] = PLAIN[name.upper()] = declared


REST: Final[list[Callable[[], None]]] = []
"""What declares the commands that nobody asked for yet."""


def declare_rest() -> bool:
    """Declares them; tells whether there were any."""
    if not REST:
        return False
    for declare in tuple(REST):
        declare()
    REST.clear()  # not before: where an import fails (no file can be opened), the next request tries again
    return True


def find(table: dict[bytes, Command], name: bytes) -> Command | None:
    """The command of that name in any case, or None."""
    return table.get(name) or table.get(name.lower())


def commands(table: dict[bytes, Command] = LOOKUP) -> Iterator[Command]:
    """Every command of a table once, in order of declaration."""
    if table is LOOKUP:
        declare_rest()
    return (declared for name, declared in table.items() if name == declared.name.rpartition(b"|")[2])
