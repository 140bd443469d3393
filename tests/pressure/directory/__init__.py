"""Tests of ``miniredis:`` URLs: the server of a directory, which processes share."""
