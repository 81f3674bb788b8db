"""Catalog entries as tools: their names on the wire, their annotations, and how they run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core import Catalog, Entry, EntryKind, Helmdeck, HelmdeckError, Pack
from helmdeck_mcp.client.entries import SEPARATOR
from helmdeck_mcp.server.failures import UnknownTool
from helmdeck_mcp.server.tools import MAX_NAME_CHARS, Tool, ToolCall, own_tools

OPEN_INPUT: Mapping[str, Any] = {"type": "object"}
"""The schema of an entry without one: any arguments."""

SEARCH_FIRST = "call helmdeck__search to find a tool, and helmdeck__call to run it"
"""What a client of a facade does about an unknown name."""

MAX_LIKELY = 3
"""Names that the failure of an unknown tool suggests."""


def wire_name(entry_id: str) -> str:
    """Return an id as a name that every client and model API accepts: ``web.search`` becomes ``web__search``."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", entry_id.replace(".", "__"))
    if len(name) <= MAX_NAME_CHARS:
        return name
    digest = hashlib.sha256(entry_id.encode()).hexdigest()[:8]
    return f"{name[: MAX_NAME_CHARS - len(digest) - 1]}_{digest}"


def annotations_of(entry: Entry) -> Mapping[str, Any]:
    """Return the annotations of an entry, as its server wrote them; empty without any."""
    for data in (entry.data, entry.metadata):
        if isinstance(found := data.get("annotations"), Mapping):
            return {key: value for key, value in found.items() if isinstance(value, (bool, str))}
    return {}


@attrs.frozen
class ToolSet:
    """The tools of one catalog by name.

    :ivar own: the tools of Helmdeck.
    :ivar entries: the entries that can be run, each as a tool.
    :ivar catalog: the catalog that they were made of.
    :ivar wire_names: the names of all entries on the wire, by id.
    :ivar by_wire_name: all entries by these names.
    """

    own: Mapping[str, Tool]
    entries: Mapping[str, Tool]
    catalog: Catalog
    wire_names: Mapping[str, str]
    by_wire_name: Mapping[str, Entry]

    @property
    def names(self) -> Sequence[str]:
        """Every name that can be called."""
        return [*self.own, *self.entries]

    def get(self, name: str) -> Tool | None:
        """Return a tool by its name or by the id of its entry; ``None`` if there is none."""
        return self.own.get(name) or self.entries.get(name) or self.entries.get(self.wire_names.get(name, ""))

    def entry(self, name: str) -> Entry | None:
        """Return the entry of a name on the wire or of an id; ``None`` if there is none."""
        return self.by_wire_name.get(name) or self.catalog.get(name)


