"""Numbers as Redis reads and prints them."""
