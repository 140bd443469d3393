"""Redis Cluster: hash slots, which node has which, and what a node answers about keys of others."""
