"""Configurations of other gateways, and the outcome for each of their settings."""
