"""The built-in catalog source ``example``: fifty packs and twenty pipelines for a first try."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from helmdeck_core import Catalog, CatalogSource, hookimpl, load_catalog_file

EXAMPLE = Path(__file__).with_name("data") / "example_catalog.json"


@hookimpl
def helmdeck_catalog_sources() -> Sequence[CatalogSource]:
    """The example catalog."""
    return (CatalogSource(name="example", load=_load, summary="50 packs and 20 pipelines for a first try"),)


def _load() -> Catalog:
    return load_catalog_file(EXAMPLE)
