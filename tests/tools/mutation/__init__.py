"""Mutants: small faults put into our packages on purpose, to see that the suite convicts them.

``written`` has mutants written by hand, ``operators`` generates others, ``equivalent`` lists those that nobody can notice.
``bench`` puts a mutant into a copy of the project, ``judges`` has it judged there by the suite, the tests or the
comparison with a real Redis, ``report`` prints the kill rate and the survivors. ``python -m tests.tools.mutation`` runs it.
"""
