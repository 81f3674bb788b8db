"""Files, and batches of requests that run in the background with their state in the store, so that they outlive processes."""
