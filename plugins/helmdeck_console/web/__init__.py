"""Access, pages and pictures."""
