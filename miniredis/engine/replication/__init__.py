"""Replication: how a server and its replicas have the same data. Bytes in, bytes out, as all of the engine.

``history.py`` is the stream of effects as Redis numbers it, with the end of it kept. To edit what is sent to
replicas, see ``replicas.py``; what a replica itself does with its master's stream, ``upstream.py``.
"""
