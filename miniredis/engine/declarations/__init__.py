"""Declarations of commands, and what is told from them."""
