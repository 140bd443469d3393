"""Replicas and masters."""
