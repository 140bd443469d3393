"""Histories as Parquet, checked queue by queue: in one process, or on Spark where they are large.

A history is a table with a row for each operation (``columns``); files of it are written and read in pieces
(``files``). Queues are judged by the checkers of ``conformance.histories``, many at a time (``checking``), by
this process (``alone``) or by Spark's (``cluster``): the same function judges either way. A queue that is too
large for one worker is cut where nothing is under way (``cuts``), and what was in it is carried over
(``carrying``, ``borders``). What was found is data (``summary``), which the reports are functions of.

``python -m conformance.histories.parquet HISTORY.parquet`` is the command. It needs pyarrow, and for large
histories PySpark: the extra ``spark``. Nothing is imported here, so that the rest of the suite needs neither.
"""
