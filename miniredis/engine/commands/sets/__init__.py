"""Sets."""
