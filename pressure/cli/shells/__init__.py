"""A module for each shell that can complete the command: ``script`` makes what it is to be told."""
