"""Failure-handling benchmark."""
