"""How an operation runs, as far as all flavours have it in common."""
