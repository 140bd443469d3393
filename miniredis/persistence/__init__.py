"""The journal: what the server writes to disk, so that it keeps its data when it stops or is killed.

That is Redis 7.0's append-only file, and its snapshots (RDB files).

Of the append-only file, ``journal.py`` stands between the server and the files. ``append_only.py`` writes the
effects of each tick, and makes them durable as ``appendfsync`` says, into the last of the files that
``increments.py`` has. ``rewriting.py`` replaces old effects by the data that they led to. ``loading.py``
reads all of it at the start. ``manifest.py`` says which files there are, and ``folder.py`` has them. Of
snapshots, ``saving.py`` stands there, and ``rdb_file.py`` writes and reads the file. All of them work through
``disk.py``, and the engine knows nothing of them.

Rules: the effects of a tick are written before any reply of that tick is sent. With ``appendfsync always``
they are on the disk by then, or the server stops and sends nothing. A file that others depend on is replaced
by renaming, and its folder is made durable, too.
"""
