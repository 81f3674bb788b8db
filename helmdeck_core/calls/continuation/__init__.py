"""Completes truncated answers and joins their parts by content. Nothing here sends a request."""
