"""Reads ``ways``: what people say for tools of many products.

::

    == family: home lighting                    a product
    = switch a light                            what one of its tools does
    tool turn_on_light | Turns a lamp on. | room: string     as three vendors describe it: name | description | inputs
    - it's pitch black in the hallway           a request for it, and for none of its neighbours
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs

from helmdeck_core import Entry
from helmdeck_language import scan
from helmdeck_selection import read_catalog
from helmdeck_selection.meaning.features import entry_features, request_features

WAYS = Path(__file__).with_name("ways")
_INPUT_END = re.compile(r"[:?\s=\[(]")


@attrs.define
class Concept:
    """What a tool does: its descriptions by several vendors, and requests for it, both as features."""

    tools: list[tuple[list[str], list[str], list[str]]] = attrs.Factory(list)
    requests: list[list[str]] = attrs.Factory(list)


def families(paths: Iterable[Path] | None = None) -> list[list[Concept]]:
    """Return the concepts of each product, in the order of the files."""
    found: list[list[Concept]] = []
    for path in sorted(WAYS.glob("*.txt")) if paths is None else paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("== "):
                found.append([])
            elif line.startswith("= "):
                found[-1].append(Concept())
            elif line.startswith("tool "):
                found[-1][-1].tools.append(entry_features(_entry(line[5:].split(" | "))))
            elif line.startswith("- "):
                found[-1][-1].requests.append(request_features(scan(line[2:])))
    return found


def _entry(fields: Sequence[str]) -> Entry:
    name, description, inputs = [*fields, "", ""][:3]
    names = [_INPUT_END.split(text.strip())[0] for text in inputs.split(",")]
    schema = {"type": "object", "properties": {each: {} for each in names if each}}
    tool = {"name": name.strip(), "description": description, "inputSchema": schema}
    return read_catalog([tool], "ways").entries[0]
