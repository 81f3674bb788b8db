"""Loads plugins, calls hooks, checks what they return, and documents them."""
