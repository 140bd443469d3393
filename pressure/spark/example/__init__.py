"""A worked example: the access log of a web server, through a bounded queue and Spark, to a report.

python -m pressure.spark.example

``lines`` makes the log, the same every time; ``steps`` is what Spark does with it; ``chart`` draws the
report. A thread puts the lines into a queue that holds ten thousand, so it waits for Spark whenever it is
ahead; Spark parses them into Parquet files, makes the report of these, and puts it into a second queue, from
which it is drawn.
"""
