"""Hashes, and fields that expire."""
