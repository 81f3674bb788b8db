"""Decides how truncated answers are completed. Nothing here sends a request."""
