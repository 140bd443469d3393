"""Databases, changes of their keys, and who waits for or hears of them."""
