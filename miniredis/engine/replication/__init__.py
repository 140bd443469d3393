"""Replication: how a server and its replicas have the same data. Bytes in, bytes out, as all of the engine.

``replication.py`` is all that the engine knows of it. ``history.py`` is the stream of effects as Redis
numbers it, with the end of it kept. A master uses ``replicas.py``, ``full_sync.py`` and ``acks.py``. A
replica uses ``upstream.py``, ``link.py``, ``synchronization.py`` and ``master_session.py``. With
``failover.py`` both change places.
"""
