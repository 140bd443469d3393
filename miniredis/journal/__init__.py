"""The journal: what the server writes to disk, so that it keeps its data when it stops or is killed."""
