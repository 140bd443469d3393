"""Hostile input: what no honest client sends, kept as data, and a fuzzer that makes up more of it.

``cases`` holds the tables, ``play`` sends a case to a server and checks that others are served all the same,
``mutation`` makes frames up and ``fuzz`` feeds them. To add a case, add a row to a table.
"""
