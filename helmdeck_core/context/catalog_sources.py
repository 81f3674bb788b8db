"""Loads the catalog from its sources: contributed ones, and files."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from helmdeck_core.config.pack_options import missing_options
from helmdeck_core.config.types import is_catalog_file
from helmdeck_core.domain.catalog import Catalog, CatalogSource
from helmdeck_core.domain.packs import Pack
from helmdeck_core.domain.runs import Pipeline
from helmdeck_core.errors import CatalogError, HelmdeckError, Mistake
from helmdeck_core.hooks.calls import Contribution, passed_on
from helmdeck_core.hooks.foreign_code import describe_error
from helmdeck_core.hooks.type_check import misfit
from helmdeck_core.resolve.runtime import Runtime

T = TypeVar("T")

PACKS_SOURCE = "packs"
"""The source of the installed packs."""


def load_catalog(runtime: Runtime, errors: list[CatalogError] | None = None) -> Catalog:
    """Load all configured sources that are not opened, in order; a later source replaces entries of the same id.

    :param errors: receives the errors of sources, which are then left out.
    :raises CatalogError: a source cannot be read or does not have the shape of a catalog.

    >>> from helmdeck_core import Helmdeck, load_catalog
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     catalog = load_catalog(deck.runtime)
    >>> catalog.get("blog.draft").kind
    <EntryKind.PACK: 'pack'>
    """
    catalog = Catalog()
    for name in runtime.config.catalog.sources:
        catalog = catalog.merged(_or_none(_load, runtime, name, errors))
    declared = [{**each.data, "id": each.name} for each in runtime.contributions.values_of(Pipeline)]
    config, base = runtime.config.pipelines, runtime.folder or Path()
    files = [base / Path(name).expanduser() for name in config.files]
    if config.folder is not None:
        folder = base / Path(config.folder).expanduser()
        inside = sorted(folder.glob("*")) if folder.is_dir() else [folder]  # which cannot be read then
        files[:0] = [path for path in inside if is_catalog_file(path.name) or path == folder]
    read = (_or_none(_read_file, runtime, path, errors) for path in files)
    more = (Catalog.from_data({"pipelines": declared}, "plugins"), *read)
    return functools.reduce(Catalog.merged, more, catalog)


def _or_none(
    load: Callable[[Runtime, T], Catalog], runtime: Runtime, source: T, errors: list[CatalogError] | None
) -> Catalog:
    """The catalog of a source; an empty one where it fails and its error can be received."""
    try:
        return load(runtime, source)
    except CatalogError as exc:
        if errors is None:
            raise
        errors.append(exc)
        return Catalog()


def _load(runtime: Runtime, name: str) -> Catalog:
    if is_catalog_file(name):
        return _read_file(runtime, Path(name).expanduser())
    if name == PACKS_SOURCE and name not in runtime.contributed(CatalogSource):
        packs = (owned.value for owned in runtime.contributed(Pack).values() if owned.value.is_listed)
        config = runtime.config
        return Catalog(pack.to_entry(PACKS_SOURCE) for pack in packs if not missing_options(config, pack))
    owned = runtime.contributed(CatalogSource)[name]
    return Catalog() if owned.value.load is None else _checked(owned, owned.value.load)


def _read_file(runtime: Runtime, path: Path) -> Catalog:
    for owned in runtime.contributions.of(CatalogSource):
        if owned.value.read is not None:
            return _checked(owned, functools.partial(owned.value.read, path))
    raise CatalogError(
        str(path), (Mistake(str(path.absolute()), "no plugin reads catalog files; see plugins.disable"),)
    )


def _checked(source: Contribution[CatalogSource], load: Callable[[], Catalog]) -> Catalog:
    name = source.value.name
    try:
        catalog = load()
        if not isinstance(catalog, Catalog):
            raise TypeError(f"source {name!r} gave {type(catalog).__name__}, not a Catalog")
        for entry in catalog.entries:
            if (problem := misfit(entry)) is not None:
                raise TypeError(f"source {name!r} gave an entry whose {problem}")
    except (HelmdeckError, *passed_on()):
        raise
    except BaseException as exc:
        raise source.fault(f"source {name!r}: {describe_error(exc)}") from exc
    return catalog
