"""Servers and clients, each wrong by the clauses that it names."""
