"""What a test does with a server besides commands: faults, looks inside, assertions."""
