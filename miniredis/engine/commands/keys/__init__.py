"""Keys of any type: their names, expiry, order and payloads."""
