"""Which server, how to connect to it, and the connections of a process; written once, without I/O."""
