"""The same bytes to miniredis and to a real Redis, and every reply compared as it is on the wire.

What is sent is made from what the real server itself says of its commands (``grammar``, ``values``), drawn
and shrunk by hypothesis (``search``), and played by several clients at once (``pair``). Whatever differs
beyond the table of ``tolerated`` differences is printed as the shortest conversation that shows it.
``coverage`` tells what was tried.
"""
