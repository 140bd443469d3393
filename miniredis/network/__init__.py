"""Sockets: listeners, the loops that serve them, and one connection."""
