"""A node of a cluster."""
