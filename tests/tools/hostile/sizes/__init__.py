"""How time and memory grow with the size of every argument of every command, beside a real Redis.

``growths`` derives from the command table of miniredis what can be made larger: the length of a name, a
value, a number's text or a pattern, the magnitude of a number, how often an argument is repeated, and the
number of elements of the key that the command works on. ``race`` sends the same bytes of each size, from 10
to 10 million, to a miniredis and to a redis-server, each in a process of its own. ``judge`` compares the two
curves. It convicts what takes more than 20 times as long, or as much memory, at the largest size, and what
grows faster.

Three budgets end a curve early: seconds for one request, seconds to build a key, and memory. A request that
miniredis does not answer by its deadline is a finding; the server is killed and started again.

To add a value of an argument, or something more that can grow, add a row to ``values``, ``settings``,
``forms`` or ``growths.WHOLE``. What miniredis is excused from stands in ``excuses``.
"""
