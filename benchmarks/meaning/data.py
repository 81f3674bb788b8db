"""Reads ``ways``: what people say for tools of many products.

::

    == family: home lighting                    a product
    = switch a light                            what one of its tools does
    tool turn_on_light | Turns a lamp on. | room: string, state: on|off     as three vendors describe it: name | description | inputs
    - it's pitch black in the hallway           a request for it, and for none of its neighbours
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from helmdeck_core import Catalog
from helmdeck_selection import read_catalog

WAYS = Path(__file__).with_name("ways")
STATEMENTS = Path(__file__).with_name("statements")
_INPUT = re.compile(r"\s*([\w.-]+)\s*\??\s*:?\s*(.*)")
_TYPES = {
    "string": "string",
    "str": "string",
    "text": "string",
    "boolean": "boolean",
    "bool": "boolean",
    "int": "integer",
}
_TYPES |= {"integer": "integer", "number": "number", "float": "number", "object": "object"}
_TYPES |= {"array": "array", "list": "array", "string[]": "array"}


@attrs.frozen
class Tool:
    """What a tool does.

    :ivar vendors: the tool as ``tools/list`` would have it, by each vendor.
    :ivar requests: what people say for it.
    """

    vendors: list[Mapping[str, Any]] = attrs.Factory(list)
    requests: list[str] = attrs.Factory(list)


@attrs.frozen
class Product:
    """A product with its tools."""

    name: str
    tools: list[Tool] = attrs.Factory(list)

    def catalog(self, vendor: int) -> Catalog:
        """Return the tools as vendors describe them, beginning with one of them for the first tool.

        Two tools may have the same name in the words of different vendors: the second one gets a number.
        """
        found: dict[str, Mapping[str, Any]] = {}
        for place, tool in enumerate(self.tools):
            own = tool.vendors[(vendor + place) % len(tool.vendors)]
            name = own["name"] if own["name"] not in found else f"{own['name']}_{place}"
            found[name] = {**own, "name": name}
        return read_catalog(list(found.values()), self.name)


def products(paths: Iterable[Path] | None = None) -> list[Product]:
    """Return the products, in the order of the files."""
    found: list[Product] = []
    for path in sorted(WAYS.glob("*.txt")) if paths is None else paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("== "):
                found.append(Product(line.removeprefix("== family: ")))
            elif line.startswith("= "):
                found[-1].tools.append(Tool())
            elif line.startswith("tool "):
                found[-1].tools[-1].vendors.append(_tool(line[5:].split(" | ")))
            elif line.startswith("- "):
                found[-1].tools[-1].requests.append(line[2:])
    return found


def statements(paths: Iterable[Path] | None = None) -> dict[str, list[str]]:
    """Return the sentences that ask for nothing, by what they are about."""
    found: dict[str, list[str]] = {}
    own: list[str] = []
    for path in sorted(STATEMENTS.glob("*.txt")) if paths is None else paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("== "):
                own = found.setdefault(line.removeprefix("== family: "), [])
            elif line.startswith("- "):
                own.append(line[2:])
    return found


def training_options(doc: str | None, rounds: int) -> argparse.Namespace:
    """Return the options of a command that trains a model.

    :param rounds: the default of ``--rounds``.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def _tool(fields: Sequence[str]) -> Mapping[str, Any]:
    name, description, inputs = [*fields, "", ""][:3]
    schema = {"type": "object", "properties": dict(_properties(inputs))}
    return {"name": name.strip(), "description": description, "inputSchema": schema}


def _properties(inputs: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for text in inputs.split(","):
        if match := _INPUT.fullmatch(text.rstrip()):
            name, kind = match[1], match[2]
            if "|" in kind:
                yield name, {"type": "string", "enum": kind.split("|")}
            elif kind in ("date", "datetime"):
                yield name, {"type": "string", "format": kind.replace("datetime", "date-time")}
            else:
                yield name, {"type": _TYPES[kind]} if kind in _TYPES else {}
