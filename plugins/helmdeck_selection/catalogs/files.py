"""Reads catalogs from JSON and TOML files."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path

import msgspec

from helmdeck_core import (
    ALMOST_EQUAL,
    Catalog,
    CatalogError,
    Mistake,
    similar,
    undecodable_byte,
    unknown_type,
    without_byte_order_mark,
)
from helmdeck_selection.catalogs.shapes import read_catalog

ENTRY_KEYS = tuple("name id description metadata input_schema inputSchema output_schema outputSchema title".split())
"""Keys that other keys of entries are compared with."""


class CatalogWarning(UserWarning):
    """A catalog file can be read but is almost certainly not what its author meant."""


def load_catalog_file(path: Path) -> Catalog:
    """Read a catalog from a JSON or TOML file, in any of the shapes that ``read_catalog`` takes.

    Warns with ``CatalogWarning`` about an empty catalog, misspelt keys, names with whitespace and unknown types.

    :raises CatalogError: naming the file, the path inside it, and what is allowed.

    >>> import json
    >>> from pathlib import Path
    >>> from helmdeck_selection import load_catalog_file
    >>> _ = Path("tools.json").write_text(json.dumps([{"name": "read_file", "description": "Read a file"}]))
    >>> [entry.id for entry in load_catalog_file(Path("tools.json")).entries]
    ['read_file']
    """
    try:
        raw = path.read_bytes()
    except OSError as exc:
        problem = f"the file cannot be read ({exc.strerror or exc})"
        raise CatalogError(str(path), (Mistake(str(path.absolute()), problem, "", "a JSON or TOML file"),)) from exc
    raw = without_byte_order_mark(raw)
    if not raw.strip():
        raise CatalogError(str(path), (Mistake("$", "the file is empty"),))
    try:
        text = raw.decode()
        data = tomllib.loads(text) if path.suffix.lower() == ".toml" else msgspec.json.decode(text)
    except (tomllib.TOMLDecodeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        problem = undecodable_byte(exc) if isinstance(exc, UnicodeDecodeError) else str(exc)
        kind = "TOML" if path.suffix.lower() == ".toml" else "JSON"
        raise CatalogError(str(path), (Mistake("$", f"not valid {kind} ({problem})"),)) from exc
    catalog = read_catalog(data, str(path))
    if doubts := list(_doubts(catalog)):
        more = f", and {len(doubts) - 1} more" if len(doubts) > 1 else ""
        text = f"{path}: {doubts[0]}{more}; `helmdeck catalog check {path}` shows everything"
        warnings.warn(text, CatalogWarning, stacklevel=2)
    return catalog


def _doubts(catalog: Catalog) -> Iterator[str]:
    if not catalog.entries:
        yield "the catalog has no entries"
    keys: dict[str, str] = {}
    for entry in catalog.entries:
        if any(map(str.isspace, entry.id)):
            yield f"the name {entry.id!r} contains whitespace"
        if entry.input_schema is not None and (unknown := unknown_type(entry.input_schema)):
            yield f"the schema of {entry.id!r} has the unknown type {unknown!r}"
        keys.update(dict.fromkeys(entry.data.keys() - set(ENTRY_KEYS), entry.id))
    for key in sorted(keys):
        if meant := similar(key, ENTRY_KEYS, most=1, cutoff=ALMOST_EQUAL):
            yield f"{keys[key]!r} has the unknown key {key!r} (did you mean {meant[0]!r}?)"
