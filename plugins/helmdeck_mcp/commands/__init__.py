"""``helmdeck mcp``."""
