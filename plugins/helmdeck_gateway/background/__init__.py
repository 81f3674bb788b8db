"""Responses in the background: they are queued in the store, run by any process, and read when they are finished."""
