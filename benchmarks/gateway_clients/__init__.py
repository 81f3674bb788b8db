"""Unmodified clients in front of failing models, with and without the gateway."""
