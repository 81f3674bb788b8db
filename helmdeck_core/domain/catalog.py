"""The catalog: its entries, sources and trim steps, and the record of trimming."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import attrs
import msgspec

from helmdeck_core.errors import CatalogError, Mistake

EntryData = Mapping[str, Any]
"""A catalog entry as plain data. Read-only: copy it to change it."""


RESERVED = "unknown"
"""The tool of plan steps without a matching entry; no entry can have this name."""


class EntryKind(enum.StrEnum):
    """The kind of a catalog entry: a unit of work, or a tested sequence of them."""

    PACK = "pack"
    PIPELINE = "pipeline"


@attrs.frozen
class Entry:
    """One catalog entry.

    :ivar id: the id in plans: a pack's ``name`` or a pipeline's ``id``.
    :ivar data: the unchanged entry, unknown keys included.
    :ivar source: the name of its catalog source.

    >>> from helmdeck_core import Catalog
    >>> catalog = Catalog.from_data({"packs": [{"name": "blog.draft", "description": "Draft a post"}]}, "example")
    >>> entry = catalog.entries[0]
    >>> entry.id, entry.source, entry.input_schema
    ('blog.draft', 'example', None)
    """

    kind: EntryKind
    id: str
    data: EntryData
    source: str = ""

    @property
    def description(self) -> str:
        """The description; empty without one."""
        value = self.data.get("description", "")
        return value if isinstance(value, str) else ""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata; empty without any."""
        value = self.data.get("metadata")
        return value if isinstance(value, Mapping) else {}

    @property
    def supersedes(self) -> tuple[str, ...]:
        """Names of packs that this entry replaces in plans."""
        value = self.metadata.get("supersedes", ())
        return tuple(name for name in value if isinstance(name, str)) if isinstance(value, (list, tuple)) else ()

    @property
    def input_schema(self) -> Mapping[str, Any] | None:
        """The JSON Schema of the entry's arguments; ``None`` without one."""
        for key in ("input_schema", "inputSchema"):
            value = self.data.get(key)
            if isinstance(value, Mapping):
                return value
        return None


