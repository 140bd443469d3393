"""Clients in the server's process, without sockets."""
