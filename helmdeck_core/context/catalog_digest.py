"""Short forms of a catalog that do not depend on the request: every entry with a short description, or by name alone.

They are used in cached prefixes, which must be the same to the byte, and in filter calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import msgspec

from helmdeck_core.context.ladder import PreparedCatalog
from helmdeck_core.domain.catalog import Entry
from helmdeck_core.domain.questions import DESCRIBED, CatalogIndex

MAX_DESCRIPTION_CHARS = 200
"""Characters of a description in a list; a first sentence is rarely longer."""

INDEX_WIDTHS = (MAX_DESCRIPTION_CHARS, 120, 80, 60, 40, 30, 0)
"""Characters of a description in an index, longest first; 0 is by name alone."""


class CatalogDigest:
    """The short forms of one catalog; each is computed at its first use and kept.

    :param prepared: the catalog with the ladder whose last rung has the shortest descriptions.
    """

    def __init__(self, prepared: PreparedCatalog) -> None:
        self._prepared = prepared
        self._catalog = prepared.catalog
        self._indexes: dict[int, CatalogIndex] = {}

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """A line for each entry, in catalog order: its id and a short description, without any metadata."""
        return tuple(
            f"{name}: {short}" if (short := self._short(number, MAX_DESCRIPTION_CHARS)) else name
            for number, name in enumerate(self.names)
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The ids, in catalog order, each on one line."""
        return tuple(one_line(entry.id) for entry in self._catalog.entries)

    def index(self, described_bytes: float, named_bytes: float) -> CatalogIndex | None:
        """Return the richest index of all entries that fits: with descriptions, shorter ones, or names; ``None`` if none does.

        :param described_bytes: the limit of one with descriptions; ``named_bytes`` of one without.
        """
        for width in INDEX_WIDTHS:
            if self._index_of(width).size <= (described_bytes if width else named_bytes):
                return self._index_of(width)
        return None

    def _index_of(self, width: int) -> CatalogIndex:
        if width not in self._indexes:
            packs, pipelines = self._catalog.packs, self._catalog.pipelines
            short = [self._short(number, width) for number in range(len(self._catalog))]
            rows: dict[str, object] = {
                "packs": {entry.id: text for entry, text in zip(packs, short, strict=False)}
                if width
                else [entry.id for entry in packs],
                "pipelines": {
                    entry.id: _brief(entry, text) for entry, text in zip(pipelines, short[len(packs) :], strict=True)
                },
            }
            form = DESCRIBED if width else "named"
            self._indexes[width] = CatalogIndex(form, msgspec.json.encode(rows).decode())
        return self._indexes[width]

    @cached_property
    def _shortest(self) -> tuple[str, ...]:
        rung = self._prepared.rung(self._prepared.last_rung)
        return tuple(_description(fragment) for fragment in rung.fragments)

    def _short(self, number: int, width: int) -> str:
        text = one_line(self._shortest[number])
        return text if len(text) <= width else f"{text[: width - 1].rstrip()}…" if width else ""


def listing(
    digest: CatalogDigest, order: Callable[[], Iterable[int]], most_bytes: int
) -> tuple[str, tuple[str, ...], int]:
    """List the entries, one per line, as many as fit.

    All with their descriptions; else all by name; else the first ones of ``order``, by name.

    :param order: returns positions of entries, best first; called only when even the names do not fit.
    :returns: the text, the labels for the record, and the number of entries.
    """
    whole = "\n".join(digest.lines)
    if len(whole.encode()) <= most_bytes:
        return whole, (), len(digest.lines)
    names = "\n".join(digest.names)
    if len(names.encode()) <= most_bytes:
        return names, ("listing.names",), len(digest.names)
    kept = []
    room = most_bytes
    for position in order():
        cost = len(digest.names[position].encode()) + 1
        if cost > room:
            break
        room -= cost
        kept.append(position)
    text = "\n".join(digest.names[position] for position in sorted(kept))
    return text, ("listing.names", f"listing.top_n({len(kept)})"), len(kept)


def one_line(text: str) -> str:
    """Return a text without line breaks, so that an entry cannot forge the line of another entry."""
    return " ".join(text.encode("utf-8", "replace").decode().split())


def _description(fragment: bytes) -> str:
    value = msgspec.json.decode(fragment).get("description")
    return value if isinstance(value, str) else ""


def _brief(entry: Entry, description: str) -> object:
    """A pipeline in an index: its description, and what it supersedes, which no form leaves out."""
    if not entry.supersedes:
        return description
    return {**({"description": description} if description else {}), "supersedes": list(entry.supersedes)}
