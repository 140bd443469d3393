"""What the server counts, and INFO, which tells it."""
