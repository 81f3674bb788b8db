"""Continuation benchmark: payloads, continuation habits, merges and tables."""
