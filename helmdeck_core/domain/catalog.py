"""The catalog: its entries, the steps that trim it, and the record of what was trimmed."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import attrs
import msgspec

from helmdeck_core.errors import CatalogError, Mistake

EntryData = Mapping[str, Any]
"""One catalog entry as JSON-like data. Read-only: make a copy to change it."""


RESERVED = "unknown"
"""The name of a tool that does not exist, in a plan; no entry can have this name."""


class EntryKind(enum.StrEnum):
    """The kind of a catalog entry: a unit of work, or a saved sequence of them."""

    PACK = "pack"
    PIPELINE = "pipeline"


@attrs.frozen
class Entry:
    """One catalog entry.

    :ivar id: its id in plans: a pack's ``name``, a pipeline's ``id``.
    :ivar data: the unchanged entry, unknown keys included.
    :ivar source: the catalog source that it came from.
    """

    kind: EntryKind
    id: str
    data: EntryData
    source: str = ""

    @property
    def description(self) -> str:
        """The description, or an empty string."""
        value = self.data.get("description", "")
        return value if isinstance(value, str) else ""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata, or an empty mapping."""
        value = self.data.get("metadata")
        return value if isinstance(value, Mapping) else {}

    @property
    def supersedes(self) -> tuple[str, ...]:
        """The packs that this entry replaces when a request names them."""
        value = self.metadata.get("supersedes", ())
        return tuple(name for name in value if isinstance(name, str)) if isinstance(value, (list, tuple)) else ()

    @property
    def input_schema(self) -> Mapping[str, Any] | None:
        """The JSON Schema of the entry's arguments, if it has one."""
        for key in ("input_schema", "inputSchema"):
            value = self.data.get(key)
            if isinstance(value, Mapping):
                return value
        return None


