"""Stand-ins for other test servers: their names, on a miniredis server in this process."""
