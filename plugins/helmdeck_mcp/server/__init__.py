"""The MCP server: plans, routes and every runnable tool of a deck for any MCP client, over stdio or HTTP.

The module ``command`` is the plugin; the rest is imported when a server starts.
"""
