"""Faults on demand: which requests meet one, and what happens then."""
