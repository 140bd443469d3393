"""The table of all commands, and what a declaration of a command says.

A command is declared in one place: a decorated function in a module of ``commands/`` has its name, arity,
flags, key positions and code. The gate, COMMAND and key extraction read the table built from these
declarations. They use the terms of Redis's COMMAND reply; a test compares them with a real server's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from ..protocol.replies import Reply
from ..versions.version import DEFAULT, Version, versions_in

__all__ = [
    "DECLARED",
    "LOOKUP",
    "OTHERS",
    "REST",
    "TABLES",
    "Command",
    "CommandTable",
    "CountedKeys",
    "KeySpecification",
    "Keys",
    "KeywordCountedKeys",
    "KeywordKeys",
    "UnknownKeys",
    "by_version",
    "chosen",
    "command",
    "commands",
    "completed_in",
    "container",
    "declare_rest",
    "find",
    "in_versions",
    "instead_of",
    "prepared",
    "prepared_in",
    "table_of",
    "variant",
    "wrap_in_versions",
]

Handler: TypeAlias = Callable[[Any, list[bytes]], Reply]
"""Runs a command for a ``Session``, of which the declarations need to know nothing."""

Prepare: TypeAlias = Callable[[Any, list[bytes]], list[bytes] | None]
"""Runs before a command: see ``prepared_in``."""

Complete: TypeAlias = "Callable[[Any, list[bytes], Any], Reply]"
"""What happens after a command: it gets the reply, and returns what is replied."""

MOST_ARGUMENTS: Final = (1 << 30) - 1
"""More than fit into memory. Python compares integers of up to 30 bits faster."""

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
    """The positions of a command's keys.

    Attributes:
        first: the index of the first key; the command's name is 0.
        flags: how the command uses them, in the terms of COMMAND's key specifications.
        last: the last key, counted from the first, or from the end of the request if negative.
        step: the distance from one key to the next.
        notes: the remark in COMMAND's reply.
    """

    first: int
    flags: str
    last: int = 0
    step: int = 1
    notes: str = ""


class CountedKeys(NamedTuple):
    """Keys that follow an argument with their number.

    Attributes:
        count_at: the index of that argument; the first key follows it.
        flags: as in ``Keys``.
        step: the distance from one key to the next.
    """

    count_at: int
    flags: str
    notes: str = ""
    step: int = 1


class KeywordKeys(NamedTuple):
    """Keys that follow a keyword, if the request contains it.

    Attributes:
        word: the keyword, in capitals.
        start: the index at which to start looking for it.
        flags: as in ``Keys``.
        last: the last key, counted from the first, or from the end of their range if negative.
        limit: the keys are in the first 1/``limit`` of the arguments after the keyword: 2 for half of them.
        notes: the remark in COMMAND's reply.
    """

    word: str
    start: int
    flags: str
    last: int = 0
    limit: int = 0
    notes: str = ""


class KeywordCountedKeys(NamedTuple):
    """Keys that follow a keyword and an argument with their number, if the request contains the keyword.

    Attributes:
        word: the keyword, in capitals.
        start: the index at which to start looking for it.
        flags: as in ``Keys``.
    """

    word: str
    start: int
    flags: str
    notes: str = ""


class UnknownKeys(NamedTuple):
    """Keys that cannot be found from the request alone."""

    flags: str
    notes: str = ""


KeySpecification: TypeAlias = Keys | CountedKeys | KeywordKeys | KeywordCountedKeys | UnknownKeys


class Docs(NamedTuple):
    """What COMMAND DOCS returns about a command.

    Attributes:
        summary: what it does, in one line.
        module: of its handler; it determines the group.
        since: the first version of Redis that has it.
        syntax: its arguments, in the notation of ``syntax.py``.
        deprecated: the version of Redis that deprecated it.
        replaced_by: what to use instead.
        flags: Redis's document flags, such as ``syscmd``.
        valkey: the first version of Valkey that has it, where Valkey took over what Redis has since 7.4.
        until: the first version that no longer has it.
    """

    summary: str = ""
    module: str = ""
    since: str = ""
    syntax: str = ""
    deprecated: str = ""
    replaced_by: str = ""
    flags: str = ""
    valkey: str = ""
    until: str = ""


@dataclass(slots=True, eq=False)
class Command:
    """One command, or one subcommand, as declared.

    Attributes:
        name: in lower case, ``client|kill`` for a subcommand.
        arity: the number of arguments including the name; negative for a minimum.
        flags: in Redis's terms and order; ``module`` for commands that Redis itself does not have.
        categories: ACL categories in addition to those that the flags imply.
        handler: runs it; None for a container, which only has subcommands.
        allowed_by: the directive that must be ``yes`` (or ``local``) for it to run.
        docs: for COMMAND DOCS and HELP.
        unknown_part: refuses the subcommands that it does not have, where it does so itself, as in 6.x; None
            where the gate does.
        least: the fewest arguments it takes, including the name.
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
    unknown_part: Handler | None = None
    least: int = field(init=False)
    most: int = field(init=False)

    def __post_init__(self) -> None:
        self.least = abs(self.arity)
        self.most = self.arity if self.arity > 0 else MOST_ARGUMENTS

    def is_in(self, version: Version) -> bool:
        """Whether a version has it."""
        docs = self.docs
        if docs.until and version.has(docs.until):
            return False
        return version.has(docs.since) or (bool(docs.valkey) and version.has(docs.valkey))

    @property
    def is_plain(self) -> bool:
        """Whether it only reads or writes data, and affects neither its client's state nor how others run."""
        flags = set(self.flags)
        does_data = {"write", "readonly"} & flags and "skip_monitor" not in flags  # as scripts do
        does_nothing = flags == {"fast"}  # PING
        does_itself = self.handler is not None and not self.subcommands  # a container may get them later
        return bool(does_data or does_nothing) and does_itself and not self.allowed_by

    @property
    def acl_categories(self) -> list[str]:
        """All ACL categories, in Redis's order."""
        implied = {name for flag in self.flags for name in IMPLIED.get(flag, ())}
        if "scripting" in self.categories:
            implied -= {"read"}  # a script can do anything
        speed = set() if "fast" in self.flags else {"slow"}
        return [name for name in CATEGORIES if name in implied | speed | set(self.categories)]

    @property
    def key_range(self) -> tuple[int, int, int]:
        """First key, last key and step, the summary that COMMAND gives besides the key specifications."""
        ranges = [keys for keys in self.keys if isinstance(keys, Keys)]
        if not ranges:
            return 0, 0, 0
        first, final = ranges[0], ranges[-1]
        last = final.first + final.last if final.last >= 0 else final.last
        return first.first, last, first.step


