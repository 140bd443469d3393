"""Judges: runs the checks of clauses on a server with a client, and says of each whether it holds."""
