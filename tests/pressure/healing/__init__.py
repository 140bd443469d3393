"""A queue heals itself: whatever happens to one client, the others go on without anybody's help."""
