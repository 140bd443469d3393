"""Values as DUMP and RESTORE pass them on, in Redis's own format with its checksum.

What Redis up to 7.0 writes can be read, whatever encoding it chose; what is written here, Redis 7.0 can read.
"""

from .payload import BadDataError, BadPayloadError, dump, opened, restore, sealed

__all__ = ["BadDataError", "BadPayloadError", "dump", "opened", "restore", "sealed"]
