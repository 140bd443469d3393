"""Lists: pushes, pops and moves, blocking or not, and what reads and changes their elements."""
