"""Configurations of other gateways, and what becomes of each of their settings."""
