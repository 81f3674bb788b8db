"""MCP in both directions: tools of MCP servers as catalog entries, and a deck as an MCP server.

- **In**: ``[catalog.mcp.NAME]`` in the configuration; requests of MCP clients over stdio or HTTP.
- **Out**: catalog entries that run their tools; plans, routes, packs and resources for any client.
- **Hooks**: ``helmdeck_catalog_sources`` (client), ``helmdeck_commands`` (server).
- **Begin** with ``client.source`` (all servers), ``client.connection`` (one of them) and its transports
  (``client.stdio_transport``, ``client.http_transport``); with ``server.server``, ``server.tools`` and ``server.transports``;
  or with ``install`` (the entry in the configuration of an MCP client).
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
