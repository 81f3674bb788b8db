"""A catalog in forms that no request changes: every entry in brief, or by its name alone.

They serve two readers: a prefix that must stay the same to the byte, and a model that is asked which entries are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import msgspec

from helmdeck_core.context.ladder import PreparedCatalog
from helmdeck_core.domain.catalog import Entry
from helmdeck_core.domain.questions import DESCRIBED, CatalogIndex

MOST_LISTED_CHARS = 200
"""Characters of a description in a list; a first sentence is rarely longer, and one that is must not crowd the others out."""

INDEX_WIDTHS = (MOST_LISTED_CHARS, 120, 80, 60, 40, 30, 0)
"""Characters of a description in an index, the richest first; 0 is by name alone."""


class CatalogDigest:
    """The short forms of one catalog; each is made at its first use and kept.

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
            f"{name}: {short}" if (short := self._short(number, MOST_LISTED_CHARS)) else name
            for number, name in enumerate(self.names)
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The ids, in catalog order, each on one line."""
        return tuple(one_line(entry.id) for entry in self._catalog.entries)

    def index(self, described_bytes: float, named_bytes: float) -> CatalogIndex | None:
        """The richest index of all entries that fits: with descriptions, with shorter ones, by name alone; ``None`` if none.

        :param described_bytes: most bytes of one with descriptions; ``named_bytes`` of one without.
        """
        for width in INDEX_WIDTHS:
            if self._indexed(width).size <= (described_bytes if width else named_bytes):
                return self._indexed(width)
        return None

    def _indexed(self, width: int) -> CatalogIndex:
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
    """Every entry on a line of its own; as much as fits.

    All with their descriptions; else all by name; else those that come first in ``order``, by name.

    :param order: positions of entries, the most likely first; asked only when even the names do not fit.
    :returns: the text, what the record says of it, and how many entries are on it.
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
    """A text without line breaks: whoever writes into a catalog must not be able to write another entry's line."""
    return " ".join(text.encode("utf-8", "replace").decode().split())


def _description(fragment: bytes) -> str:
    value = msgspec.json.decode(fragment).get("description")
    return value if isinstance(value, str) else ""


def _brief(entry: Entry, description: str) -> object:
    """A pipeline in an index: what it does, and what it replaces, which no form leaves out."""
    if not entry.supersedes:
        return description
    return {**({"description": description} if description else {}), "supersedes": list(entry.supersedes)}
