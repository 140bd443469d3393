"""Effects: what commands did, as commands."""
