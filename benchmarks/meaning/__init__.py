"""Trains the two-tower model that relates everyday wording to tools."""
