"""Values as DUMP and RESTORE pass them on, and whole files, in Redis's own format with its checksums.

What Redis up to 7.0 writes can be read, whatever encoding it chose, in files also what later versions write;
what is written here, Redis 7.0 can read.
"""
