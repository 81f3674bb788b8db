"""The built-in catalog sources: JSON and TOML files, and ``example``, fifty packs and twenty pipelines for a first try."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from helmdeck_core import Catalog, CatalogSource, hookimpl

EXAMPLE = Path(__file__).with_name("example_catalog.json")


@hookimpl
def helmdeck_catalog_sources() -> Sequence[CatalogSource]:
    """Catalog files, and the example catalog."""
    return (
        CatalogSource(name="example", load=_load_example, summary="50 packs and 20 pipelines for a first try"),
        CatalogSource(name="files", read=_read, summary="JSON and TOML files"),
    )


def _load_example() -> Catalog:
    return _read(EXAMPLE)


def _read(path: Path) -> Catalog:
    from helmdeck_selection.catalogs.files import load_catalog_file

    return load_catalog_file(path)
