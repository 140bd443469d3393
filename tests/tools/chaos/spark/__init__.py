"""Chaos for queues in Spark: ``python -m tests.tools.chaos.spark``.

Its parts: ``feed`` (puts numbered rows), ``pipeline`` (the command as a process that is started again and again) and
``run`` (what is done to them, and what has to hold of what came out).
"""