class Variant(NamedTuple):
    """What a command is like in some versions, where it is not as declared.

    Attributes:
        versions: which ones.
        changes: attributes of ``Command``, each with its value there; of ``flags`` and ``categories``, words
            with a sign: ``-blocking +random``.
    """

    versions: frozenset[Version]
    changes: dict[str, Any]

    def of(self, command: Command) -> Command:
        """The command as it is in these versions."""
        changes = dict(self.changes)
        for name in changes.keys() & {"flags", "categories"}:
            changes[name] = signed(getattr(command, name), changes[name])
        return replace(command, **changes)


def signed(before: tuple[str, ...], changes: str) -> tuple[str, ...]:
    """Words without those that a ``-`` takes away, and with those that a ``+`` adds."""
    removed = {word[1:] for word in changes.split() if word[0] == "-"}
    added = (word[1:] for word in changes.split() if word[0] == "+")
    return (*(word for word in before if word not in removed), *added)


BY_VALUE: Final = {b"echo", b"eval", b"evalsha"}
"""Commands that are not plain, but to which the gate has no more to say."""


class CommandTable:
    """The commands of one version.

    Args:
        version: whose.

    Attributes:
        version: the same.
        lookup: every command by its name in lower and in upper case, as clients send it.
        plain: the commands of it that are plain.
        by_value: those, and others that may be asked as values (``Engine.ask``).
    """

    def __init__(self, version: Version) -> None:
        self.version = version
        self.lookup: dict[bytes, Command] = {}
        self.plain: dict[bytes, Command] = {}
        self.by_value: dict[bytes, Command] = {}
        self._unknown_parts: dict[bytes, Command] = {}
        for declared in DECLARED.values():
            self.take(declared)

    def take(self, declared: Command) -> None:
        """Adds a command as it is in this version, if this version has it."""
        if not declared.is_in(self.version):
            return
        for each in VARIANTS.get(declared.name, []):
            if self.version in each.versions:
                declared = each.of(declared)
        parent, _, part = declared.name.partition(b"|")
        if part and parent not in self.lookup:
            return
        table = self.lookup[parent].subcommands if part else self.lookup
        name = part or parent
        before = table.get(name)
        if before is not None or self.version is not DEFAULT:
            declared = replace(declared, subcommands=before.subcommands if before else {})
        table[name] = table[name.upper()] = declared
        if declared.is_plain and not part:
            self.plain[name] = self.plain[name.upper()] = declared
        if (declared.is_plain or name in BY_VALUE) and not part:
            self.by_value[name] = self.by_value[name.upper()] = declared

    def _unknown_part(self, container: Command) -> Command | None:
        """What stands for the subcommands that a command does not have."""
        if container.unknown_part is None:
            return None
        if container.name not in self._unknown_parts:
            unknown = replace(container, handler=container.unknown_part, subcommands={}, unknown_part=None)
            self._unknown_parts[container.name] = unknown
        return self._unknown_parts[container.name]

    def look_up(self, args: list[bytes]) -> Command | None:
        """The command that a request names, or its subcommand."""
        name = args[0]
        command = self.lookup.get(name) or find(self.lookup, name)
        if command is not None and command.subcommands and len(args) > 1:
            command = find(command.subcommands, args[1]) or self._unknown_part(command)
        if command is None and declare_rest():
            return self.look_up(args)
        return command


