"""MCP in both directions: tools of MCP servers as catalog entries, and a deck as an MCP server.

- **In**: ``[catalog.mcp.NAME]`` in the configuration; requests of MCP clients over stdio or HTTP.
- **Out**: catalog entries that run their tools; plans, routes, packs and resources for any client.
- **Hooks**: ``helmdeck_catalog_sources`` (client), ``helmdeck_commands`` (server).
- **Begin** with ``client.source`` and ``client.server`` (connections: ``client.stdio``, ``client.http``), and with
  ``server.server`` and ``server.tools``; ``server.facade`` has the four tools that stand for hundreds.
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
