"""Real inference servers with models that a few lines make: what they do, and what becomes of it."""
