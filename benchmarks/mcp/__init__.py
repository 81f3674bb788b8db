"""The benchmark of the MCP server."""
