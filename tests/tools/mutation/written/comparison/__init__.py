"""Small faults of the engine, one line each, that a comparison with a real Redis must find."""
