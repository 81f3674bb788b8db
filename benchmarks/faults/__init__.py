"""Fault benchmark: a failing upstream, a fallback, and what reaches the caller."""