DECLARED: Final[dict[bytes, Command]] = {}
"""Every command as it was declared, by its name."""

VARIANTS: Final[dict[bytes, list[Variant]]] = {}
"""What commands are like in versions in which they are not as declared."""

TABLES: Final[dict[Version, CommandTable]] = {DEFAULT: CommandTable(DEFAULT)}
"""The tables of the versions that a server was started as."""

LOOKUP: Final = TABLES[DEFAULT].lookup


def table_of(version: Version) -> CommandTable:
    """The commands of a version."""
    if version not in TABLES:
        declare_rest()
        for declare in OTHERS:
            declare()
        TABLES[version] = CommandTable(version)
    return TABLES[version]


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
    valkey: str = "",
    until: str = "",
) -> Callable[[Handler], Handler]:
    """Declares a command; the decorated function runs it.

    Args:
        name: as clients send it, ``CLIENT KILL`` for a subcommand (declare its container before it).
        arity: the number of arguments including the name; negative for a minimum.
        flags: Redis's flags in Redis's order, separated by spaces.
        acl: the ACL categories that the flags do not imply.
        keys: the positions of the keys.
        tips: COMMAND's tips, separated by spaces.
        in_transaction: ``queue``, or ``AT_ONCE`` for the commands that MULTI does not queue.
        allowed_by: the directive that must be ``yes`` or ``local`` for it to run: ``enable-debug-command``.
        since: the first version of Redis that has it; a server that answers as an older one does not.
        syntax: its arguments, in the notation of ``syntax.py``.
        deprecated: the version of Redis that deprecated it.
        replaced_by: what to use instead.
        doc_flags: Redis's document flags.
        valkey: the first version of Valkey that has it, as ``valkey-9.0.0``, if Redis had it only after 7.2.
        until: the first version that no longer has it.
    """

    def declare(handler: Handler) -> Handler:
        positions = (keys,) if isinstance(keys, KeySpecification) else keys
        summary = (handler.__doc__ or "").partition("\n")[0]
        module = handler.__module__
        docs = Docs(summary, module, since, syntax, deprecated, replaced_by, doc_flags, valkey, until)
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
    """Declares a command that only has subcommands; ``module`` is the module that declares it."""
    docs = Docs(summary, module, since)
    register(
        Command(
            name.lower().encode(), arity, tuple(flags.split()), tuple(acl.split()), (), (), None, docs=docs
        )
    )


def register(declared: Command) -> None:
    before = DECLARED.get(declared.name)
    assert before is None or before.docs == declared.docs, f"{declared.name!r} is declared twice"
    container, _, part = declared.name.partition(b"|")
    assert not part or container in DECLARED, f"{declared.name!r} is declared before its container"
    DECLARED[declared.name] = declared
    for table in TABLES.values():
        table.take(declared)


def variant(versions: str, names: str, **changes: Any) -> None:
    """Declares what commands are like in some versions; see ``Variant``.

    Args:
        versions: in the notation of ``version.py``.
        names: of commands, as ``client|kill``, separated by spaces.
        changes: what is not as declared.
    """
    row = Variant(versions_in(versions), changes)
    for name in names.encode().split():
        VARIANTS.setdefault(name, []).append(row)
        for table in TABLES.values():
            if table.version in row.versions and name in DECLARED:
                table.take(DECLARED[name])