class Tools:
    """The tools of a deck. They follow its catalog, which a source may replace while the server runs.

    :param facade: the names that a facade lists instead of all tools; empty without one.
    """

    def __init__(self, deck: Helmdeck, facade: Sequence[str] = ()) -> None:
        self.deck = deck
        self.facade: tuple[str, ...] = tuple(facade)
        self.own: dict[str, Tool] = {tool.name: tool for tool in own_tools(deck, self._id_of)}
        self._current: ToolSet | None = None

    def current(self) -> ToolSet:
        """Return the tools of the current catalog. The first call loads the catalog, which may take seconds.

        :raises CatalogError: a source of the catalog cannot be read.
        """
        catalog = self.deck.catalog
        if self._current is None:
            connect_sources(self.deck)
        if self._current is None or self._current.catalog is not catalog:
            self._current = self._read(catalog)
        return self._current

    def loaded_version(self) -> str | None:
        """Return the version of the current catalog; ``None`` until it was loaded. It does not block.

        :raises HelmdeckError: the catalog cannot be loaded any more.
        """
        return None if self._current is None else self.current().catalog.version

    def find(self, name: str) -> Tool:
        """Return a tool by name, whether it is listed or not.

        :raises UnknownTool: there is none; with the names that are nearest in spelling and in meaning.
        """
        if name in self.own:  # works with a catalog that cannot be loaded
            return self.own[name]
        tools = self.current()
        if (tool := tools.get(name)) is not None:
            return tool
        raise self.unknown(name, tools)

    def unknown(self, name: str, tools: ToolSet) -> UnknownTool:
        """The failure for an unknown name."""
        try:
            words = re.sub(r"[^A-Za-z0-9]+", " ", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)).strip()
            ranked = (
                [score.id for score in self.deck.rank(words).scores[:MAX_LIKELY] if score.score > 0] if words else []
            )
        except HelmdeckError:
            ranked = []
        likely = [tools.wire_names.get(each, each) for each in ranked]
        problem = server_problem(self.deck, name)
        if not self.facade:
            listed = set(tools.names)
            return UnknownTool(name, tools.names, [each for each in likely if each in listed], problem=problem)
        return UnknownTool(name, [*self.facade, *tools.entries], likely, next_action=SEARCH_FIRST, problem=problem)

    def _id_of(self, name: str) -> str:
        entry = self.current().entry(name)
        return name if entry is None else entry.id

    def _read(self, catalog: Catalog) -> ToolSet:
        ids: dict[str, str] = {}
        taken = set(self.own)
        # An id that is a valid name keeps it, whichever other id would become the same name.
        for entry in sorted(catalog.entries, key=lambda entry: wire_name(entry.id) != entry.id):
            name = wire_name(entry.id)
            if name in taken:
                name = f"{name[: MAX_NAME_CHARS - 9]}_{hashlib.sha256(entry.id.encode()).hexdigest()[:8]}"
            taken.add(name)
            ids[entry.id] = name
        tools = {ids[entry.id]: tool for entry, tool in self._runnable(catalog, ids)}
        return ToolSet(self.own, tools, catalog, ids, {ids[entry.id]: entry for entry in catalog.entries})

    def _runnable(self, catalog: Catalog, ids: Mapping[str, str]) -> Iterator[tuple[Entry, Tool]]:
        packs = self.deck.runtime.contributed(Pack)
        for entry in catalog.entries:
            if entry.kind is not EntryKind.PACK or not is_runnable(self.deck, entry):
                continue
            pack = packs.get(entry.id)
            yield (
                entry,
                Tool(
                    name=ids[entry.id],
                    title=title if isinstance(title := entry.data.get("title"), str) else "",
                    description=entry.description,
                    input_schema={**OPEN_INPUT, **(entry.input_schema or {})},
                    output_schema=(pack.value.output_schema or None) if pack is not None else None,
                    hints=annotations_of(entry),
                    run=_runner(entry.id),
                    checks_input=False,
                ),
            )


def connect_sources(deck: Helmdeck) -> None:
    """Let sources follow their servers from now on, also those whose entries they know from an earlier process."""
    sources: Mapping[str, object] = getattr(deck, "open_sources", {})
    for source in list(sources.values()):
        getattr(source, "connect", lambda: None)()


def server_problem(deck: Helmdeck, name: str) -> str:
    """Return why the server that the name of a tool begins with has none, or not all; empty if nothing is wrong with it."""
    sources: Mapping[str, object] = getattr(deck, "open_sources", {})
    for source in list(sources.values()):
        for server, _, problem in getattr(source, "status", tuple)():
            if problem and name.startswith(f"{server}{SEPARATOR}"):
                return f"the server {server!r}: {problem}"
    return ""


def is_runnable(deck: Helmdeck, entry: Entry) -> bool:
    """Whether the deck can run an entry itself; others only serve planning."""
    if entry.id in deck.runtime.contributed(Pack):
        return True
    sources: Mapping[str, object] = getattr(deck, "open_sources", {})
    source = sources.get(entry.source) or sources.get(entry.source.partition(".")[0])
    return hasattr(source, "run")


def _runner(entry_id: str) -> Any:
    async def run(call: ToolCall) -> Mapping[str, Any]:
        return await call.deck.arun(entry_id, call.arguments, **call.options)

    return run
