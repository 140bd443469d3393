"""Loads a snapshot, whichever version of Redis up to 8.0 wrote it, into empty databases.

Data of types that are not here is refused by its name, never left out. To read one more opcode, write a
method of ``SnapshotLoad`` and give it its row in ``OPCODES``; for one more type of value see ``payload``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from io import BytesIO
from types import GeneratorType
from typing import Final, NamedTuple, Protocol

from ..keyspace.keyspace import Keyspace, Value
from ..numbers.numbers import parse_integer
from ..protocol.errors import CommandError
from ..values.packing import Packing
from .kinds import (
    AUX,
    END,
    EXPIRY_MILLISECONDS,
    EXPIRY_SECONDS,
    FREQUENCY,
    HAVE_DEADLINES,
    IDLE,
    LIBRARY,
    LIBRARY_BEFORE_7_0,
    MODULE_AUX,
    RESIZE,
    SELECT,
    SLOT_INFO,
    STRING,
)
from .modules import module_name
from .payload import VERSION, file_loaders
from .position import NO_NAME, Position
from .reader import BadDataError, FileReader
from .snapshot import MAGIC, VERSION_DIGITS
from .steps import at_once

__all__ = ["BadSnapshotError", "LoadProgress", "Loaded", "load", "load_in_steps"]

NEWEST: Final = 12
"""The last version of the format that is read: that of Redis 8.0."""

POSITION: Final = (b"repl-stream-db", b"repl-id", b"repl-offset")
"""The names of the fields that say where the data were in the history of a master."""

KEYS: Final = 16
"""How many small keys are loaded in one step."""

CHECKED_FROM: Final = 5
"""The first version whose files end with a checksum."""


class BadSnapshotError(Exception):
    """A file is no snapshot that can be loaded; nothing of it was.

    Attributes:
        offset: how many bytes of the file had been read when this was found.
        reason: what is wrong.
    """

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(offset, reason)
        self.offset = offset
        self.reason = reason

    def __str__(self) -> str:
        return f"at byte {self.offset}: {self.reason}"


class Loaded(NamedTuple):
    """What ``load`` found.

    Attributes:
        keys: how many keys were loaded.
        expired: how many keys had expired, and were not.
        end: how many bytes the snapshot has; what stands behind it is no part of it.
        position: where the data were in the history of a master; None if the snapshot does not say.
        expired_keys: the database and the name of each key that had expired, where there is a position.
    """

    keys: int
    expired: int
    end: int
    position: Position | None = None
    expired_keys: tuple[tuple[int, bytes], ...] = ()


class LoadProgress:
    """How far a server has come that loads its data.

    Args:
        began: when it began, in seconds of wall time.
        total: how many bytes it loads.
        stops_time: whether no key expires meanwhile, as what follows may say otherwise.

    Attributes:
        used_memory: how much memory the data took where a snapshot was written, in bytes; 0 if none says.
    """

    def __init__(self, began: int = 0, total: int = 0, *, stops_time: bool = False) -> None:
        self.began, self.total, self.stops_time = began, total, stops_time
        self.used_memory = 0
        self._before = 0
        self._reader: FileReader | None = None

    def read(self, reader: FileReader) -> None:
        """A file is read from now on, after those that were read before."""
        if reader is not self._reader:
            self._before, self._reader = self.loaded, reader

    @property
    def loaded(self) -> int:
        """How many bytes it has loaded."""
        return self._before + (self._reader.at if self._reader else 0)


class LibraryLoader(Protocol):
    """Where libraries go; ``Libraries`` is one."""

    def load(self, code: bytes, *, replace: bool) -> object:
        """Takes a library in; raises ``CommandError`` for what is none."""

    def flush(self) -> None:
        """Takes all libraries away."""


def load(
    data: bytes,
    keyspace: Keyspace,
    libraries: LibraryLoader,
    packing: Packing,
    *,
    keeps_expired: bool = False,
    checks: bool = True,
    is_whole: bool = False,
    newest: int = VERSION,
) -> Loaded:
    """Does at once what ``load_in_steps`` does, with the bytes of a file."""
    reader = FileReader(BytesIO(data).read, len(data))
    steps = load_in_steps(
        reader,
        keyspace,
        libraries,
        packing,
        keeps_expired=keeps_expired,
        checks=checks,
        is_whole=is_whole,
        newest=newest,
    )
    return at_once(steps)


def load_in_steps(
    reader: FileReader,
    keyspace: Keyspace,
    libraries: LibraryLoader,
    packing: Packing,
    *,
    progress: LoadProgress | None = None,
    keeps_expired: bool = False,
    checks: bool = True,
    is_whole: bool = False,
    newest: int = VERSION,
) -> Generator[None, None, Loaded]:
    """Puts all that is in a snapshot into empty databases, some keys or a part of a large one with each step.

    Args:
        reader: a file that begins with a snapshot.
        keyspace: has the databases, and the wall time.
        libraries: where libraries go.
        packing: how much is packed.
        progress: is told how far this has come.
        keeps_expired: loads keys that have expired, too: the commands of an append-only file may follow.
        checks: whether the checksum must be right (``rdbchecksum``).
        is_whole: nothing may follow the snapshot: behind a damaged byte that reads as its end, much would.
        newest: the version of the format that the server has; others have types that it does not know.

    Raises:
        BadSnapshotError: the data is damaged, or has what is not here. Databases and libraries are empty
            then, as they are where the generator is closed before its end.
        OSError: the file cannot be read; the same is true.
    """
    progress = progress or LoadProgress()
    progress.read(reader)
    loading = SnapshotLoad(
        reader, keyspace, libraries, packing, progress, keeps_expired=keeps_expired, newest=newest
    )
    try:
        yield from loading.run(checks=checks, is_whole=is_whole)
    except BadDataError:
        loading.undo()
        raise loading.refusal(loading.damage) from None
    except BaseException:
        loading.undo()
        raise
    return Loaded(loading.keys, loading.expired, reader.at, loading.position, tuple(loading.expired_keys))


class SnapshotLoad:
    """A snapshot on its way into a keyspace; ``load_in_steps`` explains the arguments.

    Attributes:
        reader: where the snapshot comes from.
        keys: how many keys were loaded.
        expired: how many had expired.
        expired_keys: these keys, as ``Loaded`` has them.
    """

    def __init__(
        self,
        reader: FileReader,
        keyspace: Keyspace,
        libraries: LibraryLoader,
        packing: Packing,
        progress: LoadProgress,
        *,
        keeps_expired: bool,
        newest: int,
    ) -> None:
        self.reader = reader
        self.keys = self.expired = 0
        self.expired_keys: list[tuple[int, bytes]] = []
        self._facts: dict[bytes, bytes] = {}
        self._code: int | None = None  # what is read: an opcode, the type of a key, ``END`` between them
        self._progress = progress
        self._keyspace = keyspace
        self._libraries = libraries
        self._packing = packing
        self._keeps_expired = keeps_expired
        self._loaders = file_loaders(newest)
        self._db = keyspace.databases[0]
        self._deadline: int | None = None
        self._idle = 0

    def run(self, *, checks: bool, is_whole: bool) -> Generator[None, None, None]:
        """Loads everything; raises ``BadDataError`` or ``BadSnapshotError``."""
        version = self._read_version()
        self._code, reader, packing, loaders = END, self.reader, self._packing, self._loaders
        while (code := reader.byte()) != END:
            self._code = code
            if code in loaders:
                key = reader.string()
                value = reader.string() if code == STRING else loaders[code](reader, packing)
                if type(value) is GeneratorType:
                    value = yield from value
                if code in HAVE_DEADLINES:
                    self._db.note_fields(key, value)
                self._add(key, value)  # type: ignore[arg-type]  # mypy does not see that it is no generator now
                if (self.keys + self.expired) % KEYS == 0:
                    yield
            elif code in OPCODES:
                OPCODES[code](self)
            else:
                raise self.refusal(f"there is no type {code} here")
            self._code = END
        if version >= CHECKED_FROM:
            self._check_sum(checks=checks)
        if is_whole and not self.reader.is_over:
            raise self.refusal("the snapshot ends here, and the file does not")

    @property
    def position(self) -> Position | None:
        """Where the data were in the history of a master, as far as it is known by now."""
        database, name, offset = (self._facts.get(fact, b"") for fact in POSITION)
        index, reached = count_in(database), count_in(offset)
        if index is None or reached is None or len(name) != len(NO_NAME):
            return None
        return Position(index, name, reached)

    def refusal(self, reason: str) -> BadSnapshotError:
        """The error for what was read last."""
        return BadSnapshotError(self.reader.at, reason)

    def undo(self) -> None:
        """Takes away what was loaded."""
        self._libraries.flush()
        for db in self._keyspace.databases:
            db.clear()

    def _read_version(self) -> int:
        magic, digits = self.reader.take(len(MAGIC)), self.reader.take(VERSION_DIGITS)
        if magic != MAGIC or not digits.isdigit():
            raise BadDataError
        if not 1 <= int(digits) <= NEWEST:
            raise self.refusal(f"version {int(digits)} of the format is not one of 1 to {NEWEST}")
        return int(digits)

    def _check_sum(self, *, checks: bool) -> None:
        found = self.reader.checksum()
        expected = int.from_bytes(self.reader.take(8), "little")
        if checks and expected and found != expected:
            raise self.refusal("the checksum is wrong: the file is damaged")

    @property
    def damage(self) -> str:
        """What is wrong if the data cannot be read further."""
        if self._code is None:
            return "the file does not begin as a snapshot does"
        if self._code == END:
            return "the file ends too early"
        what = "what follows opcode" if self._code in OPCODES else "a key of type"
        return f"{what} {self._code} is damaged, or cut off"

    def _add(self, key: bytes, value: Value) -> None:
        if key in self._db.values:
            raise self.refusal(f"key {key!r} is there twice in database {self._db.index}")
        deadline, idle = self._deadline, self._idle
        if deadline is None and not idle:  # most keys; the rest of this method does the same
            self._db.create(key, value, None)
            self.keys += 1
            return
        self._deadline, self._idle = None, 0
        if deadline is not None and deadline < self._keyspace.milliseconds and not self._keeps_expired:
            self.expired += 1
            if self.position is not None:
                self.expired_keys.append((self._db.index, key))
            return
        self._db.create(key, value, None, deadline=deadline)
        self._db.used[key] -= idle
        self.keys += 1

    def _set_deadline(self, width: int, milliseconds: int) -> None:
        time = int.from_bytes(self.reader.take(width), "little", signed=True)
        self._deadline = None if time == -1 else time * milliseconds

    # The opcodes

    def select(self) -> None:
        """The keys that follow are those of another database."""
        index, databases = self.reader.length(), self._keyspace.databases
        if index >= len(databases):
            raise self.refusal(
                f"there is a database {index}, and the directive databases is {len(databases)}"
            )
        self._db = databases[index]

    def expiry_seconds(self) -> None:
        """When the next key expires, as Redis 2.4 wrote it."""
        self._set_deadline(4, 1000)

    def expiry_milliseconds(self) -> None:
        """When the next key expires."""
        self._set_deadline(8, 1)

    def idle(self) -> None:
        """For how many seconds the next key has not been used."""
        self._idle = min(1000 * self.reader.length(), self._keyspace.milliseconds)

    def library(self) -> None:
        """A library of functions."""
        code = self.reader.string()
        try:
            self._libraries.load(code, replace=False)
        except CommandError as error:
            reason = error.message.decode(errors="replace")
            raise self.refusal(f"a library cannot be loaded: {reason}") from None

    def library_before_7_0(self) -> None:
        """A library as release candidates of Redis 7.0 wrote it."""
        raise self.refusal("it has functions in the form of a release candidate of Redis 7.0")

    def module(self) -> None:
        """What a module keeps beside its keys."""
        raise self.refusal(f"it has data of the module type {module_name(self.reader.length())!r}")

    def field(self) -> None:
        """A field about the file: its name and its value."""
        name, value = self.reader.string(), self.reader.string()
        self._facts[name] = value
        if name == b"used-mem":
            self._progress.used_memory = count_in(value) or 0

    def skip(self, count: int) -> None:
        """So many numbers, which are only hints."""
        for _ in range(count):
            self.reader.length()


def count_in(text: bytes) -> int | None:
    """The number that a field holds; None if it is none, negative or beyond 64 bits."""
    number = parse_integer(text)
    return None if number is None or number < 0 else number


OPCODES: Final[dict[int, Callable[[SnapshotLoad], object]]] = {
    SLOT_INFO: lambda loading: loading.skip(3),  # slot, keys, keys that expire
    LIBRARY: SnapshotLoad.library,
    LIBRARY_BEFORE_7_0: SnapshotLoad.library_before_7_0,
    MODULE_AUX: SnapshotLoad.module,
    IDLE: SnapshotLoad.idle,
    FREQUENCY: lambda loading: loading.reader.byte(),  # how often a key is used is not kept here
    AUX: SnapshotLoad.field,
    RESIZE: lambda loading: loading.skip(2),  # keys, keys that expire
    EXPIRY_MILLISECONDS: SnapshotLoad.expiry_milliseconds,
    EXPIRY_SECONDS: SnapshotLoad.expiry_seconds,
    SELECT: SnapshotLoad.select,
}
"""What each opcode does."""
