"""One module for each shell; its function ``script`` makes the completion script."""
