"""``helmdeck mcp install``: the MCP clients that are known, and the change of their configuration files."""
