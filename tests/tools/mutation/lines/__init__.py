"""Whether the tests would notice: each small change to a file of code has to make one of them fail.

``python -m tests.tools.mutation.lines waiting`` and ``... protocol`` run it. ``mutants`` makes the changes with the
operators of cosmic-ray, ``harmless`` leaves those out that cannot change anything, ``reach`` finds out which
tests come by which lines, ``forking`` runs them on a change, ``report`` tells how many were noticed.

To have another file tried, add it to ``subjects``; a change that nobody can notice gets a row in
``equivalent``, with the reason.
"""
