"""What the command ``miniredis`` has in common with ``redis-server``: its file and its process."""
