"""The directives of redis-server: their table, the kinds of their values, and one server's configuration."""

from .values import Config, ConfigurationError, UnknownDirectiveError

__all__ = ["Config", "ConfigurationError", "UnknownDirectiveError"]
