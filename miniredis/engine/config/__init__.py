"""The directives of redis-server: which there are, what they take, and their values on one server."""

from .values import Config, ConfigurationError, UnknownDirectiveError

__all__ = ["Config", "ConfigurationError", "UnknownDirectiveError"]
