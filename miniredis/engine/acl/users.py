"""The users of a server: which clients are which user, and what they are refused.

While a client's user may do everything, nothing of this is asked: the flag ``LIMITED`` of the client is not
set, and its requests can take the fast path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..clients.client_flags import IN_MULTI, LIMITED, UNAUTHENTICATED
from ..clients.publishing import CHANNELS, PATTERNS, SHARDS
from ..declarations.registry import chosen
from ..protocol import errors
from ..protocol.errors import CommandError
from . import acl_errors
from .log import AccessLog, LogEntry
from .user import DEFAULT_NAME, User

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..clients.session import Session
    from ..config import Config
    from ..declarations.registry import Command
    from ..engine import Engine
    from ..environment import AclFileInterface
    from .catalog import Catalog
    from .rights import Denial

__all__ = ["Users", "hears_all", "may_read_all"]


class Users:
    """The users of one server.

    Args:
        engine: whose.

    Attributes:
        default: what clients are without AUTH.
        by_name: all of them.
        log: what they were refused.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.default = User(DEFAULT_NAME)
        allow_everything(self.default)
        self.by_name = {DEFAULT_NAME: self.default}
        self.log = AccessLog()
        self._password = ""

    @property
    def catalog(self) -> Catalog:
        """The commands that rules can name."""
        from .catalog import catalog_of  # most servers need none

        return catalog_of(self._engine.commands)

    def configure(self, config: Config) -> None:
        """Makes ``requirepass`` the password of the default user, if it has changed."""
        if config["requirepass"] == self._password:
            return
        self._password = config["requirepass"]
        self.default.forget_passwords()
        if self._password:
            self.default.add_password(self._password.encode("utf-8", "surrogateescape"))
        else:
            self.default.need_no_password()

    def declare(self, lines: Iterable[Sequence[str]]) -> None:
        """Makes the users that a configuration describes; raises ``UserLineError``."""
        for line in lines:
            from .loading import declared_user  # few servers have any

            words = [word.encode("utf-8", "surrogateescape") for word in line]
            self.put(declared_user(words, self._declared, self.catalog))

    def _declared(self, name: bytes) -> User:
        user = self.new(name)
        if name == DEFAULT_NAME:
            user.reset()
        return user

    def load(self) -> None:
        """Replaces all users by those in the file.

        Raises:
            CommandError: the file cannot be read, or is wrong; then all users stay.
        """
        from .loading import UserLineError, users_in_file

        file = self._file()
        name = self._engine.config["aclfile"].encode("utf-8", "surrogateescape")
        try:
            others = users_in_file(file.read(), name, self.new, self.catalog)
        except OSError as error:
            reason = acl_errors.acl_file_not_read(name, error.strerror or str(error))
            raise CommandError(b"ERR " + reason) from None
        except UserLineError as refusal:
            raise CommandError(b"ERR " + errors.one_line(refusal.reason)) from None
        self.replace(others)

    def save(self) -> None:
        """Writes all users to the file; raises ``CommandError``."""
        lines = [b"user %b %b\n" % (user.name, user.rules(self.catalog)) for user in self.in_order()]
        file = self._file()
        try:
            file.write(b"".join(lines))
        except OSError:
            raise CommandError(acl_errors.ACL_NOT_SAVED) from None

    def _file(self) -> AclFileInterface:
        file = self._engine.environment.acl_file
        if file is None:
            raise CommandError(chosen(self._engine.version, acl_errors.no_acl_file)())
        return file

    def in_order(self) -> list[User]:
        """All users, by name."""
        return [self.by_name[name] for name in sorted(self.by_name)]

    def new(self, name: bytes) -> User:
        """A user without rights, which is not one of the server's yet."""
        return User(name, all_channels=chosen(self._engine.version, hears_all)(self._engine.config))

    @property
    def must_authenticate(self) -> bool:
        """Whether clients have to give a password before all else."""
        return not self.default.lets_everybody_in

    # Clients

    def begin(self, session: Session) -> None:
        """A client is new, or as good as new: it is the default user."""
        self.become(session, self.default, is_authenticated=self.default.lets_everybody_in)

    def become(self, session: Session, user: User, *, is_authenticated: bool = True) -> None:
        """A client is this user from now on."""
        session.user = user
        session.flags &= ~(UNAUTHENTICATED | LIMITED)
        session.flags |= (0 if is_authenticated else UNAUTHENTICATED) | (0 if user.allows_all else LIMITED)

    def authenticate(self, session: Session, name: bytes, password: bytes, asked_by: bytes) -> bool:
        """Makes a client a user, if the password is right; ``asked_by`` names the command, for the log."""
        user = self.by_name.get(name)
        if user is not None and user.accepts(password):
            self.become(session, user)
            return True
        self._note(session, b"auth", asked_by, name)
        return False

    def of(self, user: User) -> list[Session]:
        """The clients that are this user."""
        return [session for session in self._engine.sessions.values() if session.user is user]

    # Changes

    def put(self, changed: User) -> None:
        """A user is new, or has become like ``changed``, which is a copy of it."""
        user = self.by_name.get(changed.name)
        if user is None:
            user = self.by_name[changed.name] = changed
            user.take_from(changed)
            return
        self._end_subscriptions(user, changed)
        user.take_from(changed)
        for session in self.of(user):
            self.become(session, user, is_authenticated=not session.flags & UNAUTHENTICATED)

    def remove(self, name: bytes) -> bool:
        """Removes a user, and hangs up on its clients; returns whether there was one."""
        user = self.by_name.pop(name, None)
        if user is None:
            return False
        for session in self.of(user):
            self._end(session)
        return True

    def replace(self, others: dict[bytes, User]) -> None:
        """Takes other users in place of all, as ACL LOAD does: only clients of the default user stay."""
        default = others.pop(DEFAULT_NAME, None)
        if default is None:
            default = User(DEFAULT_NAME)
            allow_everything(default)
        for name in [name for name in self.by_name if name != DEFAULT_NAME]:
            self.remove(name)
        self.by_name.update(others)
        self.default.take_from(default)
        for session in self.of(self.default):
            self.become(session, self.default, is_authenticated=not session.flags & UNAUTHENTICATED)

    def _end(self, session: Session) -> None:
        if session is self._engine.notifier.client:
            session.close()  # it hears the reply to what it did
        else:
            self._engine.hang_up(session)
        self.become(session, self.default, is_authenticated=False)

    def _end_subscriptions(self, user: User, changed: User) -> None:
        """Hangs up on clients with subscriptions to what the user may not hear any more."""
        from .rights import is_channel_in, is_pattern_in

        if any(selector.all_channels for selector in changed.selectors):
            return
        allowed = {name: fits for selector in changed.selectors for name, fits in selector.channels.items()}
        before = {name for selector in user.selectors for name in selector.channels}
        if before <= allowed.keys() and not any(selector.all_channels for selector in user.selectors):
            return
        for session in self.of(user):
            heard = session.subscriptions
            channels = [*heard.get(CHANNELS, ()), *heard.get(SHARDS, ())]
            if not (
                all(is_pattern_in(pattern, allowed) for pattern in heard.get(PATTERNS, ()))
                and all(is_channel_in(channel, allowed) for channel in channels)
            ):
                self._end(session)

    # Checks

    def denied(
        self, session: Session, command: Command, args: list[bytes], context: bytes = b""
    ) -> Denial | None:
        """Why the user of a client may not run a request, which is then logged; None if it may."""
        from .rights import denial

        found = denial(session.user, command, args, self.catalog)
        if found is not None:
            self._note(session, found.kind.reason, found.about, session.user.name, context)
        return found

    def allows(self, session: Session, command: Command, args: list[bytes]) -> bool:
        """Whether the user of a client may run a request; nothing is logged."""
        from .rights import denial

        return not session.flags & LIMITED or denial(session.user, command, args, self.catalog) is None

    def allows_all_keys(self, session: Session, args: list[bytes]) -> bool:
        """Whether the user of a client may read every key by this request, which passed the gate."""
        if not session.flags & LIMITED:
            return True
        return chosen(self._engine.version, may_read_all)(self, session, args)

    def may_use_all_keys(self, session: Session, args: list[bytes]) -> bool:
        """The same for a user who may not do everything."""
        from .rights import may_use_all_keys

        command = self._engine.commands.look_up(args)
        return command is not None and may_use_all_keys(session.user, command, args, self.catalog)

    def _note(self, session: Session, reason: bytes, about: bytes, name: bytes, context: bytes = b"") -> None:
        from ..clients.client_list import describe

        where = context or (b"multi" if session.flags & IN_MULTI else b"toplevel")
        now = self._engine.now.milliseconds
        entry = LogEntry(reason, where, about, name, now, describe(session), created=now)
        self.log.add(entry, self._engine.config.integer("acllog-max-len"))


def hears_all(config: Config) -> bool:
    """Whether new users may use every channel."""
    return config["acl-pubsub-default"] == "allchannels"


def may_read_all(users: Users, session: Session, args: list[bytes]) -> bool:
    """Whether the user of a client may read every key by a request."""
    return users.may_use_all_keys(session, args)


def allow_everything(user: User) -> None:
    """Gives a user all rights, without a password, as the default user has them at first."""
    selector = user.selectors[0]
    selector.allow_all_commands()
    selector.allow_all_keys()
    selector.allow_all_channels()
    user.turn_on()
    user.need_no_password()
    user.allows_all = True
