"""Databases, and changes of their keys."""
