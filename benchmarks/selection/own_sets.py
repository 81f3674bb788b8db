"""The labelled requests of this folder: many languages over English catalogs, and several steps over many servers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.first_use.data import load_requests
from helmdeck_cli.evaluation.requests import LabelledRequest
from helmdeck_core import Catalog
from helmdeck_selection import read_catalog

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXAMPLE = ROOT / "plugins" / "helmdeck_selection" / "catalogs" / "example_catalog.json"
EVERYDAY = ROOT / "benchmarks" / "first_use" / "catalogs"


def everyday_catalog() -> Catalog:
    """The example catalog and those of a shop, an office and travel: 105 entries, described in English."""
    return _pooled([EXAMPLE, *(EVERYDAY / f"{name}.json" for name in ("shop", "office", "travel"))])


def server_catalog() -> Catalog | None:
    """The recorded catalogs of MCP servers in one; ``None`` where they are missing. ``MCP_TOOLS`` is their folder."""
    folder = Path(os.environ.get("MCP_TOOLS", ROOT.parent / "shared" / "fixtures" / "mcp-tools"))
    paths = sorted(folder.glob("*.json"))
    return _pooled(paths) if paths else None


def _pooled(paths: list[Path]) -> Catalog:
    read = (read_catalog(json.loads(path.read_text(encoding="utf-8")), path.stem) for path in paths)
    return Catalog(entry for catalog in read for entry in catalog.entries)


def house_catalog() -> Catalog:
    """Tools of a house among those of ``everyday_catalog``."""
    tools = read_catalog(json.loads((HERE / "house_tools.json").read_text(encoding="utf-8")), "house")
    return Catalog([*tools.entries, *everyday_catalog().entries])


def house_requests() -> list[LabelledRequest]:
    """Short commands, each in eleven languages."""
    return [
        LabelledRequest(number, line[3:], tuple(lines[0].removeprefix("= ").split()), group=line[:2])
        for number, lines in _blocks(HERE / "house.txt")
        for line in lines[1:]
    ]


def korean_set() -> tuple[Catalog, list[LabelledRequest]]:
    """A Korean catalog with a request for each tool."""
    lines = (HERE / "korean.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if not line.startswith("#")]
    packs = [{"name": f"tool_{number}", "description": text} for number, (_, text, _) in enumerate(rows)]
    requests = [
        LabelledRequest(number, text, (f"tool_{number}",), group="ko") for number, (*_, text) in enumerate(rows)
    ]
    return read_catalog({"packs": packs, "pipelines": []}, "korean"), requests


def multilingual_requests() -> list[LabelledRequest]:
    """Thirty requests, each in seven languages; the language is the group."""
    found = []
    for number, lines in _blocks(HERE / "languages.txt"):
        tools = tuple(lines[0].removeprefix("= ").split())
        found += [LabelledRequest(number, line[3:], tools, group=line[:2]) for line in lines[1:]]
    return found


def server_requests() -> tuple[list[LabelledRequest], list[frozenset[str]]]:
    """Requests of one to five steps, and for each one the tools that no word of it asks for."""
    requests, implied = [], []
    lines = [line for _, block in _blocks(HERE / "servers.txt") for line in block]
    for number, (labels, text) in enumerate(zip(lines[::2], lines[1::2], strict=True), 1):
        named, _, hidden = labels.removeprefix("= ").partition(":")
        tools = tuple(dict.fromkeys([*hidden.split(), *named.split()]))
        requests.append(LabelledRequest(number, text, tools))
        implied.append(frozenset(hidden.split()))
    return requests, implied


def first_use_requests(catalog: Catalog) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Requests of the first-use benchmark that the catalog serves, with the tools that each step allows."""
    sources = {entry.source for entry in catalog.entries}
    return [
        (request.text, [step.tools for step in request.steps])
        for request in load_requests()
        if request.catalog in sources and request.steps
    ]


def _blocks(path: Path) -> Iterator[tuple[int, list[str]]]:
    number = 1
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        if lines:
            yield number, lines
        number += block.count("\n") + 2