def in_versions(versions: str, names: str, **changes: Any) -> Callable[[Handler], Handler]:
    """Declares the function that runs commands in some versions, and what else ``variant`` takes.

    Do so before anything is put around it: what is there already would be lost.
    """
    for name in names.encode().split():
        rows = [row for row in VARIANTS.get(name, ()) if "handler" in row.changes]
        assert not any(row.versions & versions_in(versions) for row in rows), f"{name!r} is declared too late"

    def declare(handler: Handler) -> Handler:
        variant(versions, names, handler=handler, **changes)
        return handler

    return declare


def handler_in(version: Version, name: bytes) -> Handler | None:
    """What runs a command in a version, by what is declared so far."""
    found = DECLARED[name].handler
    for row in VARIANTS.get(name, ()):
        if version in row.versions:
            found = row.changes.get("handler", found)
    return found


def wrap_in_versions(versions: str, names: str, wrap: Callable[[Handler], Handler]) -> None:
    """Puts something around what runs commands in some versions, whatever that is in each."""
    for version in versions_in(versions):
        for name in names.encode().split():
            if handler := handler_in(version, name):
                variant(version.name, name.decode(), handler=wrap(handler))


def prepared_in(versions: str, names: str) -> Callable[[Prepare], Prepare]:
    """Declares what happens before commands run in some versions.

    The function raises what they refuse there, and returns their arguments, or None if those do not change.
    """

    def declare(prepare: Prepare) -> Prepare:
        wrap_in_versions(versions, names, partial(prepared, prepare=prepare))
        return prepare

    return declare


def prepared(handler: Handler, prepare: Prepare) -> Handler:
    """A command before which ``prepare`` runs."""

    def run(session: Any, args: list[bytes]) -> Reply:
        return handler(session, prepare(session, args) or args)

    return run


def completed_in(versions: str, names: str) -> Callable[[Complete], Complete]:
    """Declares what happens after commands run in some versions.

    The function gets what they reply, and returns what is replied instead.
    """

    def declare(complete: Complete) -> Complete:
        def completed(handler: Handler) -> Handler:
            return lambda session, args: complete(session, args, handler(session, args))

        wrap_in_versions(versions, names, completed)
        return complete

    return declare


Chosen = TypeVar("Chosen", bound=Callable[..., Any])

ALTERNATIVES: Final[dict[object, list[tuple[frozenset[Version], Any]]]] = {}
"""Functions that stand in for others in some versions."""


def instead_of(function: Chosen, versions: str) -> Callable[[Chosen], Chosen]:
    """Declares what stands in for a function in some versions; ``chosen`` finds it."""

    def declare(other: Chosen) -> Chosen:
        ALTERNATIVES.setdefault(function, []).append((versions_in(versions), other))
        return other

    return declare


def chosen(version: Version, function: Chosen) -> Chosen:
    """The function that does in a version what ``function`` does in the default version."""
    for versions, other in ALTERNATIVES.get(function, ()):
        if version in versions:
            return other  # type: ignore[no-any-return]
    return function


T = TypeVar("T")


def by_version(default: T, others: Mapping[str, T]) -> Callable[[Version], T]:
    """Declares a value that other versions have otherwise: by their names, the first that fit count.

    Returns:
        A function, which is named as one: the value of a version.
    """

    @cache
    def of(version: Version) -> T:
        return next((other for names, other in others.items() if version in versions_in(names)), default)

    return of


REST: Final[list[Callable[[], None]]] = []
"""Functions that declare the commands of modules that are not loaded yet."""

OTHERS: Final[list[Callable[[], None]]] = []
"""Functions that declare what only other versions than the default one need."""


def declare_rest() -> bool:
    """Loads the remaining modules; returns whether there were any."""
    if not REST:
        return False
    for declare in tuple(REST):
        declare()
    REST.clear()  # only now: if an import fails (no file can be opened), the next request tries again
    return True


def find(table: dict[bytes, Command], name: bytes) -> Command | None:
    """The command of that name in any case, or None."""
    return table.get(name) or table.get(name.lower())


def commands(table: dict[bytes, Command] = LOOKUP) -> Iterator[Command]:
    """Every command of a table once, in order of declaration."""
    declare_rest()
    return (declared for name, declared in table.items() if name == declared.name.rpartition(b"|")[2])
