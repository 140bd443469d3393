"""What replication asks of the process: snapshots for replicas are written beside other work.

All that needs no I/O is in ``miniredis/engine/replication``.
"""