class Catalog:
    """Packs and pipelines in a fixed order. Immutable, and equal to a catalog of equal entries; the version is a hash of the content.

    :ivar entries: packs first, then pipelines, each in source order.

    >>> from helmdeck_core import Catalog
    >>> catalog = Catalog.from_data({"packs": [{"name": "blog.draft", "description": "Draft a post"}]}, "example")
    >>> catalog.get("blog.draft").description, len(catalog)
    ('Draft a post', 1)
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        every = tuple(entries)
        self.packs: tuple[Entry, ...] = tuple(entry for entry in every if entry.kind is EntryKind.PACK)
        self.pipelines: tuple[Entry, ...] = tuple(entry for entry in every if entry.kind is EntryKind.PIPELINE)
        self.entries: tuple[Entry, ...] = self.packs + self.pipelines
        self._by_id = {entry.id: entry for entry in self.entries}

    @cached_property
    def version(self) -> str:
        """The first 16 hex digits of the SHA-256 of the content."""
        return hashlib.sha256(self.encode()).hexdigest()[:16]

    def __len__(self) -> int:
        return len(self.entries)

    def __eq__(self, other: object) -> bool:
        return self.entries == other.entries if isinstance(other, Catalog) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self._by_id))  # that of all content takes a hundred times as long

    def get(self, entry_id: str) -> Entry | None:
        """Return an entry by id; ``None`` if there is none."""
        return self._by_id.get(entry_id)

    def to_data(self) -> dict[str, list[EntryData]]:
        """Return the wire form."""
        return {"packs": [e.data for e in self.packs], "pipelines": [e.data for e in self.pipelines]}

    def encode(self) -> bytes:
        """Return compact UTF-8 JSON, as in a prompt."""
        return msgspec.json.encode(self.to_data())

    def merged(self, other: Catalog) -> Catalog:
        """Return both catalogs merged; entries of ``other`` replace those with the same id."""
        others = {entry.id: entry for entry in other.entries}
        entries = [others.pop(entry.id, entry) for entry in self.entries]
        return Catalog([*entries, *others.values()])

    @classmethod
    def from_data(cls, data: object, source: str) -> Catalog:
        """Read the wire form ``{"packs": [...], "pipelines": [...]}``; one of the lists may be left out.

        :raises CatalogError: every mistake with its path, duplicate ids included.
        """
        mistakes: list[Mistake] = []
        entries: list[Entry] = []
        if not isinstance(data, Mapping):
            allowed = '{"packs": [...], "pipelines": [...]}'
            raise CatalogError(source, (Mistake("$", "a catalog is an object", _type_name(data), allowed),))
        if not {"packs", "pipelines"} & data.keys():
            keys = ", ".join(sorted(map(str, data))[:8]) or "nothing"
            raise CatalogError(source, (Mistake("$", "neither packs nor pipelines found", keys, "packs, pipelines"),))
        seen: dict[str, str] = {}
        for key, kind, id_key in (("packs", EntryKind.PACK, "name"), ("pipelines", EntryKind.PIPELINE, "id")):
            rows = data.get(key)
            if rows is None:
                continue
            if not isinstance(rows, (list, tuple)):
                mistakes.append(Mistake(f"$.{key}", "not a list", _type_name(rows), "a list of objects"))
                continue
            for number, row in enumerate(rows):
                entry = _read_entry(row, kind, id_key, f"$.{key}[{number}]", source, mistakes)
                if entry is None:
                    continue
                if entry.id in seen:
                    where, problem = f"$.{key}[{number}].{id_key}", f"already used by {seen[entry.id]}"
                    mistakes.append(Mistake(where, problem, repr(entry.id), "an id that is used once"))
                    continue
                seen[entry.id] = f"$.{key}[{number}]"
                entries.append(entry)
        if mistakes:
            raise CatalogError(source, tuple(mistakes))
        return cls(entries)


def _type_name(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


def _read_entry(
    row: object, kind: EntryKind, id_key: str, path: str, source: str, mistakes: list[Mistake]
) -> Entry | None:
    if not isinstance(row, Mapping):
        mistakes.append(Mistake(path, "not an object", _type_name(row), "an object"))
        return None
    before = len(mistakes)
    entry_id = row.get(id_key)
    if isinstance(entry_id, str) and entry_id.strip().casefold() == RESERVED:
        mistakes.append(Mistake(f"{path}.{id_key}", "reserved for unknown tools", repr(entry_id), "another name"))
    if not isinstance(entry_id, str) or not entry_id.strip():
        found = "nothing" if entry_id is None else repr(entry_id)[:80]
        mistakes.append(Mistake(f"{path}.{id_key}", "missing or not a string", found, "a non-empty string"))
    for key, type_, type_name in (("description", str, "a string"), ("metadata", Mapping, "an object")):
        value = row.get(key)
        if value is not None and not isinstance(value, type_):
            mistakes.append(Mistake(f"{path}.{key}", f"not {type_name}", _type_name(value), type_name))
    metadata = row.get("metadata")
    supersedes = metadata.get("supersedes") if isinstance(metadata, Mapping) else None
    is_list = isinstance(supersedes, (list, tuple)) and all(isinstance(s, str) for s in supersedes)
    if supersedes is not None and not is_list:
        where, allowed = f"{path}.metadata.supersedes", "a list of strings"
        mistakes.append(Mistake(where, "not a list of pack names", _type_name(supersedes), allowed))
    return Entry(kind, str(entry_id), row, source) if len(mistakes) == before else None


@attrs.frozen
class SourceSettings:
    """What a catalog source is opened with.

    :ivar name: the name of the source.
    :ivar options: its table ``[catalog.NAME]``; empty for a source of ``[catalog] sources``.
    :ivar folder: the folder of the configuration file, for relative paths; ``None`` without a file.
    :ivar change: replaces all entries of the source; requests under way keep the catalog that they started with. Thread-safe.
    :ivar warn: reports a problem, without secrets, as ``CatalogSourceFailed``. Thread-safe.
    """

    name: str
    options: Mapping[str, Any] = attrs.field(repr=False)
    folder: Path | None
    change: Callable[[Catalog], None]
    warn: Callable[[str], None]


class OpenSource(Protocol):
    """An open catalog source; an ``ExecutingSource`` also runs its entries."""

    def load(self) -> Catalog:
        """Return the entries; called once, in a worker thread. It may block for some seconds; later entries ``change`` them.

        :raises Exception: there are no entries until they ``change``; the message is reported.
        """
        ...

    def close(self) -> None:
        """Release everything; may block. Called once."""
        ...


@attrs.frozen(kw_only=True)
class CatalogSource:
    """A source of catalog entries. It has one of ``load``, ``open`` and ``read``.

    :ivar name: the name in ``[catalog] sources``, or of the table ``[catalog.NAME]`` of a source with options.
    :ivar load: called once, on first use of the catalog; may raise ``CatalogError``.
    :ivar open: opens the source at the first use of the catalog. It checks the options and starts nothing; raises
        ``ConfigError`` with every mistake.
    :ivar read: reads a file whose path is configured as a source; the source with the lowest order that has it reads all
        of them, and its name cannot be configured. May raise ``CatalogError``.
    """

    name: str
    load: Callable[[], Catalog] | None = None
    open: Callable[[SourceSettings], OpenSource] | None = None
    read: Callable[[Path], Catalog] | None = None
    summary: str = ""
    order: int = 0


@attrs.frozen(kw_only=True)
class TrimStep:
    """One step of catalog compaction.

    :ivar name: the name in the configuration and in records, such as ``description.firstSentence``; contributing the
        same name again replaces the step.
    :ivar order: steps run in ascending order.
    :ivar trim: takes an entry and its data after earlier steps; returns smaller data, or the same object if there is
        nothing to trim. It must be pure and independent of other entries, since results are cached per catalog.
    """

    name: str
    trim: Callable[[Entry, EntryData], EntryData]
    order: int = 0
    summary: str = ""


@attrs.frozen
class TrimSize:
    """The size of a catalog after one step of trimming.

    :ivar step: the trim step, or the selection that follows the steps, such as ``lexical.top_n``.
    :ivar after_bytes: size of the catalog in UTF-8 bytes; what follows may restore fields, and so be larger.
    :ivar entries: number of entries.

    .. versionadded:: 0.2
    """

    step: str
    after_bytes: int
    entries: int


@attrs.frozen
class TrimRecord:
    """How a catalog was trimmed for a prompt.

    :ivar before_bytes: size of the full catalog in UTF-8 bytes.
    :ivar after_bytes: size of the trimmed catalog in UTF-8 bytes.
    :ivar dropped: labels of the trimmed parts, in order of trimming.
    :ivar kept_entries: number of entries in the prompt.
    :ivar left_out: number of omitted entries.
    :ivar steps: the size after each step that trimmed anything, in order.

    >>> from helmdeck_core import TrimRecord
    >>> TrimRecord(before_bytes=38_000, after_bytes=9_000, dropped=("lexical.top_n",), kept_entries=12, left_out=58).left_out
    58
    """

    before_bytes: int
    after_bytes: int
    dropped: tuple[str, ...] = ()
    kept_entries: int = 0
    left_out: int = 0
    steps: tuple[TrimSize, ...] = ()

    @property
    def reduction(self) -> float:
        """The removed share of bytes, 0 to 1."""
        return 1 - self.after_bytes / self.before_bytes if self.before_bytes else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form."""
        return {
            "before_bytes": self.before_bytes,
            "after_bytes": self.after_bytes,
            "dropped": list(self.dropped),
            "kept_entries": self.kept_entries,
            "left_out": self.left_out,
            "steps": [attrs.asdict(each) for each in self.steps],
        }
