"""Strings, and what is kept in strings: bits, HyperLogLogs."""
