"""The request log: facts, traces and roll-ups of finished calls in SQLite or PostgreSQL."""
