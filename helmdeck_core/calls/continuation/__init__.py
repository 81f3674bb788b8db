"""Completes an answer that was cut, and joins its parts by content. Nothing here sends anything."""
