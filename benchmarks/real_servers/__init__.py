"""Real-server benchmark: inference servers with tiny generated models."""
