"""Servers in other processes, and one server for several processes."""
