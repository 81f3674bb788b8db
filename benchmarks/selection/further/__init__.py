"""Four catalogs with labelled requests that were written without a look at the ranker or at any other data of it.

``servers`` has the tools of 65 MCP servers as people know them, in new words, and everyday tasks of two to five steps; ``apis`` has functions
of public web APIs, with terse questions whose answer needs a look-up first; ``chinese`` has Chinese descriptions and requests; ``apps``
has stateful operations of fourteen apps, and requests that hardly use their words. The lines of ``requests.jsonl`` are those of ``helmdeck
eval selection``. Every second request, from the first one on, may be examined to change the ranker; the others are only counted.
"""

from __future__ import annotations

import json
from pathlib import Path

import attrs

from helmdeck_core import Catalog
from helmdeck_selection import read_catalog

FOLDER = Path(__file__).parent
SETS = ("servers", "apis", "chinese", "apps")


@attrs.frozen
class FurtherSet:
    """One catalog with its requests; each has the tools that it needs."""

    name: str
    catalog: Catalog
    requests: tuple[tuple[str, frozenset[str]], ...]

    def half(self, *, examined: bool) -> tuple[tuple[str, frozenset[str]], ...]:
        """Return the requests that may be examined, or those that are only counted."""
        return self.requests[0 if examined else 1 :: 2]


def further_sets() -> list[FurtherSet]:
    """Return all four sets."""
    found = []
    for name in SETS:
        data = json.loads((FOLDER / name / "catalog.json").read_text(encoding="utf-8"))
        lines = (FOLDER / name / "requests.jsonl").read_text(encoding="utf-8").splitlines()
        rows = tuple((row["request"], frozenset(row["tools"])) for row in map(json.loads, lines))
        found.append(FurtherSet(name, read_catalog(data, name), rows))
    return found