class Catalog:
    """Packs and pipelines in a fixed order; immutable, with a version that follows the content.

    :ivar entries: packs first, then pipelines, each in source order.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        every = tuple(entries)
        self.packs = tuple(entry for entry in every if entry.kind is EntryKind.PACK)
        self.pipelines = tuple(entry for entry in every if entry.kind is EntryKind.PIPELINE)
        self.entries = self.packs + self.pipelines
        self._by_id = {entry.id: entry for entry in self.entries}

    @cached_property
    def version(self) -> str:
        """The first 16 hex digits of the SHA-256 of the content."""
        return hashlib.sha256(self.encode()).hexdigest()[:16]

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, entry_id: str) -> Entry | None:
        """Return the entry with an id."""
        return self._by_id.get(entry_id)

    def to_data(self) -> dict[str, list[EntryData]]:
        """The catalog as plain data."""
        return {"packs": [e.data for e in self.packs], "pipelines": [e.data for e in self.pipelines]}

    def encode(self) -> bytes:
        """Compact UTF-8 JSON, exactly as in a prompt."""
        return msgspec.json.encode(self.to_data())

    def merged(self, other: Catalog) -> Catalog:
        """Return both catalogs merged; entries of ``other`` replace entries with the same id."""
        theirs = {entry.id: entry for entry in other.entries}
        kept = [theirs.pop(entry.id, entry) for entry in self.entries]
        return Catalog([*kept, *theirs.values()])

    @classmethod
    def from_data(cls, data: object, source: str) -> Catalog:
        """Parse ``{"packs": [...], "pipelines": [...]}``; both lists may be left out.

        :raises CatalogError: with every mistake and its path, duplicate ids included.
        """
        mistakes: list[Mistake] = []
        entries: list[Entry] = []
        if not isinstance(data, Mapping):
            raise CatalogError(
                source, (Mistake("$", "a catalog is an object", _kind(data), '{"packs": [...], "pipelines": [...]}'),)
            )
        if not {"packs", "pipelines"} & data.keys():
            keys = ", ".join(sorted(map(str, data))[:8]) or "nothing"
            raise CatalogError(source, (Mistake("$", "neither packs nor pipelines", keys, "packs, pipelines"),))
        seen: dict[str, str] = {}
        for key, kind, id_key in (("packs", EntryKind.PACK, "name"), ("pipelines", EntryKind.PIPELINE, "id")):
            rows = data.get(key)
            if rows is None:
                continue
            if not isinstance(rows, (list, tuple)):
                mistakes.append(Mistake(f"$.{key}", "not a list", _kind(rows), "a list of objects"))
                continue
            for number, row in enumerate(rows):
                entry = _read_entry(row, kind, id_key, f"$.{key}[{number}]", source, mistakes)
                if entry is None:
                    continue
                if entry.id in seen:
                    mistakes.append(
                        Mistake(
                            f"$.{key}[{number}].{id_key}",
                            f"already used by {seen[entry.id]}",
                            repr(entry.id),
                            "an id that is used once",
                        )
                    )
                    continue
                seen[entry.id] = f"$.{key}[{number}]"
                entries.append(entry)
        if mistakes:
            raise CatalogError(source, tuple(mistakes))
        return cls(entries)


def _kind(value: object) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "a string",
        bool: "a truth value",
        int: "a number",
        float: "a number",
    }
    return "null" if value is None else names.get(type(value), type(value).__name__)


def _read_entry(
    row: object, kind: EntryKind, id_key: str, path: str, source: str, mistakes: list[Mistake]
) -> Entry | None:
    if not isinstance(row, Mapping):
        mistakes.append(Mistake(path, "not an object", _kind(row), "an object"))
        return None
    before = len(mistakes)
    entry_id = row.get(id_key)
    if isinstance(entry_id, str) and entry_id.strip().casefold() == RESERVED:
        mistakes.append(
            Mistake(f"{path}.{id_key}", "reserved for tools that do not exist", repr(entry_id), "another name")
        )
    if not isinstance(entry_id, str) or not entry_id.strip():
        found = "nothing" if entry_id is None else repr(entry_id)[:80]
        mistakes.append(Mistake(f"{path}.{id_key}", "missing or not a string", found, "a non-empty string"))
    for key, wanted, words in (("description", str, "a string"), ("metadata", Mapping, "an object")):
        value = row.get(key)
        if value is not None and not isinstance(value, wanted):
            mistakes.append(Mistake(f"{path}.{key}", f"not {words}", _kind(value), words))
    metadata = row.get("metadata")
    supersedes = metadata.get("supersedes") if isinstance(metadata, Mapping) else None
    if supersedes is not None and not (
        isinstance(supersedes, (list, tuple)) and all(isinstance(s, str) for s in supersedes)
    ):
        mistakes.append(
            Mistake(f"{path}.metadata.supersedes", "not a list of pack names", _kind(supersedes), "a list of strings")
        )
    return Entry(kind, str(entry_id), row, source) if len(mistakes) == before else None


@attrs.frozen(kw_only=True)
class CatalogSource:
    """A source of catalog entries.

    :ivar name: its name in ``[catalog] sources``.
    :ivar load: called once, at the first use of the catalog; may raise ``CatalogError``.
    """

    name: str
    load: Callable[[], Catalog]
    summary: str = ""
    order: int = 0


@attrs.frozen(kw_only=True)
class TrimStep:
    """One step of the compaction ladder.

    :ivar name: its name in the configuration and in trim records, such as ``description.firstSentence``;
        contributing the same name again replaces the step.
    :ivar order: steps run in rising order.
    :ivar trim: takes one entry and its data after earlier steps; returns smaller data, or the very
        same object when there is nothing to cut. Pure: it neither changes its input nor depends on other entries, so
        that its result can be computed once per catalog.
    """

    name: str
    trim: Callable[[Entry, EntryData], EntryData]
    order: int = 0
    summary: str = ""


@attrs.frozen
class TrimRecord:
    """What was trimmed from a catalog before it was sent.

    :ivar before_bytes: size of the full catalog.
    :ivar after_bytes: size of the catalog that was sent.
    :ivar dropped: names of what was trimmed, in order.
    :ivar kept_entries: number of entries that were sent.
    :ivar left_out: number of entries that were not sent.
    """

    before_bytes: int
    after_bytes: int
    dropped: tuple[str, ...] = ()
    kept_entries: int = 0
    left_out: int = 0

    @property
    def reduction(self) -> float:
        """The share of bytes that was trimmed, 0 to 1."""
        return 1 - self.after_bytes / self.before_bytes if self.before_bytes else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data."""
        return {
            "before_bytes": self.before_bytes,
            "after_bytes": self.after_bytes,
            "dropped": list(self.dropped),
            "kept_entries": self.kept_entries,
            "left_out": self.left_out,
        }
