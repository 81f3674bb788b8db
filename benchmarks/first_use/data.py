r"""Reads the requests with their expected plans, and the catalogs.

A file of ``requests`` belongs to the catalog of its name. A request is one line, ``\n`` for a line break, followed by::

    + TOOL {ARGUMENTS} {OPTIONAL}   a step; ``a|b`` allows two tools, ``pipeline:ID`` is a pipeline, and
                                    ``{"any": [...]}`` allows several values; the optional arguments may be missing
    ~ TOOL {ARGUMENTS} {OPTIONAL}   a step that the request does not name, whose result a step needs
    - TOOL                          a tool that must not be planned
    ! VALUE                         text that must not be in an argument
    ? WORD                          a part that no tool covers; the gap must contain the word
    * model                         no part can be planned, and the plan must advise to use a model

Above the line, ``@ LANGUAGE TAGS`` names the language; without it, a request is English.

A file of the other folders (``classes``, ``second`` and so on) holds the requests of one class of difficulty: its name is their tag, and
``= CATALOG`` alone, or ``= ONE+OTHER``, is the catalog of those that follow.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from helmdeck_core import Catalog, Entry
from helmdeck_selection import read_catalog

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXAMPLE = ROOT / "plugins" / "helmdeck_selection" / "catalogs" / "example_catalog.json"
PUBLIC = tuple(sorted((HERE / "catalogs").glob("*.txt")))
OWN = tuple(path.stem for path in sorted((HERE / "catalogs").glob("*.json")))


@attrs.frozen
class ExpectedStep:
    """A step that a right plan contains.

    :ivar tools: the ids that are right.
    :ivar args: the arguments that the request states.
    :ivar optional: arguments that may be given.
    """

    tools: tuple[str, ...]
    args: Mapping[str, Any]
    optional: Mapping[str, Any]


@attrs.frozen
class Request:
    """A request with its expected plan.

    :ivar inferred: steps that the request does not name, whose results its steps need.
    :ivar never: tools that must not be planned.
    :ivar forbidden: text that must not be in an argument.
    :ivar gaps: a word of each uncovered part.
    :ivar needs_model: no part can be planned, and the plan must advise to use a model.
    """

    catalog: str
    text: str
    language: str = "en"
    tags: tuple[str, ...] = ()
    steps: tuple[ExpectedStep, ...] = ()
    inferred: tuple[ExpectedStep, ...] = ()
    never: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    needs_model: bool = False

    @property
    def is_held_out(self) -> bool:
        """Whether the request belongs to the half that is not looked at while the planner is changed."""
        return hashlib.sha256(self.text.encode()).digest()[0] % 2 == 1


def mcp_folder() -> Path:
    """The folder of the recorded catalogs: ``MCP_TOOLS``."""
    return Path(os.environ.get("MCP_TOOLS", ROOT.parent / "shared" / "fixtures" / "mcp-tools"))


def load_catalogs(folder: Path) -> dict[str, Catalog]:
    """Return all catalogs by name: the recorded ones, the three of this folder, and the example of the project."""
    paths = [*sorted(folder.glob("*.json")), *sorted((HERE / "catalogs").glob("*.json"))]
    found = {path.stem: read_catalog(json.loads(path.read_text(encoding="utf-8")), path.stem) for path in paths}
    found |= {name: read_catalog({"tools": tools}, name) for name, tools in public_tools().items()}
    return {**found, "example": read_catalog(json.loads(EXAMPLE.read_text(encoding="utf-8")), "example")}


def public_tools() -> dict[str, list[dict[str, Any]]]:
    """Return the tools of ``catalogs/*.txt`` by server, as in ``tools/list``."""
    found: dict[str, list[dict[str, Any]]] = {}
    tools: list[dict[str, Any]] = []
    for line in [line for path in PUBLIC for line in path.read_text(encoding="utf-8").splitlines()]:
        if line.startswith("== "):
            tools = found[line[3:]] = []
        elif line.startswith("  "):
            name, _, rest = line.strip().partition(" ")
            schema = tools[-1]["inputSchema"]
            schema["properties"][name.rstrip("!")] = _input(rest)
            schema["required"] += [name[:-1]] if name.endswith("!") else []
        elif line and not line.startswith("#"):
            tools.append(_tool(line))
    return found


def _tool(line: str) -> dict[str, Any]:
    head, _, description = line.partition(": ")
    name, _, effect = head.partition(" (")
    tool = {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": {}, "required": []},
    }
    hints = {"readOnlyHint": effect == "reads)", "destructiveHint": effect == "deletes)"}
    return {**tool, "annotations": hints} if effect else tool


def _input(text: str) -> dict[str, Any]:
    if text.startswith("{"):
        schema, end = json.JSONDecoder().raw_decode(text)
        return {**schema, "description": text[end:].strip()}
    kind, _, description = text.partition(" ")
    inner = kind.strip("[]")
    formats = {"uri", "email", "date"}
    schema = (
        {"type": "string", "enum": inner.split("|")}
        if "|" in inner
        else ({"type": "string", "format": inner} if inner in formats else {"type": inner})
    )
    return {**({"type": "array", "items": schema} if kind != inner else schema), "description": description}


def load_requests(folder: str = "requests") -> list[Request]:
    """Return the requests of all catalogs, or those of another folder of this package.

    :raises ValueError: a line cannot be read.
    """
    return [request for path in sorted((HERE / folder).glob("*.txt")) for request in _read(path)]


def _read(path: Path) -> Iterator[Request]:
    catalog, tags = path.stem, () if path.parent.name == "requests" else (path.stem,)
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in block.splitlines() if line.strip()]
        if lines and lines[0].startswith("= "):
            catalog = lines.pop(0)[2:]
        if lines:
            found = _request(catalog, lines)
            yield attrs.evolve(found, tags=(*tags, *found.tags))


def pooled(catalogs: Mapping[str, Catalog], name: str) -> Catalog:
    """Return a catalog; of ``ONE+OTHER`` both in one, with the first of two entries that have the same name."""
    parts = [catalogs[each] for each in name.split("+")]
    if len(parts) == 1:
        return parts[0]
    found: dict[str, Entry] = {}
    for entry in [entry for each in parts for entry in each.entries]:
        found.setdefault(entry.id, entry)
    return Catalog(found.values())


def _request(catalog: str, lines: list[str]) -> Request:
    language, *tags = lines.pop(0)[2:].split() if lines[0].startswith("@ ") else ["en"]
    text, *marks = lines
    found: dict[str, list[str]] = {mark: [] for mark in "+~-!?*"}
    for line in marks:
        mark, _, rest = line.partition(" ")
        if mark not in found:
            raise ValueError(f"{catalog}: unknown mark in {line!r}")
        found[mark].append(rest)
    return Request(
        catalog=catalog,
        text=text.replace("\\n", "\n"),
        language=language,
        tags=tuple(tags),
        steps=tuple(_step(line) for line in found["+"]),
        inferred=tuple(_step(line) for line in found["~"]),
        never=tuple(found["-"]),
        forbidden=tuple(found["!"]),
        gaps=tuple(found["?"]),
        needs_model=bool(found["*"]),
    )


def _step(line: str) -> ExpectedStep:
    tools, _, rest = line.partition(" ")
    decoder = json.JSONDecoder()
    args, end = decoder.raw_decode(rest)
    optional = decoder.decode(rest[end:].strip() or "{}")
    return ExpectedStep(tuple(tools.split("|")), args, optional)


def of_half(requests: Iterable[Request], half: str) -> list[Request]:
    """Return the requests of a half: ``dev``, ``held-out`` or ``all``."""
    return [each for each in requests if half == "all" or each.is_held_out == (half == "held-out")]
