"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

PLUGINS = {
    "mcp_client": "helmdeck_mcp.client",  # tools of MCP servers as catalog entries
}

COMMANDS = {
    "command_mcp": "helmdeck_mcp.commands.mcp",
}
