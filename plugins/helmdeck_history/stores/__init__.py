"""The stores of the history: SQLite, PostgreSQL and Redis."""
