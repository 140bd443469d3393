"""A client's own connection: its name and protocol, transactions, Pub/Sub, client-side caching."""
