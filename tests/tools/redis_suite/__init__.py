"""Redis's own test suite, run against miniredis: ``python -m tests.tools.redis_suite --redis-source DIR``.

The suite is written in Tcl, in the folder ``tests`` of Redis's source code. It can test a server that is
running: its external mode. There it leaves out what needs servers of its own, or their files.

- ``sources`` finds the suite and tclsh;
- ``running`` runs one file of the suite on one server;
- ``output`` reads what the suite prints;
- ``expected`` is the table of what is left out or may fail, with the reasons: to change it, edit a row there;
- ``verdict`` compares results with that table.

Nothing of Redis is part of this package, and nothing is downloaded.
"""
