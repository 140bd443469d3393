"""One module for each group of Redis's commands. To add a command, write a decorated function."""

from . import connection, generic, introspection, lists, server, strings, transactions

__all__ = ["connection", "generic", "introspection", "lists", "server", "strings", "transactions"]
