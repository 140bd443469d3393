"""Programs as users write them, one for each flavour; test_types.py checks their types and runs them."""
