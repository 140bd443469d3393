"""Chaos: the judge, and small runs."""
