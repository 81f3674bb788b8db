"""The catalog source ``mcp``: tools of MCP servers become catalog entries, and the servers run them.

Servers are separate: each one is started, restarted and listed on its own, and a failure costs its entries only. Everything
that a server sends is data of another party: it is checked, cleaned of control characters, and limited in size. The library
``mcp`` is an extra, and is imported when the first server is started.
"""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import CatalogSource, OpenSource, SourceSettings, hookimpl


@hookimpl
def helmdeck_catalog_sources() -> Sequence[CatalogSource]:
    """MCP servers of ``[catalog.mcp.NAME]``."""
    return (CatalogSource(name="mcp", open=_open, summary="tools of MCP servers"),)


def _open(settings: SourceSettings) -> OpenSource:
    from helmdeck_mcp.client.source import McpSource

    return McpSource(settings)
