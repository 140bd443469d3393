"""The flavour with functions."""
