"""What the engine knows of its clients."""
