"""The versions of Redis and Valkey, and what differs in them."""
