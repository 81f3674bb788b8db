"""Keys of clients, their limits, and what their calls cost."""
