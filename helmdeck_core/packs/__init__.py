"""Runs packs."""
