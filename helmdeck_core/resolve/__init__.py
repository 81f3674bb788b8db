"""Turns plugins and configuration into immutable chains, once at start-up."""
