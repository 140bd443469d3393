"""The file that the directive ``aclfile`` names: the users of a server."""

from __future__ import annotations

from pathlib import Path

from ..engine import Config, ConfigurationError, Engine
from ..engine.protocol.errors import CommandError

__all__ = ["load_users"]


def load_users(engine: Engine) -> None:
    """Gives an engine its file of users, and loads the users in it; raises ``ConfigurationError``."""
    engine.environment = engine.environment._replace(acl_file=AclFile(engine.config))
    try:
        engine.users.load()
    except CommandError as refusal:
        reason = refusal.message.removeprefix(b"ERR ").decode("utf-8", "surrogateescape")
        raise ConfigurationError("aclfile", reason, engine.config["aclfile"]) from None


class AclFile:
    """The file of one server.

    Args:
        config: names it, relative to ``dir``.
    """

    def __init__(self, config: Config) -> None:
        self.path = Path(config["dir"], config["aclfile"])

    def read(self) -> bytes:
        """What it holds; raises ``OSError``."""
        return self.path.read_bytes()

    def write(self, text: bytes) -> None:
        """Replaces what it holds: after a kill it is either as before or whole. Raises ``OSError``."""
        from .disk import Disk  # most servers have no files

        Disk().replace(self.path, [text], self.path.with_name(f".{self.path.name}.tmp"))
