"""Requests in thirteen languages over English tools, and Korean ones over Korean tools, by an author who did not know the stems.

A line of a file is a request and, behind a tab, the tools of which one is right. Half of the requests, by the hash of their text, may
be read while the word lists are written; the others are held out, and only counted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

from helmdeck_core import Catalog
from helmdeck_selection import read_catalog

HERE = Path(__file__).resolve().parent
LANGUAGES = ("en", "de", "fr", "es", "pl", "it", "pt", "ru", "ko", "ja", "zh", "nl", "tr")
KOREAN = "korean"
DESCRIBED = ("ko", "ja", "zh", "de")
"""The languages in which the tools of the English catalog are described as well."""


@attrs.frozen
class Command:
    """A request of a person.

    :ivar tools: the tools of which one is right.
    """

    text: str
    tools: frozenset[str]

    @property
    def is_held_out(self) -> bool:
        """Whether the request must not be read by those who write the word lists."""
        return hashlib.sha256(self.text.encode()).digest()[0] % 2 == 1


def catalog(name: str = "") -> Catalog:
    """Return the English catalog, or the Korean one."""
    path = HERE / (f"{KOREAN}_catalog.json" if name == KOREAN else "catalog.json")
    return read_catalog({"tools": json.loads(path.read_text(encoding="utf-8"))}, path.stem)


def described(code: str) -> Catalog:
    """Return the English catalog with the descriptions of a language; the names of tools and inputs stay English."""
    blocks = (HERE / "described.txt").read_text(encoding="utf-8").split("\n\n")[1:]
    rows = [dict(line.split(" ", 1) for line in block.splitlines()) for block in blocks]
    texts = {row["="]: row[code] for row in rows}
    tools = json.loads((HERE / "catalog.json").read_text(encoding="utf-8"))
    return read_catalog({"tools": [{**tool, "description": texts[tool["name"]]} for tool in tools]}, code)


def commands(name: str, *, held_out: bool) -> list[Command]:
    """Return half of the requests of a language, or of those over the Korean catalog."""
    lines = (HERE / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    every = [Command(text, frozenset(tools.split("|"))) for text, _, tools in (line.partition("\t") for line in lines)]
    return [each for each in every if each.is_held_out == held_out]


def share(rank: Callable[[str], Sequence[str]], requests: Sequence[Command], top: int) -> float:
    """Return the percentage of requests of which a right tool is among the first ``top``."""
    return 100 * sum(not each.tools.isdisjoint(rank(each.text)[:top]) for each in requests) / len(requests)
