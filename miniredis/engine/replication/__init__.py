"""Replication: how a server and its replicas have the same data. Bytes in, bytes out, as all of the engine.

``replication.py`` is all that the engine knows of it. ``history.py`` is the stream of effects as Redis numbers
it, with the end of it kept. What a master does is in ``replicas.py``, ``full_sync.py`` and ``acks.py``; what a
replica does with its master, in ``upstream.py``, ``link.py``, ``synchronization.py`` and ``master_session.py``.
``failover.py`` is how both change places.
"""
