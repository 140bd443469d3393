"""Faults that are put into the code on purpose, to see who notices them.

``clauses``: copies of a client or of miniredis, each with one fault that clauses of the suite must find.
``comparison``: faults of the engine that the comparison with a real Redis must find.
``lines``: every small change of a few modules, which the project's own tests must notice.
"""
