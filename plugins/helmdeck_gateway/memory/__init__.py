"""What a gateway remembers of conversations."""
