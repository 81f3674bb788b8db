"""The recorded tool lists of MCP servers, and a deck over all of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helmdeck_core import Catalog, CatalogSource, Helmdeck, Pack
from helmdeck_selection import read_catalog
from helmdeck_testing import make_deck, plugin_with

ROOT = Path(__file__).resolve().parents[2]
REQUESTS = Path(__file__).with_name("requests.json")


def folder() -> Path:
    """Where the recorded ``tools/list`` results are: ``MCP_TOOLS``."""
    return Path(os.environ.get("MCP_TOOLS", ROOT.parent / "shared" / "fixtures" / "mcp-tools"))


def servers() -> dict[str, list[Mapping[str, Any]]]:
    """The tools of each server as in ``tools/list``, by the server's name."""
    if not any(folder().glob("*.json")):
        raise SystemExit(f"{folder()} has no recorded tool lists; MCP_TOOLS names the folder")
    recorded = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder().glob("*.json")))
    return {each["server"]: each["tools"] for each in recorded}


def deck_of(tools: Mapping[str, list[Mapping[str, Any]]], ranker: str) -> Helmdeck:
    """A deck whose catalog is all of these tools, named ``server__tool``, as if it could run them."""

    async def run(context: Any, value: Any) -> Mapping[str, Any]:  # noqa: ARG001
        return {}

    entries = read_catalog(
        {"tools": [{**tool, "name": f"{server}__{tool['name']}"} for server, each in tools.items() for tool in each]},
        "mcp",
    )
    # Packs of the same names make the entries runnable, so that they are listed.
    packs = [Pack(name=entry.id, version="1", description=entry.description, run=run) for entry in entries.packs]
    source = CatalogSource(name="recorded", load=lambda: Catalog(entries.entries))
    plugin = plugin_with(helmdeck_packs=packs, helmdeck_catalog_sources=[source])
    return make_deck(plugin, config={"catalog": {"sources": ["recorded"]}, "selection": {"ranker": ranker}})


def requests() -> list[Mapping[str, Any]]:
    """The requests: ``request``, the ``tools`` that serve it, and ``set``, ``first`` or ``second``."""
    rows: list[Mapping[str, Any]] = json.loads(REQUESTS.read_text(encoding="utf-8"))
    return rows
