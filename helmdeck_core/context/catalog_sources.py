"""Loads the catalog from its sources: contributed ones, and files."""

from __future__ import annotations

import functools
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from helmdeck_core.config.types import is_catalog_file
from helmdeck_core.domain.catalog import Catalog, CatalogSource
from helmdeck_core.domain.encoding import without_byte_order_mark
from helmdeck_core.domain.packs import Pack
from helmdeck_core.domain.runs import Pipeline
from helmdeck_core.domain.suggestions import ALMOST_EQUAL, similar
from helmdeck_core.errors import CatalogError, HelmdeckError, Mistake
from helmdeck_core.hooks.calls import PASSED_ON, describe_error
from helmdeck_core.resolve.runtime import Runtime
from helmdeck_guards.json_schema import unknown_type
from helmdeck_guards.type_check import misfit

PACKS_SOURCE = "packs"
"""The source of the installed packs."""

ENTRY_KEYS = tuple("name id description metadata input_schema inputSchema output_schema outputSchema title".split())
"""Keys that other keys of entries are compared with."""


class CatalogWarning(UserWarning):
    """A catalog file can be read but is almost certainly not what its author meant."""


def load_catalog(runtime: Runtime) -> Catalog:
    """Load all configured sources that are not opened, in order; a later source replaces entries of the same id.

    :raises CatalogError: a source cannot be read or does not have the shape of a catalog.
    """
    catalog = Catalog()
    for name in runtime.config.catalog.sources:
        catalog = catalog.merged(_load(runtime, name))
    declared = [{**each.data, "id": each.name} for each in runtime.contributions.values_of(Pipeline)]
    config, base = runtime.config.pipelines, runtime.folder or Path()
    files = [base / Path(name).expanduser() for name in config.files]
    if config.folder is not None:
        folder = base / Path(config.folder).expanduser()
        inside = sorted(folder.glob("*")) if folder.is_dir() else [folder]  # which cannot be read then
        files[:0] = [path for path in inside if is_catalog_file(path.name) or path == folder]
    more = (Catalog.from_data({"pipelines": declared}, "plugins"), *map(load_catalog_file, files))
    return functools.reduce(Catalog.merged, more, catalog)


def _load(runtime: Runtime, name: str) -> Catalog:
    if is_catalog_file(name):
        return load_catalog_file(Path(name).expanduser())
    if name == PACKS_SOURCE and name not in runtime.contributed(CatalogSource):
        listed = (owned.value for owned in runtime.contributed(Pack).values() if owned.value.is_listed)
        return Catalog(pack.to_entry(PACKS_SOURCE) for pack in listed)
    owned = runtime.contributed(CatalogSource)[name]
    if owned.value.load is None:
        return Catalog()
    try:
        catalog = owned.value.load()
        if not isinstance(catalog, Catalog):
            raise TypeError(f"source {name!r} gave {type(catalog).__name__}, not a Catalog")
        for entry in catalog.entries:
            if (problem := misfit(entry)) is not None:
                raise TypeError(f"source {name!r} gave an entry whose {problem}")
    except HelmdeckError:
        raise
    except PASSED_ON:
        raise
    except BaseException as exc:
        raise owned.fault(f"source {name!r}: {describe_error(exc)}") from exc
    return catalog


def load_catalog_file(path: Path) -> Catalog:
    """Read a catalog from a JSON or TOML file, in any of the shapes that ``read_catalog`` takes.

    Warns with ``CatalogWarning`` about an empty catalog, misspelt keys, names with whitespace and unknown types.

    :raises CatalogError: naming the file, the path inside it, and what is allowed.
    """
    try:
        raw = path.read_bytes()
    except OSError as exc:
        problem = f"the file cannot be read ({exc.strerror or exc})"
        raise CatalogError(str(path), (Mistake(str(path.absolute()), problem, "", "a JSON or TOML file"),)) from exc
    try:
        raw = without_byte_order_mark(raw)
        data = tomllib.loads(raw.decode()) if path.suffix.lower() == ".toml" else msgspec.json.decode(raw)
    except (tomllib.TOMLDecodeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        kind = "TOML" if path.suffix.lower() == ".toml" else "JSON"
        raise CatalogError(str(path), (Mistake("$", f"not valid {kind} ({exc})"),)) from exc
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


def read_catalog(data: object, source: str) -> Catalog:
    """Read a catalog from JSON-like data.

    Three shapes are supported: ``{"packs": [...], "pipelines": [...]}``; a list of tool definitions, each
    ``{"type": "function", "function": {...}}`` or with its fields at the top; and a server's list of tools,
    ``{"tools": [{"name", "description", "inputSchema"}, ...]}``, bare or inside ``{"result": ...}``.

    :raises CatalogError: with every mistake and its path.
    """
    if isinstance(data, Mapping) and isinstance(data.get("result"), Mapping) and "tools" in data["result"]:
        data = data["result"]
    if isinstance(data, list):
        return _from_tools(data, source, "$")
    if isinstance(data, Mapping) and not {"packs", "pipelines"} & data.keys() and isinstance(data.get("tools"), list):
        return _from_tools(data["tools"], source, "$.tools")
    return Catalog.from_data(data, source)


def _from_tools(tools: list[Any], source: str, path: str) -> Catalog:
    packs = [_tool_entry(tool) for tool in tools]
    try:
        return Catalog.from_data({"packs": packs}, source)
    except CatalogError as exc:
        mistakes = (
            Mistake(m.where.replace("$.packs", path), m.problem.replace("$.packs", path), m.found, m.allowed)
            for m in exc.mistakes
        )
        raise CatalogError(source, tuple(mistakes)) from None


def _tool_entry(tool: Any) -> Any:
    if not isinstance(tool, Mapping):
        return tool
    if isinstance(function := tool.get("function"), Mapping):
        tool = {key: value for key, value in tool.items() if key not in ("function", "type")} | dict(function)
    elif tool.get("type") == "function":
        tool = {key: value for key, value in tool.items() if key != "type"}
    schema = tool.get("inputSchema", tool.get("parameters", tool.get("input_schema")))
    rest = {k: v for k, v in tool.items() if k not in ("inputSchema", "parameters", "input_schema")}
    entry = {key: rest.pop(key) for key in ("name", "description") if rest.get(key) is not None}
    if schema:
        entry["input_schema"] = schema
    # Other fields, such as annotations and output schemas, are kept and trimmed like every field.
    return {**entry, **{key: value for key, value in rest.items() if value is not None}}
